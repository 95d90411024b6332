"""Man pages, README and --help say the same as the program."""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from snapfs.cli.frame import commands
from snapfs.cli.frame.command import Command
from snapfs.cli.frame.help import command_help, spelled
from snapfs.cli.frame.options import Changing
from snapfs.cli.frame.params import params_of
from snapfs.cli.frame.running import load, load_all
from snapfs.cli.frame.settings import PROFILE_KEYS
from snapfs.cli.render.schemas import SCHEMAS
from snapfs.errors import Exit
from tests.cli.conftest import Shell

HERE = Path(__file__).parents[2]
MAN = HERE / "man"
README = (HERE / "README.md").read_text()
ALL = [listed.name for listed in commands.COMMANDS]


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", MAN / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def members(name: str) -> list[Command[Any]]:
    listed = commands.find(name)
    assert listed is not None
    return list(load_all(listed).values())


def plain(page: str) -> str:
    """A page's source without its font changes and escapes."""
    text = (MAN / page).read_text()
    text = re.sub(r"\\f[BIR]", "", text).replace("\\-", "-").replace("\\(aq", "'")
    return text.replace("\\(dq", '"').replace("\\&", "").replace("\\e", "\\")


GENERATED: dict[str, str] = generator().pages()


@pytest.mark.parametrize("name", GENERATED)
def test_generated_pages_are_current(name: str) -> None:
    assert (MAN / name).read_text() == GENERATED[name], "run python man/generate.py"


def test_every_command_has_a_page_and_no_page_is_left_over() -> None:
    pages = {path.name for path in MAN.glob("snapfs*.1")}
    assert pages == {"snapfs.1", *(f"snapfs-{name}.1" for name in ALL)}


@pytest.mark.parametrize("name", ALL)
def test_pages_and_help_name_every_option_and_argument(name: str) -> None:
    listed = commands.find(name)
    assert listed is not None
    page, text = plain(f"snapfs-{name}.1"), command_help(load(listed), load_all(listed))
    for member in members(name):
        for param in params_of(member.arguments):
            for word in (*param.names, param.metavar):
                if param.field not in {f.field for f in params_of(Changing)}:
                    assert word in page
                assert word in text
        for example in member.examples:
            assert example.line in page
            assert example.line in text
            assert example.line.startswith("snapfs ") or "snapfs completion" in example.line
        for schema in member.schemas:
            assert schema in page


@pytest.mark.parametrize("columns", ["40", "80", "100"])
@pytest.mark.parametrize("name", ALL)
def test_helps_leave_two_blanks_between_columns(
    name: str, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    listed = commands.find(name)
    assert listed is not None
    lines = command_help(load(listed), load_all(listed)).splitlines()
    for member in members(name):
        for param in params_of(member.arguments):
            if not param.literal:
                left = f"  {spelled(param)}"
                assert any(line == left or line.startswith(f"{left}  ") for line in lines), left


@pytest.mark.parametrize("name", ALL)
def test_synopses_name_every_argument(name: str) -> None:
    for member in members(name):
        for param in params_of(member.arguments):
            if not param.names and not param.literal:
                assert any(param.name.split()[0].strip("[].") in form for form in member.synopsis)
        assert all(form.startswith(name) for form in member.synopsis)
        assert member.description.strip()


def test_the_main_page() -> None:
    page = plain("snapfs.1")
    for listed in commands.COMMANDS:
        assert f".BR snapfs-{listed.name} (1)\n{listed.summary}" in page
    for param in params_of(Changing):
        for word in (*param.names, param.metavar):
            assert word in page
    for code in Exit:
        assert re.search(rf"^\.B {int(code)}$", page, re.MULTILINE)
    for key in PROFILE_KEYS:
        assert f"SNAPFS_{key.upper().replace('-', '_')}" in page


def test_every_schema_is_printed_by_a_command_and_the_other_way_round() -> None:
    declared = {schema.name for schema in SCHEMAS if not schema.on_stderr}
    used = set(load(commands.START).schemas)
    for name in ALL:
        for member in members(name):
            assert member.schemas
            used |= set(member.schemas)
    assert declared == used - {schema.name for schema in SCHEMAS if schema.on_stderr}
    assert len({schema.name for schema in SCHEMAS}) == len(SCHEMAS)


def test_json_keys_are_unique_and_described() -> None:
    made = generator()
    for schema in SCHEMAS:
        keys = ["schema"]
        for part in schema.parts:
            texts = made.field_texts(part)
            for field in part.__dataclass_fields__:
                keys.append(made.json_key(field))
                assert texts.get(field), f"{part.__name__}.{field} says nothing of itself"
        assert len(keys) == len(set(keys)), schema.name


@pytest.mark.parametrize("page", sorted(path.name for path in MAN.glob("*.[157]")))
def test_pages_are_sound_roff(page: str) -> None:
    man = shutil.which("groff")
    if man is None:
        assert (MAN / page).read_text().startswith((".TH", ".Dd", '.\\"'))
        return
    done = subprocess.run(
        [man, "-mandoc", "-Tutf8", "-ww", str(MAN / page)], capture_output=True, check=True
    )
    assert done.stderr == b""


def test_the_readme_is_one_page_with_two_lines_to_start() -> None:
    assert len(README.splitlines()) < 100
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 2
    assert all(block.count("\n") == 1 for block in blocks)
    assert "pip install ." in blocks[0]
    assert "-m pytest" in blocks[1]


def test_the_readme_shows_what_is_printed(shell: Shell, tmp_path: Path) -> None:
    """The sample session, command by command, on a tree that its output speaks of."""
    (sample,) = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for folder in ("2024", "inbox"):
        (shell.tree / folder).mkdir()
    for name in ("2024/index.html", "inbox/a.jpg", "2024/b.jpg"):
        (shell.tree / name).write_text(name)
    ran = 0
    for part in sample.removeprefix("$ ").split("\n$ "):
        line, _, expected = part.partition("\n")
        words = line.partition(" #")[0].replace("/tmp/back", str(tmp_path / "back")).split()
        if words == ["cd", "~/photos"]:
            assert shell.tree.name == "photos"
            continue
        assert words[0] == "snapfs"
        done = shell(*words[1:], *(["--yes"] if "--in-place" in words else []))
        printed = re.sub(r"s\d{8}-\d{6}\.\d{3}", "s*", done.out.expandtabs(8))
        assert printed.rstrip() == re.sub(r"s\d{8}-\d{6}\.\d{3}", "s*", expected).rstrip()
        ran += 1
        if words[1] == "create":
            (shell.tree / "2024/index.html").write_text("other")
            (shell.tree / "inbox/a.jpg").rename(shell.tree / "2024/a.jpg")
            (shell.tree / "2024/b.jpg").unlink()
    assert ran == 4
    assert (tmp_path / "back/b.jpg").read_text() == "2024/b.jpg"


def test_what_the_readme_has_for_every_day_runs(shell: Shell, tmp_path: Path) -> None:
    rows = README.partition("## Every day")[2].partition("\n\n##")[0].splitlines()
    lines = [
        line for row in rows if row.startswith("|") for line in re.findall(r"`(snapfs [^`]*)`", row)
    ]
    assert len(lines) > 12
    (shell.tree / "src").mkdir()
    for number in range(13):
        (shell.tree / "src/a").write_text(f"{number}\n")
        (shell.tree / "notes.txt").write_text("x")
        day = f"2026-05-{number + 10:02}"
        shell("create", ".", "--time", day if number < 12 else "2026-06-01T10:00")
    for line in lines:
        words = shlex.split(line.replace("/tmp/back", str(tmp_path / "back")))
        shell(*words[1:], *(["--yes"] if "--in-place" in words else []))
        if "--in-place" in words:
            # As the row says.
            assert "safety" in shell("show", "latest").out


def test_the_readme_names_only_commands_and_options_that_exist() -> None:
    lines = [
        line
        for pattern in (r"`(snapfs [^`]*)`", r"\$ (snapfs .*)", r"\$\((snapfs [^)]*)\)")
        for line in re.findall(pattern, README)
    ]
    seen = set()
    for line in lines:
        words = line.split("#")[0].split()
        if words[1].startswith("-") or words[1].isupper():
            continue
        seen.add(words[1])
        options = {
            n
            for m in members(words[1])
            for p in params_of(m.arguments)
            for n in (*p.names, "--help")
        }
        for word in words[2:]:
            if word == "--":
                break  # what follows is another program's
            if word.startswith("-"):
                assert word.split("=")[0] in options, line
    assert {
        "create",
        "list",
        "show",
        "ls",
        "cat",
        "diff",
        "restore",
        "pin",
        "tag",
        "rename",
    } <= seen
    assert {"delete", "verify", "completion"} <= seen


def test_the_readmes_first_line_runs(shell: Shell, tmp_path: Path) -> None:
    """From ``snapfs create`` on: what comes before needs a network."""
    line = re.findall(r"```sh\n(.*?)\n```", README, re.DOTALL)[0]
    parts = [part.strip() for part in line.split("&&")]
    first = next(i for i, part in enumerate(parts) if part.startswith("snapfs create"))
    (shell.tree / "man").mkdir()
    (shell.tree / "man/snapfs.1").write_text("page")
    target = tmp_path / "target"
    for part in parts[first:]:
        words = part.replace('"$(mktemp -d)"', str(target)).split()
        assert words[0] == "snapfs"
        shell(*words[1:])
    assert (target / "snapfs.1").read_text() == "page"
