"""Overwrite policies, deletion, selections: what is touched and what is not."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from snapfs.materialize.wanted import Overwrite, Part, Same, WantedDir
from snapfs.model.entry import Entry
from snapfs.model.kinds import State
from snapfs.progress import Problem
from tests.harness.filesystems import bound, mounted
from tests.harness.require import need_root
from tests.harness.trees import assert_same, survey
from tests.materialize.conftest import Restorer

Stored = Callable[[Path], Restorer]
OLD, NOW, NEW = 1_000_000_000, 1_300_000_000, 1_600_000_000


def put(path: Path, text: str, when: int = NOW) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (when, when))


@pytest.fixture
def two(stored: Stored, tree: Path, target: Path) -> Restorer:
    """A snapshot and a target that has older, newer, equal and additional things."""
    for name in ("same", "older", "newer", "missing"):
        put(tree / "d" / name, "snapshot")
    os.utime(tree / "d", (NOW, NOW))
    os.utime(tree, (NOW, NOW))
    restore = stored(tree)
    put(target / "d/same", "snapshot", NOW)
    put(target / "d/older", "target", OLD)
    put(target / "d/newer", "target", NEW)
    put(target / "d/extra", "target", NEW)
    os.utime(target / "d", (NEW, NEW))
    os.utime(target, (NEW, NEW))
    return restore


def texts(target: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (target / "d").iterdir()}


def test_never(two: Restorer, target: Path) -> None:
    before = survey(target)
    result = two(target, overwrite=Overwrite.NEVER)
    assert texts(target) == {
        "same": "snapshot", "older": "target", "newer": "target", "extra": "target",
        "missing": "snapshot",
    }  # fmt: skip
    after = survey(target)
    for path, facts in before.facts.items():
        assert after.facts[path] == facts
    assert (result.created, result.overwritten, result.deleted) == (1, 0, 0)
    # three files, two directories, and one that the snapshot does not have
    assert result.left_alone == 6


def test_if_newer(two: Restorer, target: Path) -> None:
    result = two(target, overwrite=Overwrite.IF_NEWER)
    assert texts(target)["older"] == "snapshot"
    assert texts(target)["newer"] == "target"
    assert (result.created, result.overwritten) == (1, 1)
    assert (target / "d").stat().st_mtime == NEW


def test_if_changed(two: Restorer, tree: Path, target: Path) -> None:
    inode = (target / "d/same").stat().st_ino
    result = two(target, overwrite=Overwrite.IF_CHANGED, delete=True)
    assert_same(survey(tree), survey(target))
    assert (target / "d/same").stat().st_ino == inode
    assert (result.created, result.overwritten, result.deleted, result.unchanged) == (1, 4, 1, 1)


def test_always(two: Restorer, tree: Path, target: Path) -> None:
    inode = (target / "d/same").stat().st_ino
    two(target, overwrite=Overwrite.ALWAYS)
    assert (target / "d/same").stat().st_ino != inode
    assert texts(target) == {
        "same": "snapshot", "older": "snapshot", "newer": "snapshot", "missing": "snapshot",
        "extra": "target",
    }  # fmt: skip


def test_only_attributes_are_mended(stored: Stored, tree: Path, target: Path) -> None:
    put(tree / "f", "text")
    (tree / "f").chmod(0o640)
    os.setxattr(tree / "f", "user.a", b"1")
    restore = stored(tree)
    put(target / "f", "text", OLD)
    os.setxattr(target / "f", "user.stale", b"x")
    inode = (target / "f").stat().st_ino
    result = restore(target, overwrite=Overwrite.IF_CHANGED)
    assert result.written_bytes == 0
    assert (target / "f").stat().st_ino == inode
    assert_same(survey(tree), survey(target))


def test_what_is_known_to_be_the_same_is_not_looked_at(
    stored: Stored, tree: Path, target: Path
) -> None:
    put(tree / "f", "text")
    os.utime(tree, (NEW, NEW))
    restore = stored(tree)
    put(target / "f", "text", OLD)
    result = restore(target, overwrite=Overwrite.IF_CHANGED, same=lambda *_: Same.ALL)
    assert (target / "f").stat().st_mtime == OLD
    assert result.unchanged == 1


def test_protected_things_are_never_deleted(stored: Stored, tree: Path, target: Path) -> None:
    put(tree / "d/keep", "x")
    put(tree / "was-dir", "now a file")
    restore = stored(tree)
    for name in ("d/cache/a", "d/cache/b/c", "d/x.o", "d/gone/x.o", "d/gone/y", "z/deep/x.o"):
        put(target / name, "target")
    put(target / "was-dir/x.o", "target")
    asked: list[tuple[tuple[bytes, ...], bytes, bool]] = []

    def protected(parts: tuple[bytes, ...], name: bytes, is_dir: bool) -> bool:
        asked.append((parts, name, is_dir))
        return name == b"cache" or name.endswith(b".o")

    problems: list[Problem] = []
    result = restore(target, delete=True, protected=protected, problems=problems)
    left = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert left == {
        "d/keep", "d/cache/a", "d/cache/b/c", "d/x.o", "d/gone/x.o", "z/deep/x.o", "was-dir/x.o",
    }  # fmt: skip
    assert [problem.path for problem in problems] == [b"was-dir"]
    assert ((b"z", b"deep"), b"x.o", False) in asked
    assert ((b"d",), b"cache", True) in asked
    assert result.left_alone >= 5


def test_a_directory_in_the_way_needs_delete(stored: Stored, tree: Path, target: Path) -> None:
    put(tree / "a", "file")
    put(tree / "b", "file")
    restore = stored(tree)
    put(target / "a/x", "target")
    (target / "b").mkdir()
    problems: list[Problem] = []
    restore(target, problems=problems)
    assert [problem.path for problem in problems] == [b"a"]
    assert (target / "a/x").read_text() == "target"
    assert (target / "b").read_text() == "file"
    result = restore(target, delete=True)
    assert (target / "a").read_text() == "file"
    assert (result.overwritten, result.deleted) == (2, 1)


def test_deletion_stops_at_mounts(
    stored: Stored, tree: Path, target: Path, workspace: Path
) -> None:
    need_root()
    put(tree / "d/keep", "x")
    restore = stored(tree)
    put(workspace / "elsewhere/precious", "x")
    put(target / "d/old", "x")
    (target / "d/bind").mkdir()
    put(target / "gone/x", "x")
    (target / "gone/deep/bind").mkdir(parents=True)
    put(target / "gone/file-bind", "")
    with (
        bound(workspace / "elsewhere", target / "d/bind"),
        bound(workspace / "elsewhere", target / "gone/deep/bind"),
        bound(workspace / "elsewhere/precious", target / "gone/file-bind"),
        mounted("tmpfs", target / "gone/tmp") as tmpfs,
    ):
        put(tmpfs / "precious", "x")
        result = restore(target, delete=True, dry=False)
        assert (tmpfs / "precious").read_text() == "x"
        assert (workspace / "elsewhere/precious").read_text() == "x"
        assert not (target / "d/old").exists()
        assert not (target / "gone/x").exists()
    assert result.left_alone == 4


@pytest.mark.parametrize("kind", ["bind", "tmpfs"])
def test_inside_a_mount_only_what_is_wanted_changes(
    stored: Stored, tree: Path, target: Path, workspace: Path, kind: str
) -> None:
    need_root()
    put(tree / "m/at/f", "snapshot")
    restore = stored(tree)
    (target / "m" if kind == "tmpfs" else target / "m/at").mkdir(parents=True)
    (workspace / "elsewhere").mkdir()
    mount = (
        mounted("tmpfs", target / "m")
        if kind == "tmpfs"
        else bound(workspace / "elsewhere", target / "m/at")
    )
    with mount as point:
        put(point / "f", "old")
        put(point / "mine", "x")
        restore(target, delete=True)
        assert (point / "f").read_text() == "snapshot"
        assert (point / "mine").read_text() == "x"


def test_parents_of_a_selection(stored: Stored, tree: Path, target: Path) -> None:
    need_root()
    put(tree / "pp/a/b/f", "x")
    put(tree / "pp/a/other", "x")
    for path, mode in (("pp", 0o2710), ("pp/a", 0o2750), ("pp/a/b", 0o1711)):
        os.chown(tree / path, 1000, 2000)
        (tree / path).chmod(mode)
        os.utime(tree / path, (OLD, OLD))
    os.utime(tree, (OLD, OLD))
    restore = stored(tree)
    wanted = lambda: restore.stored.selected(b"pp/a/b/f")  # noqa: E731

    restore(target, wanted)
    assert_same(survey(tree).without([b"pp/a/other"]), survey(target))

    # Parents that exist are left exactly as they are.
    there = target.with_name("there")
    put(there / "pp/a/mine", "x")
    for path in ("pp/a", "pp", ""):
        (there / path).chmod(0o700)
        os.utime(there / path, (NEW, NEW))
    before = {path: os.stat(there / path) for path in ("pp/a", "pp", "")}
    restore(there, wanted, delete=True)
    for path, found in before.items():
        now = os.stat(there / path)
        assert (now.st_mode, now.st_uid, now.st_mtime) == (found.st_mode, found.st_uid, NEW), path
    assert (there / "pp/a/mine").exists()
    assert stat.S_IMODE((there / "pp/a/b").stat().st_mode) == 0o1711
    result = restore(there, wanted, overwrite=Overwrite.IF_CHANGED)
    assert (result.unchanged, result.created, result.overwritten) == (1, 0, 0)


def test_a_selected_directory_has_its_extras_deleted(
    stored: Stored, tree: Path, target: Path
) -> None:
    put(tree / "a/x", "x")
    put(tree / "b/x", "x")
    restore = stored(tree)
    for name in ("a/extra", "b/extra", "extra"):
        put(target / name, "x")
    restore(target, lambda: restore.stored.selected(b"a"), delete=True)
    assert sorted(str(p.relative_to(target)) for p in target.rglob("*")) == [
        "a", "a/x", "b", "b/extra", "extra",
    ]  # fmt: skip


def test_a_file_alone_in_a_holder(stored: Stored, tree: Path, target: Path) -> None:
    put(tree / "d/f", "x")
    os.utime(tree / "d", (OLD, OLD))
    (tree / "d").chmod(0o2700)
    restore = stored(tree)
    entry = restore.stored.entry(b"d/f")

    def wanted() -> list[WantedDir]:
        return [WantedDir(0, restore.stored.entry(b"d"), [entry], Part.HOLDER)]

    before = os.umask(0o027)
    try:
        result = restore(target, wanted)
    finally:
        os.umask(before)
    assert result.created == 1
    assert stat.S_IMODE(target.stat().st_mode) == 0o750
    assert target.stat().st_mtime > NEW
    assert (target / "f").stat().st_mtime == NOW


def test_a_directory_that_never_comes_is_left_as_it_is(
    stored: Stored, tree: Path, target: Path
) -> None:
    put(tree / "same/x", "x")
    put(tree / "changed/x", "new")
    restore = stored(tree)
    put(target / "same/mine", "x", OLD)
    put(target / "changed/x", "old")

    def wanted() -> list[WantedDir]:
        return [item for item in restore.stored.wanted() if item.entry.name != b"same"]

    restore(target, wanted, delete=True)
    assert (target / "same/mine").exists()
    assert (target / "changed/x").read_text() == "new"


def test_unread_entries_are_told_and_left(stored: Stored, tree: Path, target: Path) -> None:
    put(tree / "f", "x")
    put(tree / "new", "x")
    put(tree / "d/x/y", "x")
    restore = stored(tree)

    def unread(entry: Entry) -> Entry:
        return entry._replace(state=State.UNREAD) if entry.name in (b"f", b"new", b"d") else entry

    restore.stored.dirs = {
        path: (unread(entry), [unread(child) for child in children])
        for path, (entry, children) in restore.stored.dirs.items()
    }
    for name in ("f", "d/mine", "d/x/mine", "gone"):
        put(target / name, "mine")
    problems: list[Problem] = []
    restore(target, problems=problems, delete=True)
    assert sorted(problem.path for problem in problems) == [b"d", b"f", b"new"]
    assert (target / "f").read_text() == "mine"
    assert not (target / "new").exists()
    assert sorted(os.listdir(target)) == ["d", "f"]
    assert sorted(os.listdir(target / "d")) == ["mine", "x"]
    assert sorted(os.listdir(target / "d/x")) == ["mine", "y"]


def test_an_existing_empty_target(stored: Stored, tree: Path, target: Path) -> None:
    put(tree / "d/f", "x")
    restore = stored(tree)
    target.mkdir(0o700)
    result = restore(target)
    assert_same(survey(tree), survey(target))
    assert (result.created, result.overwritten) == (2, 1)
    again = target.with_name("a") / "b" / "c"
    restore(again)
    assert_same(survey(tree), survey(again))
