"""Words to values: options anywhere, values as they are, settings below the command line."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from snapfs.cli.frame.options import Changing
from snapfs.cli.frame.params import Param, argument, flag, literals, option, params_of
from snapfs.cli.frame.parser import HelpRequested, Setting, parse, split_leading
from snapfs.errors import UsageError


@dataclass(frozen=True)
class Arguments:
    place: str = argument("PLACE", about="where", required=True)
    words: tuple[str, ...] = argument("[WORD...]", about="what", many=True)
    paths: tuple[str, ...] = literals()
    long: bool = flag("-l", "--long", about="more")
    recursive: bool = flag("-R", "--recursive", about="deeper")
    number: int = option("-n", "--number", metavar="N", about="how many", parse=int, default=7)
    tags: tuple[str, ...] = option("--tag", metavar="TAG", about="tags", many=True, setting=True)
    order: str = option(
        "--order",
        metavar="ORDER",
        about="order",
        default="up",
        choices=("up", "down"),
        setting=True,
    )
    strict: bool = flag("--strict", about="strict", setting=True)


def read(*words: str) -> Arguments:
    return parse(Arguments, words, lambda profile: lambda param: None).arguments


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a"], Arguments("a")),
        (["a", "b", "c"], Arguments("a", ("b", "c"))),
        (["-l", "a", "-n", "3", "b"], Arguments("a", ("b",), long=True, number=3)),
        (["a", "-lRn3"], Arguments("a", long=True, recursive=True, number=3)),
        (["a", "-lRn", "3"], Arguments("a", long=True, recursive=True, number=3)),
        (["a", "--number=-3"], Arguments("a", number=-3)),
        (["a", "--number", "-3"], Arguments("a", number=-3)),
        (["a", "-n", "1", "-n", "2"], Arguments("a", number=2)),
        (["a", "--tag", "x", "--tag=--y"], Arguments("a", tags=("x", "--y"))),
        (["a", "--tag="], Arguments("a", tags=("",))),
        (["a", "-"], Arguments("a", ("-",))),
        (["a", "b", "--", "-l", "--", "c"], Arguments("a", ("b",), ("-l", "--", "c"))),
        (["--order", "down", "a"], Arguments("a", order="down")),
        (["\udcff", "é"], Arguments("\udcff", ("é",))),
    ],
)
def test_words(words: list[str], expected: Arguments) -> None:
    assert read(*words) == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "PLACE is missing"),
        (["a", "--nope"], "no such option: --nope"),
        (["a", "--lon"], "did you mean --long?"),
        (["a", "-x"], "no such option: -x"),
        (["a", "-lx"], "no such option: -x"),
        (["a", "--long=1"], "--long takes no value"),
        (["a", "-n"], "-n needs a value: N"),
        (["a", "--number"], "--number needs a value: N"),
        (["a", "-n", "x"], "-n: invalid literal"),
        (["a", "--order", "side"], "--order: side is none of up, down"),
    ],
)
def test_complaints(words: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(*words)
    assert message in str(caught.value)


def test_too_many_words() -> None:
    @dataclass(frozen=True)
    class One:
        word: str | None = argument("[WORD]", about="one")

    assert parse(One, ["a"], lambda profile: lambda param: None).arguments == One("a")
    with pytest.raises(UsageError, match="unexpected word b"):
        parse(One, ["a", "--", "b"], lambda profile: lambda param: None)


def test_help_comes_before_what_is_missing() -> None:
    for words in (["--help"], ["a", "-h"], ["-lh"], ["a", "--help", "--nope"]):
        with pytest.raises(HelpRequested):
            read(*words)


def test_settings_fill_what_the_command_line_leaves_out() -> None:
    said = {
        "tag": Setting("SNAPFS_TAG", ("x", "y")),
        "order": Setting("a profile", ("down",)),
        "strict": Setting("SNAPFS_STRICT", ("Yes",)),
        "number": Setting("never asked", ("9",)),
    }

    def settings(param: Param) -> Setting | None:
        return said.get(param.key)

    found = parse(Arguments, ["a", "--order=up"], lambda profile: settings)
    assert found.arguments == Arguments("a", tags=("x", "y"), strict=True)
    assert found.origins == {"tags": "SNAPFS_TAG", "strict": "SNAPFS_STRICT"}
    said["strict"] = Setting("SNAPFS_STRICT", ("perhaps",))
    with pytest.raises(UsageError, match="SNAPFS_STRICT: perhaps is neither true nor false"):
        parse(Arguments, ["a"], lambda profile: settings)
    said["strict"] = Setting("a profile", ("1", "2"))
    with pytest.raises(UsageError, match="one value"):
        parse(Arguments, ["a"], lambda profile: settings)


@pytest.mark.parametrize(
    ("words", "leading", "rest"),
    [
        (["list", "-n", "3"], [], ["list", "-n", "3"]),
        (["-n", "delete", "-y"], ["--dry-run"], ["delete", "-y"]),
        (["-r", "list", "list"], ["--repo=list"], ["list"]),
        (["-qr/x", "--json", "ls", "--"], ["--quiet", "--repo=/x", "--json"], ["ls", "--"]),
        (["--lock-wait", "5min", "create"], ["--lock-wait=5min"], ["create"]),
        (["--", "list"], [], ["--", "list"]),
        ([], [], []),
    ],
)
def test_options_before_the_command(words: list[str], leading: list[str], rest: list[str]) -> None:
    assert split_leading(params_of(Changing), words) == (leading, rest)


def test_own_options_come_before_inherited_ones() -> None:
    @dataclass(frozen=True)
    class Child(Changing):
        word: str | None = argument("[WORD]", about="one")
        long: bool = flag("-l", "--long", about="more")

    fields = [param.field for param in params_of(Child)]
    assert fields[:2] == ["word", "long"]
    assert set(fields[2:]) == {param.field for param in params_of(Changing)}
