"""What `find` finds by patterns and conditions, and what it asks of the catalog for that."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from snapfs.catalog.database import Catalog
from tests.harness.inprocess import InProcess
from tests.harness.output import name_of

OLD_NS = 1_500_000_000 * 10**9


@pytest.fixture
def history(run: InProcess, tree: Path) -> Path:
    """Three snapshots; ``src`` was called ``old`` in the first."""
    (tree / "old" / "deep").mkdir(parents=True)
    (tree / "old" / "main.c").write_text("one")
    (tree / "old" / "deep" / "util.c").write_text("util")
    (tree / "old" / "deep" / "Util.H").write_text("header")
    (tree / "gone.key").write_text("secret")
    (tree / "big").write_bytes(os.urandom(400_000))
    os.utime(tree / "big", ns=(OLD_NS, OLD_NS))
    os.link(tree / "big", tree / "old" / "also-big")
    (tree / "link").symlink_to("big")
    run("create", tree, "--name", "s1")
    (tree / "old").rename(tree / "src")
    (tree / "src" / "main.c").write_text("one and more")
    (tree / "gone.key").unlink()
    run("create", tree, "--name", "s2")
    (tree / "src" / "deep" / "util.c").rename(tree / "src" / "deep" / "tool.c")
    run("create", tree, "--name", "s3")
    return tree


def found(run: InProcess, tree: Path, *words: Any, ok: tuple[int, ...] = (0,)) -> list[str]:
    lines = run("find", "--json", *words, cwd=tree, ok=ok).json_lines()
    return [
        f"{line['first'].partition('@')[2]}-{line['last'].partition('@')[2]} {line['path'] or '.'}"
        for line in lines
    ]


def test_patterns(run: InProcess, history: Path) -> None:
    assert found(run, history, "*.c") == [
        "s1-s1 old/deep/util.c", "s1-s1 old/main.c", "s3-s3 src/deep/tool.c",
        "s2-s2 src/deep/util.c", "s2-s3 src/main.c",
    ]  # fmt: skip
    assert found(run, history, "src/*.c") == ["s2-s3 src/main.c"]
    assert found(run, history, "/src/main.c") == ["s2-s3 src/main.c"]
    assert found(run, history, "src/main.c") == ["s2-s3 src/main.c"]
    assert found(run, history, "src/**/*.c", "gone*") == [
        "s1-s1 gone.key", "s3-s3 src/deep/tool.c", "s2-s2 src/deep/util.c", "s2-s3 src/main.c",
    ]  # fmt: skip
    assert found(run, history, "**/deep/") == ["s1-s1 old/deep", "s2-s3 src/deep"]
    assert found(run, history, "src/**") == [
        "s2-s3 src/also-big", "s2-s3 src/deep", "s2-s3 src/deep/Util.H", "s3-s3 src/deep/tool.c",
        "s2-s2 src/deep/util.c", "s2-s3 src/main.c",
    ]  # fmt: skip
    assert found(run, history, "util.h", ok=(1,)) == []
    assert found(run, history, "-i", "util.h") == ["s1-s1 old/deep/Util.H", "s2-s3 src/deep/Util.H"]
    assert found(run, history, "-i", "SRC/deep/UTIL*") == [
        "s2-s3 src/deep/Util.H", "s2-s2 src/deep/util.c",
    ]  # fmt: skip
    assert found(run, history, "main.c/", ok=(1,)) == [], "it is no directory"


def test_conditions(run: InProcess, history: Path) -> None:
    assert found(run, history, "--deleted", "--type", "f") == [
        "s1-s1 gone.key", "s1-s1 old/also-big", "s1-s1 old/deep/Util.H", "s1-s1 old/deep/util.c",
        "s1-s1 old/main.c", "s2-s2 src/deep/util.c",
    ]  # fmt: skip
    assert found(run, history, "--larger", "100K") == [
        "s1-s3 big", "s1-s1 old/also-big", "s2-s3 src/also-big",
    ]  # fmt: skip
    assert found(run, history, "--older", "2018-01-01") == found(run, history, "--larger", "100K")
    assert "s1-s3 big" not in found(run, history, "--newer", "1d", "*")
    assert found(run, history, "--in", "s2", "--smaller", "5") == ["s2-s2 src/deep/util.c"]
    assert found(run, history, "--type", "l") == ["s1-s3 link"]
    assert found(run, history, "--type", "d", "--in", "s3") == [
        "s1-s3 .",
        "s2-s3 src",
        "s2-s3 src/deep",
    ]
    assert found(run, history, "--same-as", history / "link") == found(
        run, history, "--larger", "1K"
    )
    (line,) = run("find", "gone.key", "--json", cwd=history).json_lines()
    assert found(run, history, "--digest", line["digest"][:10]) == ["s1-s1 gone.key"]
    assert found(run, history, "--digest", "0" * 64, ok=(1,)) == []


@pytest.mark.parametrize("words", [
    (), ("--type", "x", "*"), ("--digest", "zz"), ("--digest", "12345"), ("--newer", "soon"),
    ("--all-roots", "--in", "s1", "*"), ("--in", "nothing", "*"), ("--same-as", "nothing"), ("",),
    ("-0", "--json", "*"), ("[a",), ("a\\",),
])  # fmt: skip
def test_what_is_no_search_fails_with_2(
    words: tuple[str, ...], run: InProcess, history: Path
) -> None:
    """1 is an answer."""
    result = run("find", *words, cwd=history, ok=(2,))
    assert not result.out
    assert result.err


def test_several_roots(run: InProcess, history: Path, workspace: Path) -> None:
    other = workspace / "other"
    other.mkdir()
    (other / "main.c").write_text("one")
    run("create", other, "--name", "o1")
    assert found(run, history, "main.c") == ["s1-s1 old/main.c", "s2-s3 src/main.c"]
    everywhere = run("find", "main.c", "--all-roots", cwd=history)
    assert [line.split()[0] for line in everywhere.out.decode().splitlines()] == [
        "other@o1", "tree@s1", "tree@s2..s3",
    ]  # fmt: skip
    raw = run("find", "--same-as", other / "main.c", "--all-roots", "-0", cwd=history)
    assert raw.out == b"other@o1\0other@o1\0main.c\0tree@s1\0tree@s1\0old/main.c\0"


def test_names_that_are_no_text(run: InProcess, tree: Path) -> None:
    for name in (b"\xff\xfe.bin", b"new\nline", "\u00c9t\u00e9".encode(), b"-dash", b"!x", b"#y"):
        Path(os.fsdecode(os.fsencode(tree) + b"/" + name)).write_bytes(name)
    run("create", tree, "--name", "s1")
    every = run("find", "*", "--json", "--type", "f", cwd=tree).json_lines()
    assert len(every) == 6
    assert name_of(run("find", b"\xff*", "--json", cwd=tree).json_lines()[0]) == b"\xff\xfe.bin"
    assert found(run, tree, "-i", "\u00e9T\u00c9") == ["s1-s1 \u00c9t\u00e9"]
    assert found(run, tree, "!x", "#y", "--", "-dash") == ["s1-s1 !x", "s1-s1 #y", "s1-s1 -dash"]
    (tree / "trail ").touch()
    run("create", tree, "--name", "s2")
    for pattern in ("trail ", "trail\\ ", "*\\ "):
        assert found(run, tree, pattern) == ["s2-s2 trail "]
    assert b"\n" not in run("find", "new*", cwd=tree).out.removesuffix(b"\n")


@contextmanager
def counted() -> Iterator[list[str]]:
    """The statements that are run meanwhile."""
    seen: list[str] = []
    real = Catalog.execute

    def execute(self: Catalog, statement: str, params: Any = ()) -> sqlite3.Cursor:
        seen.append(statement)
        return real(self, statement, params)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Catalog, "execute", execute)
        yield seen


def test_statements_follow_the_answer(run: InProcess, tree: Path) -> None:
    """Neither more files nor more snapshots cost a question more for what does not change."""
    (tree / "d").mkdir()
    for number in range(40):
        (tree / f"file{number}").write_text(str(number))
        (tree / "d" / f"f{number}").write_text(str(number))
    run("create", tree, "--name", "s0")
    searches = (
        ("log", "d/f1"), ("find", "d/f1"), ("find", "d/*1"), ("find", "f*1"), ("find", "--larger", "1M"),
    )  # fmt: skip

    def costs() -> list[int]:
        found = []
        for words in searches:
            with counted() as statements:
                run(*words, cwd=tree, ok=(0, 1))
            found.append(len(statements))
        return found

    before = costs()
    for number in range(40, 400):
        (tree / f"file{number}").write_text(str(number))
    for name in ("s1", "s2", "s3"):
        (tree / "file0").write_text(name)
        run("create", tree, "--name", name)
    assert costs() == before
    assert max(before) < 40, before
