"""Flags over variables over profiles; which repository, and whose."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from snapfs.cli import create
from snapfs.cli.frame import commands, where
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.params import params_of
from snapfs.cli.frame.parser import Parsed, parse
from snapfs.cli.frame.running import load_all
from snapfs.cli.frame.settings import PROFILE_KEYS, Environment
from snapfs.errors import NoRepositoryError, RepositoryError, UsageError
from tests.cli.fakes import invocation

CONFIG = """
profile = "home"

[profiles.home]
repo = "~/store"
lock-wait = "1min"
no-progress = true

[profiles.work]
repo = "/work/store"
root = "docs"
lock-wait = "2min"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".config/snapfs").mkdir(parents=True)
    return tmp_path


def configure(home: Path, text: str) -> None:
    (home / ".config/snapfs/config.toml").write_text(text)


def read(home: Path, *words: str, **variables: str) -> Parsed[Common]:
    return parse(Common, words, environment(home, **variables).settings)


def environment(home: Path, **variables: str) -> Environment:
    given = {"HOME": str(home), **variables}
    return Environment({k.encode(): v.encode() for k, v in given.items()})


def test_flags_over_variables_over_profiles(home: Path) -> None:
    assert read(home).arguments == Common()
    configure(home, CONFIG)
    assert read(home).arguments == Common(repo="~/store", lock_wait=60, no_progress=True)
    work = Common(repo="/work/store", root="docs", lock_wait=120)
    assert read(home, "--profile", "work").arguments == Common(
        **{**vars_of(work), "profile": "work"}
    )
    assert read(home, SNAPFS_PROFILE="work").arguments.root == "docs"
    found = read(home, SNAPFS_LOCK_WAIT="3s", SNAPFS_REPO="/x", SNAPFS_NO_PROGRESS="0")
    assert found.arguments == Common(repo="/x", lock_wait=3)
    assert found.origins["repo"] == "SNAPFS_REPO"
    assert read(home, "--lock-wait=4s", SNAPFS_LOCK_WAIT="3s").arguments.lock_wait == 4
    assert read(home, SNAPFS_REPO="").arguments.repo == "~/store"


def vars_of(common: Common) -> dict[str, object]:
    return {name: getattr(common, name) for name in Common.__dataclass_fields__}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("x = 1", "no such setting: x"),
        ("[profiles.home]\nyes = true", "no such setting: yes"),
        ("[profiles.home]\nlock-wait = '5m'", "min or mo"),
        ("[profiles.home]\nlock-wait = 5", "no span"),
        ("[profiles.home]\nrepo = 5", 'repo = 5: text is wanted; write repo = "5"'),
        ("[profiles.home]\nroot = ['docs', 5]", "root = 5: text is wanted"),
        ("[profiles.home]\nrepo = {a = 1}", "text, a number or a list"),
        ("[profiles.home]\nrepo = ['a', 'b']", "one value"),
        ("[profiles.other]\nrepo = 'a'", "no profile home; it has other"),
        ("[profiles]", "no profile home; it has none"),
        ("profile = ", "config.toml"),
        ("\udcff", "config.toml"),
    ],
)
def test_a_configuration_that_makes_no_sense(home: Path, config: str, message: str) -> None:
    path = home / ".config/snapfs/config.toml"
    path.write_bytes(config.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError) as caught:
        read(home, "--profile", "home")
    assert message in str(caught.value)
    assert any(word in str(caught.value) for word in ("config.toml", "a named profile: "))


def test_empty_lines_of_a_variable_are_no_values(home: Path) -> None:
    found = parse(create.Arguments, (), environment(home, SNAPFS_EXCLUDE="*.o\n\n/tmp/\n").settings)
    assert found.arguments.exclude == ("*.o", "/tmp/")


def test_the_settings_of_profiles_are_those_that_commands_declare() -> None:
    declared = set()
    for listed in commands.COMMANDS:
        for member in load_all(listed).values():
            declared |= {p.key for p in params_of(member.arguments) if p.setting}
    assert declared - {"profile"} == PROFILE_KEYS


def test_which_repository(home: Path) -> None:
    def chosen(common: Common, **variables: str) -> where.Chosen:
        return where.choose(invocation(common, {"HOME": str(home), **variables}))

    default = os.fsencode(home) + b"/.local/share/snapfs/repository"
    assert chosen(Common()) == where.Chosen(default, named=False)
    assert chosen(Common(), XDG_DATA_HOME="/d").path == b"/d/snapfs/repository"
    assert chosen(Common(), XDG_DATA_HOME="relative").path == default
    assert chosen(Common(repo="/x")) == where.Chosen(b"/x", named=True)
    assert chosen(Common(repo="~/x")).path == os.fsencode(home) + b"/x"
    assert chosen(Common(repo="x")).path == os.path.join(os.getcwdb(), b"x")
    with pytest.raises(NoRepositoryError, match="-r PATH or SNAPFS_REPO"):
        where.choose(invocation())
    with pytest.raises(UsageError, match="empty"):
        chosen(Common(repo=""))


def test_the_default_profile_does_not_name_a_repository(home: Path) -> None:
    configure(home, CONFIG)

    def named(*words: str, **variables: str) -> bool:
        parsed = read(home, *words, **variables)
        made = invocation(parsed.arguments, {"HOME": str(home)})
        made.origins = parsed.origins
        return where.choose(made).named

    assert not named()
    assert named("--profile", "work")
    assert named(SNAPFS_PROFILE="home")
    assert named(SNAPFS_REPO="/x")
    assert named("-r", "/x")


def test_another_users_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = os.fsencode(tmp_path)
    mine = os.geteuid()
    for named in (True, False):
        where.refuse_foreign(where.Chosen(path, named))
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    for named in (True, False):
        with pytest.raises(RepositoryError, match="belongs to"):
            where.refuse_foreign(where.Chosen(path, named))
    if mine == 0:
        os.chown(path, 4242, 4242)
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        where.refuse_foreign(where.Chosen(path, named=True))
        with pytest.raises(RepositoryError, match=r"belongs to 4242.*name it with -r"):
            where.refuse_foreign(where.Chosen(path, named=False))
