"""Bars of list, show and usage, as terminals of several widths and locales show them; none in a pipe."""

from __future__ import annotations

import os
import pty
import random
import termios
from collections.abc import Sequence
from pathlib import Path

import pytest

from snapfs.cli.main import main
from snapfs.cli.render.bars import bar
from tests.cli.conftest import Shell
from tests.harness.terminal import read_to_end


@pytest.fixture
def space(shell: Shell) -> Shell:
    """Three snapshots: 40K and 20K in the first, 30K more in the second, the 20K gone in the third.

    The bytes cannot be compressed, so that all sizes are known.
    """
    noise = random.Random(1)
    (shell.tree / "old").mkdir()
    (shell.tree / "kept").write_bytes(noise.randbytes(40 << 10))
    (shell.tree / "old/gone").write_bytes(noise.randbytes(20 << 10))
    shell("create", ".", "--name", "s1", "--time", "2026-06-01T13:00Z", "-m", "first")
    (shell.tree / "new").write_bytes(noise.randbytes(30 << 10))
    (shell.tree / "x").write_bytes(b"")
    shell("create", "--name", "s2", "--time", "2026-06-02T13:00Z")
    (shell.tree / "old/gone").unlink()
    (shell.tree / "kept").write_bytes(noise.randbytes(10 << 10))
    for name in ("n1", "n2", "n3"):
        (shell.tree / name).mkdir()
    shell("create", "--name", "s3", "--time", "2026-06-03T13:00Z")
    return shell


def shown(words: Sequence[str], columns: int) -> list[str]:
    """What a command shows on a terminal of so many columns."""
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (24, columns))
    kept = os.dup(1)
    try:
        os.dup2(follower, 1)
        os.close(follower)
        assert main(list(words)) == 0
    finally:
        os.dup2(kept, 1)
        os.close(kept)
    text = read_to_end(leader).decode()
    os.close(leader)
    return text.removesuffix("\r\n").split("\r\n")


UTF8 = {
    ("list", 76): [
        "no  snapshot  time                 files  size  stored",
        " 1  s1        2026-06-01 13:00:00      2   60K     60K  █████████████  first",
        " 2  s2        2026-06-02 13:00:00      4   90K     30K  ███████",
        " 3  s3        2026-06-03 13:00:00      3   40K     10K  ██",
    ],
    ("list", 65): [
        "no  snapshot  time                 files  size  stored",
        " 1  s1        2026-06-01 13:00:00      2   60K     60K  first",
        " 2  s2        2026-06-02 13:00:00      4   90K     30K",
        " 3  s3        2026-06-03 13:00:00      3   40K     10K",
    ],
    ("usage", 100): [
        "no  snapshot  time                 size  unique  shared  packed",
        " 1  s1        2026-06-01 13:00:00   60K     0 B     60K     0 B  ░░░░░░░░░░░░░░░░",
        " 2  s2        2026-06-02 13:00:00   90K     0 B     90K     0 B  ░░░░░░░░░░░░░░░░░░░░░░░░",
        " 3  s3        2026-06-03 13:00:00   40K     10K     30K     10K  ███░░░░░░░░",
    ],
    ("usage", 40): [
        "snapshot  size  unique  shared  packed",
        "s1         60K     0 B     60K     0 B",
        "s2         90K     0 B     90K     0 B",
        "s3         40K     10K     30K     10K",
    ],
    ("usage --by-path", 50): [
        "stored  unique                            path",
        "  100K    100K  ████████████████████████  .",
        "   50K     50K  ████████████              kept",
        "   30K     30K  ███████                   new",
        "   20K     20K  █████                     old",
    ],
    ("usage --by-path s1 s2", 30): [
        "stored  unique            path",
        "   90K     60K  █████░░░  .",
        "   40K     40K  ████      kept",
        "   30K     0 B  ░░░       new",
        "   20K     20K  ██        old",
    ],
    ("show s3", 70): [
        "since s2    1 modified, 3 added, 1 removed; +0 B -50K",
        "  modified  ████████ 1",
        "  added     ████████████████████████ 3",
        "  removed   ████████ 1",
    ],
}


@pytest.mark.parametrize("name", ["C.UTF-8", "en_US.utf8", "C", "de_DE.ISO-8859-1"])
def test_on_a_terminal(space: Shell, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("LC_ALL", "")
    monkeypatch.setenv("LC_CTYPE", name)
    monkeypatch.setenv("LANG", "C" if "8859" not in name else "C.UTF-8")
    monkeypatch.delenv("COLUMNS", raising=False)
    ascii_only = "utf" not in name.lower()
    for (words, columns), wanted in UTF8.items():
        lines = shown(words.split(), columns)
        if ascii_only:
            wanted = [line.replace("█", "#").replace("░", "-") for line in wanted]
        if words.startswith("show"):
            at = next(number for number, line in enumerate(lines) if line.startswith("since"))
            lines = lines[at : at + len(wanted)]
        assert lines[: len(wanted)] == wanted
        assert max(map(len, lines)) <= columns or words.startswith("show")


def test_none_in_a_pipe(space: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("COLUMNS", "200")
    for words in ("list", "usage", "usage --by-path", "show s3"):
        out = space(*words.split()).out
        assert not set("█░#") & set(out), out


def test_parts() -> None:
    """A part that is there is seen, and none is longer than the room."""
    assert bar((0,), 10, 10) == ""
    assert [len(bar((value,), 1000, 10)) for value in (1, 149, 150, 1000)] == [1, 1, 2, 10]
    assert len(bar((1 << 62, 1), (1 << 62) + 1, 24)) == 24
    for parts in ((1, 10**9), (10**9, 1)):
        assert len(set(bar(parts, 10**9 + 1, 12))) == 2


def test_a_read_only_repository_and_bad_words(space: Shell, tmp_path: Path) -> None:
    """What is asked for that makes no sense; a set by range; nothing is written down of a question."""
    before = space("runs", "--json").out
    (asked,) = space("usage", "s1..s2", "--json").objects
    assert [one["name"] for one in asked["snapshots"]] == ["s1", "s2"]
    assert space("usage", "s1..s2").lines[0].split() == ["deleting", "2", "snapshots"]
    assert "--depth goes with --by-path" in space("usage", "--depth", "2", code=2).err
    assert "0 is no depth" in space("usage", "--by-path", "--depth", "0", code=2).err
    (tmp_path / "other").mkdir()
    space("create", tmp_path / "other", "--name", "o1")
    words = ("usage", "--by-path", "photos@s1", "other@o1")
    assert "photos" in space(*words, code=2).err
    space("delete", "other@o1", "-y")
    assert "no snapshots of other" in space("usage", "--root", "other").err
    assert "usage" not in space("runs", "--json").out.removeprefix(before)
