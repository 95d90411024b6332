"""Rules as values, and as a walk applies them."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from snapfs.errors import DamageError
from snapfs.fs.matching import RuleMatcher
from snapfs.fs.rules import RuleLine, Rules, read_pattern_file

SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55\n# more\n"


def lines(*texts: bytes) -> tuple[RuleLine, ...]:
    return tuple(RuleLine(text, "--exclude") for text in texts)


def kept(tree: Path, rules: Rules, *, matcher: RuleMatcher | None = None) -> set[bytes]:
    """Paths that a walk of ``tree`` under ``rules`` keeps."""
    matcher = matcher or RuleMatcher(rules)
    found: set[bytes] = set()
    todo: list[tuple[bytes, object]] = [(b"", None)]
    while todo:
        path, parent = todo.pop()
        fd = os.open(os.path.join(os.fsencode(tree), path), os.O_RDONLY)
        names = [os.fsencode(name) for name in os.listdir(fd)]
        if path == b"":
            here = matcher.top(fd, names)
        else:
            here = matcher.enter(parent, path.rpartition(b"/")[2], path, fd, names)  # type: ignore[arg-type]
        for name in names:
            info = os.stat(name, dir_fd=fd, follow_symlinks=False)
            is_dir = os.path.stat.S_ISDIR(info.st_mode)  # type: ignore[attr-defined]
            if here is not None and here.excluded(name, is_dir, 0 if is_dir else info.st_size):
                assert here.explain(name, is_dir, info.st_size).excluded
                continue
            below = path + b"/" + name if path else name
            found.add(below)
            if is_dir:
                todo.append((below, here))
        os.close(fd)
    return found


def make(tree: Path, *paths: bytes) -> Path:
    for path in paths:
        full = os.path.join(os.fsencode(tree), path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if not path.endswith(b"/"):
            with open(full, "wb") as file:
                file.write(b"x")
    return tree


def test_no_rules_make_no_objects(tmp_path: Path) -> None:
    matcher = RuleMatcher(Rules())
    assert matcher.top(None, [b"a"]) is None
    assert matcher.enter(None, b"a", b"a", None, [b"b"]) is None


def test_patterns_match_from_the_root(tmp_path: Path) -> None:
    make(tmp_path, b"a/b/x.o", b"a/x.c", b"b/f", b"top/b/f")
    rules = Rules(lines(b"*.o", b"/b", b"top/b/"))
    assert kept(tmp_path, rules) == {b"a", b"a/b", b"a/x.c", b"top"}


def test_a_pattern_that_matches_the_root_leaves_it_empty(tmp_path: Path) -> None:
    make(tmp_path, b"a/b")
    assert kept(tmp_path, Rules(lines(b"*"))) == set()


def test_ignore_files_are_relative_to_their_directory(tmp_path: Path) -> None:
    make(tmp_path, b"x", b"d/x", b"d/e/x", b"d/e/f/y", b"d/y", b"e/f/y")
    (tmp_path / "d/.snapfsignore").write_bytes(b"/x\r\ne/f\r\n# no\r\n")
    (tmp_path / "d/e/.snapfsignore").write_bytes(b"!f\n")
    assert kept(tmp_path, Rules()) == {
        b"x", b"d", b"d/y", b"d/.snapfsignore", b"d/e", b"d/e/.snapfsignore", b"d/e/x", b"d/e/f",
        b"d/e/f/y", b"e", b"e/f", b"e/f/y",
    }  # fmt: skip


def test_patterns_of_the_run_come_before_ignore_files(tmp_path: Path) -> None:
    make(tmp_path, b"a.o", b"b.o")
    (tmp_path / ".snapfsignore").write_bytes(b"a.o\nb.o\n")
    assert kept(tmp_path, Rules(lines(b"!a.o"))) == {b"a.o", b".snapfsignore"}


def test_stored_rules_hold_whatever_became_of_the_ignore_files(tmp_path: Path) -> None:
    make(tmp_path, b"d/x", b"d/y")
    (tmp_path / "d/.snapfsignore").write_bytes(b"x\n")
    matcher = RuleMatcher(Rules())
    assert kept(tmp_path, Rules(), matcher=matcher) == {b"d", b"d/y", b"d/.snapfsignore"}
    stored = Rules.from_text(matcher.as_met().to_text())
    (tmp_path / "d/.snapfsignore").write_bytes(b"y\n")
    assert kept(tmp_path, stored) == {b"d", b"d/y", b"d/.snapfsignore"}
    (tmp_path / "d/.snapfsignore").unlink()
    assert kept(tmp_path, stored) == {b"d", b"d/y"}


@pytest.mark.parametrize("kind", ["link", "pipe", "directory"])
def test_an_ignore_file_that_is_none_says_nothing(tmp_path: Path, kind: str) -> None:
    make(tmp_path, b"x", b"real")
    (tmp_path / "real").write_bytes(b"x\n")
    path = tmp_path / ".snapfsignore"
    match kind:
        case "link":
            path.symlink_to("real")
        case "pipe":
            os.mkfifo(path)
        case _:
            path.mkdir()
    assert b"x" in kept(tmp_path, Rules())


def test_caches(tmp_path: Path) -> None:
    make(tmp_path, b"c/x", b"c/d/y", b"n/x", b"u/x")
    (tmp_path / "c/CACHEDIR.TAG").write_bytes(SIGNATURE)
    (tmp_path / "n/CACHEDIR.TAG").write_bytes(b"not one")
    everything = kept(tmp_path, Rules())
    assert kept(tmp_path, Rules(caches=True)) == everything - {b"c/x", b"c/d", b"c/d/y"}


def test_marked_directories(tmp_path: Path) -> None:
    make(tmp_path, b"a/.nosnap", b"a/x", b"b/x", b"a/d/y")
    rules = Rules(if_present=(b".nosnap",))
    assert kept(tmp_path, rules) == {b"a", b"a/.nosnap", b"b", b"b/x"}


def test_large_files(tmp_path: Path) -> None:
    make(tmp_path, b"small", b"d/")
    (tmp_path / "big").write_bytes(bytes(101))
    assert kept(tmp_path, Rules(larger_than=100)) == {b"small", b"d"}


def test_names_of_any_bytes(tmp_path: Path) -> None:
    make(tmp_path, b"\xff\n", b"\xfe", b"d\xff/x", b"*")
    rules = Rules.from_text(Rules(lines(b"*\xff*", b"\\*")).to_text())
    assert kept(tmp_path, rules) == {b"\xfe"}


def test_the_reason_is_told(tmp_path: Path) -> None:
    matcher = RuleMatcher(Rules(lines(b"*.o", b"!a.o"), larger_than=10))
    top = matcher.top(None, [])
    assert top is not None
    assert top.explain(b"b.o", False) == (True, b"*.o", "--exclude")
    assert top.explain(b"a.o", False) == (False, b"!a.o", "--exclude")
    assert top.explain(b"x", False) == (False, b"", "")
    assert top.explain(b"x", False, 11) == (True, b"10 B", "--exclude-larger-than")


def test_unused_patterns_are_known() -> None:
    matcher = RuleMatcher(Rules(lines(b"*.o", b"never", b"# no")))
    top = matcher.top(None, [])
    assert top is not None
    top.excluded(b"x.o", False)
    assert matcher.unused() == (RuleLine(b"never", "--exclude"),)


def test_digests_differ_where_rules_do(tmp_path: Path) -> None:
    one, two = Rules(lines(b"a")), Rules(lines(b"b"))
    assert one.digest() == Rules(lines(b"a")).digest() != two.digest()
    matcher = RuleMatcher(one)
    top = matcher.top(None, [])
    assert top is not None
    assert top.digest == one.digest()
    (tmp_path / ".snapfsignore").write_bytes(b"x")
    fd = os.open(tmp_path, os.O_RDONLY)
    below = matcher.enter(top, b"d", b"d", fd, [b".snapfsignore"])
    os.close(fd)
    assert below is not None
    assert below.digest != top.digest


def test_rules_survive_as_text() -> None:
    rules = Rules(
        (RuleLine(b"\xff\n*", "f\udcff"),), True, (b"\xfe",), True, 5, ((b"d\xff", b"\0x"),)
    )
    assert Rules.from_text(rules.to_text()) == rules
    assert Rules.from_text("") == Rules()
    for bad in ("{}", "[]", "x", '{"patterns": 1}'):
        with pytest.raises(DamageError):
            Rules.from_text(bad)


def test_every_rule_has_a_line_for_people() -> None:
    given = lines(b"*.o", b"", b"# comment", b"  ", b"\\#name")
    rules = Rules(given, True, (b".n",), True, 7, ((b"", b"x"), (b"d", b"y")))
    assert rules.describe() == (
        "--exclude: *.o", "--exclude: \\#name", "--exclude-caches", "--exclude-if-present .n", "--one-file-system",
        "--exclude-larger-than 7 B", ".snapfsignore", "d/.snapfsignore",
    )  # fmt: skip


def test_pattern_files(tmp_path: Path) -> None:
    path = tmp_path / "rules"
    path.write_bytes(b"a\r\n\n# c\nb")
    found = read_pattern_file(os.fsencode(path))
    assert [line.text for line in found] == [b"a", b"", b"# c", b"b"]
    assert {line.source for line in found} == {str(path)}


def test_an_unreadable_ignore_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".snapfsignore").write_bytes(b"x")
    told: list[tuple[bytes, int | None]] = []

    def refuse(*_args: object, **_kw: object) -> int:
        raise PermissionError(13, "denied")

    fd = os.open(tmp_path, os.O_RDONLY)
    monkeypatch.setattr(os, "open", refuse)
    matcher = RuleMatcher(Rules(), problem=lambda path, error: told.append((path, error.errno)))
    assert matcher.enter(None, b"d", b"d", fd, [b".snapfsignore"]) is None
    monkeypatch.undo()
    os.close(fd)
    assert told == [(b"d/.snapfsignore", 13)]


def test_an_ignore_file_that_is_too_large_says_nothing_and_is_told(tmp_path: Path) -> None:
    """A part of it could end in the middle of a pattern, and leave out everything."""
    (tmp_path / ".snapfsignore").write_bytes(b"#" * ((1 << 20) - 2) + b"\n*.tmp\n")
    told: list[tuple[bytes, int | None]] = []
    matcher = RuleMatcher(Rules(), problem=lambda path, error: told.append((path, error.errno)))
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        assert matcher.enter(None, b"d", b"d", fd, [b".snapfsignore"]) is None
    finally:
        os.close(fd)
    assert told == [(b"d/.snapfsignore", errno.EFBIG)]
