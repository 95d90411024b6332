"""Ways out in error messages are typed as they are printed, and lead out."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from snapfs.cli.frame.again import with_repository, without_repository
from tests.cli.conftest import Shell
from tests.harness.inprocess import InProcess


@pytest.fixture
def two(past: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A second root beside ``photos``; the working directory is in none of them."""
    docs = past.home.parent / "docs"
    docs.mkdir()
    (docs / "note").write_text("x")
    past("create", docs, "--name", "d1")
    monkeypatch.chdir(past.home.parent)
    return past


def failed(shell: Shell, *words: str | Path, code: int) -> str:
    """The only line that a failing command prints."""
    done = shell(*words, code=code)
    assert done.out == ""
    assert done.err.count("\n") == 1, done.err
    return done.err


def typed(shell: Shell, line: str) -> None:
    """Run the command line in backticks, or the one that ``line`` is; it must succeed."""
    found = re.search("`(snapfs [^`]*)`", line)
    command = shlex.split(found[1] if found else line)
    assert command[0] == "snapfs"
    shell(*command[1:])


@pytest.mark.parametrize(
    ("words", "code", "hint", "line"),
    [
        (["cat", "a"], 1, "for the path write latest:a", "snapfs cat latest:a"),
        (["cat", "./a"], 2, "for the path write latest:a", "snapfs cat latest:a"),
        (["cat", "sub"], 1, "`snapfs ls latest:sub` shows it, and it is no file", ""),
        (["cat", "s1"], 2, "write s1:PATH", "snapfs cat s1:a"),
        (["cat", "photos"], 2, "write photos@latest:PATH", "snapfs cat photos@latest:a"),
        (["cat", "photos@s1"], 2, "write photos@s1:PATH", "snapfs cat photos@s1:a"),
        (["cat", "s1:nope"], 1, "`snapfs ls photos@s1` shows what it has", ""),
        (["ls", "s1:nope"], 1, "`snapfs ls photos@s1` shows what it has", ""),
        (["restore", "s1:nope", "--to", "x"], 1, "`snapfs ls photos@s1` shows what it has", ""),
        (["ls", "a"], 1, "for the path write latest:a", "snapfs ls latest:a"),
        (["ls", "sub"], 1, "for the path write latest:sub", "snapfs ls latest:sub"),
        (["restore", "a", "--to", "x"], 1, "write latest:a", "snapfs restore latest:a --to x -n"),
        (["restore", "s1"], 2, "with --dry-run either", "snapfs restore s1 --in-place --dry-run"),
        (["restore", "s1"], 2, "with --dry-run either", "snapfs restore s1 --to x --dry-run"),
        (["show", "a"], 1, "`snapfs list photos` shows them", ""),
        (["ls", "photos"], 1, "its newest is photos@latest", "snapfs ls photos@latest"),
        (["ls", "photos@"], 2, "is photos@latest", "snapfs ls photos@latest"),
        (
            ["ls", "@"],
            2,
            "'@' is no reference; write it as [ROOT@]SNAPSHOT",
            "snapfs ls photos@latest",
        ),
        (
            ["ls", "latest@"],
            1,
            "no root latest in",
            "snapfs ls latest",
        ),
        (["ls", "nope@"], 1, "it has photos", "snapfs ls photos@latest"),
        (["ls", "../photos"], 2, "its newest is photos@latest", "snapfs ls photos@latest"),
        (["cat", "../photos"], 2, "its newest is photos@latest", "snapfs cat photos@latest:a"),
        (["diff", "s33"], 1, "did you mean s3?", "snapfs diff s3"),
        (["diff", "latest...latest"], 1, "two dots: latest..latest", "snapfs diff latest..latest"),
        (
            ["delete", "latest...latest", "-n"],
            1,
            "two dots: latest..latest",
            "snapfs delete latest..latest -n",
        ),
        (["show", "99"], 1, "it has 1 to 3", "snapfs show 3"),
        (["delete", "99..latest", "-n"], 1, "it has 1 to 3", "snapfs delete 1..latest -n"),
        (["cat", "s1:a/"], 2, "leave out the / at its end", "snapfs cat s1:a"),
        (["ls", "s1:link/"], 2, "leave out the / at its end", "snapfs ls s1:link"),
        (["restore", "s1:a/", "--to", "x"], 2, "leave out the /", "snapfs restore s1:a --to x -n"),
        (["list", "--all", "photos"], 2, "leave out one of them", "snapfs list --all"),
        (["-y", "list"], 2, "`snapfs list --help` lists the options", ""),
        (["-n", "list"], 2, "list takes no --dry-run", ""),
        (["-y"], 2, "snapfs takes no --yes; `snapfs --help`", ""),
        (["prune"], 2, "this version has no prune", "snapfs delete s1 -n"),
        (
            ["rollback"],
            2,
            "here it is `snapfs restore SNAP --in-place`",
            "snapfs restore s1 --in-place -n",
        ),
        (["--lst"], 2, "no such option: --lst; --help lists them", "snapfs --help"),
        (["ls", "~1"], 2, "did you mean latest~1?", "snapfs ls latest~1"),
        (["ls", "s33"], 1, "did you mean s3?", "snapfs ls s3"),
        (["delete", "s2..s1"], 2, "write photos@s1..s2", "snapfs delete photos@s1..s2 -n"),
        (["delete", "s2"], 2, "add --yes, or --dry-run", "snapfs delete s2 --dry-run"),
        (["list", "photos@s1"], 1, "photos is one", "snapfs list photos"),
        (["usage", "photos"], 1, "`snapfs usage --root photos` shows all its snapshots", ""),
        (["log", "photos"], 1, "`snapfs log photos@latest:` is about all of it", ""),
        (["create", "photos@s1"], 1, "`snapfs create photos` takes a snapshot of root photos", ""),
        (["create", "sub"], 2, "give --nested", "snapfs create sub --nested -n"),
        (["roots", "move", "photos", "a"], 1, "is no directory", ""),
        (["lst"], 2, "`snapfs list`", ""),
        (["version"], 2, "`snapfs --version`", ""),
        (["list", "--al"], 2, "did you mean --all?", "snapfs list --all"),
    ],
)
def test_in_a_root(past: Shell, words: list[str], code: int, hint: str, line: str) -> None:
    told = failed(past, *words, code=code)
    assert hint in told
    if line or "`" in told:
        typed(past, line or told)


@pytest.mark.parametrize(
    ("words", "code", "hint", "line"),
    [
        (["ls"], 2, "say --root docs", "snapfs ls --root docs"),
        (["create"], 2, "`snapfs create .` takes a snapshot of it", "snapfs create --root docs"),
        (["create"], 2, "`snapfs create LABEL` of a root: docs, photos", "snapfs create docs"),
        (["create"], 2, "this directory is in no root of", "snapfs create . --nested -n"),
        (["diff", "d1"], 2, "say --root docs", "snapfs show d1 --root docs"),
        (["diff", "docs"], 2, "its newest is docs@latest", "snapfs ls docs@latest"),
        (["show", "photos"], 2, "its newest is photos@latest", "snapfs show photos@latest"),
        (["usage", "photos"], 2, "`snapfs usage --root photos` shows all its snapshots", ""),
        (["usage", "--by-path", "photos"], 2, "`snapfs usage --root photos`", ""),
        (["find", "--in", "photos", "a"], 2, "`snapfs find --root photos PATTERN` searches", "snapfs find --root photos a"),
        (["log", "photos@s1"], 2, "photos@latest:PATH about a path in it", "snapfs log photos@latest:a"),
        (["ls", "photos@zz"], 1, "`snapfs list photos` shows them", ""),
        (["cat", "photos@s1:no"], 1, "`snapfs ls photos@s1` shows what it has", ""),
        (["delete", "photos@s2..s1"], 2, "write photos@s1..s2", "snapfs delete photos@s1..s2 -n"),
        (["restore", "photos@s1", "docs", "--to", "x"], 2, "photos@SNAPSHOT:PATH", "snapfs ls photos@s1:a"),
        (["diff", "photos@s1", "photos@s2", "docs"], 2, "photos@SNAPSHOT:PATH", "snapfs diff photos@s1:a photos@s2"),
        (["list", "nope"], 1, "it has docs, photos", "snapfs list docs photos"),
        (["create", "photos/a"], 2, "take the one the file is in", "snapfs create photos"),
        (["create", "."], 2, "give --nested", "snapfs create . --nested -n"),
    ],
)  # fmt: skip
def test_outside_of_every_root(
    two: Shell, words: list[str], code: int, hint: str, line: str
) -> None:
    told = failed(two, *words, code=code)
    assert hint in told
    typed(two, line or told)


def test_a_path_of_the_newest_snapshot_that_reads_as_a_state(
    past: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("2024", "two..dots", "s1..s2"):
        (past.tree / name).write_text("x")
    past("create", "--name", "s4")
    for name in ("two..dots", "s1..s2"):
        (past.tree / name).write_text("other")
    # What is there and is no state is a path.
    assert past("diff", "two..dots").lines == ["M\ttwo..dots\tcontent,mtime"]
    # A range that there is stays one.
    assert past("diff", "s1..s2", "--stat").lines == past("diff", "s1", "s2", "--stat").lines
    for name in ("2024", "two..dots"):
        (past.tree / name).unlink()
        if name == "2024":
            assert past("diff", name).lines == [f"-\t{name}"]
        else:
            told = failed(past, "diff", name, code=1)
            assert f"for the path write ./{name}, or put -- before it" in told
        assert past("diff", f"./{name}").lines == [f"-\t{name}"]
        assert past("diff", "--", name).lines == [f"-\t{name}"]


def test_a_root_by_its_path(two: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    for words, line in (
        (["ls", two.tree], "ls photos@latest"),
        (["ls", two.tree / "sub"], "ls photos@latest:sub"),
        (["cat", "docs/note"], "cat docs@latest:note"),
    ):
        told = failed(two, *words, code=2)
        assert line.split()[1] in told
        two(*line.split())
    monkeypatch.chdir(two.home.parent / "docs")
    told = failed(two, "ls", two.tree / "a", code=2)
    assert "for the path write photos@latest:a" in told


def test_of_another_root(two: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(two.home.parent / "docs")
    number = two("list", "photos", "--json").objects[0]["id"]
    told = failed(two, "ls", str(number), code=1)
    assert f"docs has no snapshot {number}; it has 4 only, and {number} is photos@s1" in told
    assert two("ls", f"photos@{number}").lines
    assert "leave out the ./" in failed(two, "ls", "photos@s1:./a", code=2)
    assert two("ls", "photos@s1:a").lines == ["a"]


def test_pinned(two: Shell) -> None:
    two("pin", "photos@s1", "photos@s2")
    for words in (["delete", "photos@s1..s3", "-y"], ["roots", "remove", "photos", "-n"]):
        told = failed(two, *words, code=1)
        assert "`snapfs unpin photos@s1 photos@s2` comes first" in told
    typed(two, told)
    two("roots", "remove", "photos", "-y")


def test_the_repository_that_was_named_is_named_again(
    two: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = two.home.parent / "a b"
    first = two("-r", place, "create", "docs", "--name", "x1")
    line = next(line for line in first.err.splitlines() if line.startswith("To get a file back: "))
    words = shlex.split(line.partition(": ")[2].replace("FILE", "note").replace("DIR", "back"))
    two(*words[1:])
    assert Path("back/note").read_text() == "x"
    for given in (["-r", place], [f"--repo={place}"], [f"-r{place}"]):
        told = failed(two, *given, "ls", "docs@zz", code=1)
        assert f"`snapfs -r '{place}' list docs`" in told
        typed(two, told)
    missing = failed(two, "-r", "not here", "list", code=10)
    assert "`snapfs -r 'not here' create DIR`" in missing
    monkeypatch.chdir("docs")
    for line in two("-r", place, "--json").objects[0]["next"]:
        assert line in two("-r", place).out
        command = shlex.split(line.replace("FILE", "note").replace("DIR", "../y"))
        two(*command[1:])


def test_with_repository() -> None:
    line = "run `snapfs list`, snapfs rebuild-catalog; snapfs is not touched"
    assert with_repository(line, ["list"]) == line
    assert with_repository(line, ["list", "--", "-r", "x"]) == line
    assert with_repository(line, ["-r", "x", "--profile", "p"]) == (
        "run `snapfs -r x --profile p list`, snapfs -r x --profile p rebuild-catalog; "
        "snapfs is not touched"
    )


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("-r '/a b' create x", "create x"),
        ("--repo=/a --profile p -q create", "-q create"),
        ("-r/a tag s -r", "tag s -r"),
        ("create -r /a", "create -r /a"),
        ("create 'it''s", "create 'it''s"),
        ("-r", ""),
    ],
)
def test_without_repository(command: str, shown: str) -> None:
    assert without_repository(command) == shown


def test_a_stream_without_a_name(run: InProcess) -> None:
    done = run("create", "--stdin", "--label", "app", ok=(2,)).errors
    assert "needs a name" in done
    assert "--stdin NAME --label LABEL" in done
