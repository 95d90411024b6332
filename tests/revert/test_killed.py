"""A run that was killed in the middle: the way back was told before, and the next run goes on."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.program import Program
from tests.harness.require import need_root
from tests.harness.trees import assert_same, survey
from tests.harness.user import User


def fill(tree: Path) -> None:
    """Directories of many kinds, with files enough that a kill finds some missing."""
    for name, mode in (
        ("usual", 0o755),
        ("ours", 0o2775),
        ("open", 0o1777),
        ("mine", 0o700),
        ("shut", 0o555),
    ):
        (tree / name / "below").mkdir(parents=True)
        for number in range(5):
            path = tree / name / "below" / f"file{number}"
            path.write_bytes(bytes([number]) * 3000)
            os.utime(path, ns=(number, 10**18 + number))
        (tree / name / "link").symlink_to("below")
        os.utime(tree / name, ns=(5, 10**18))
        (tree / name).chmod(mode)
    os.chown(tree / "usual" / "below", 1234, 1235)
    os.chown(tree / "ours", 1234, 1235)
    os.setxattr(tree / "open", "user.note", b"kept")


def killed(snapfs: Program, tree: Path, point: str, *words: str) -> str:
    """What it said."""
    process = snapfs.start(*words, "--yes", cwd=tree, env={"SNAPFS_CRASH_AT": f"kill@{point}"})
    _, errors = process.communicate()
    assert process.returncode == -signal.SIGKILL, errors
    return os.fsdecode(errors)


def way_back(errors: str) -> list[str]:
    line = next(line for line in errors.splitlines() if "to go back to it: " in line)
    words = shlex.split(line.partition("to go back to it: ")[2])
    return words[words.index("restore") :]


@pytest.mark.parametrize(
    "point", ["restore.file-written:2", "restore.file-written:9", "restore.files-done"]
)
def test_the_next_run_goes_on(snapfs: Program, tree: Path, point: str) -> None:
    """Nothing that the killed one left is taken for an edit."""
    need_root()
    fill(tree)
    snapfs.create(tree, "one")
    state = survey(tree)
    for name in os.listdir(tree):
        shutil.rmtree(tree / name)
    (tree / "new").write_text("two")
    snapfs.create(tree, "two")
    (tree / "later").write_text("an edit")
    before = survey(tree)
    back = way_back(killed(snapfs, tree, point, "revert", "one..two"))
    done = snapfs("revert", "one..two", "--yes", cwd=tree)
    assert "C\t" not in done.text
    assert (tree / "later").read_text() == "an edit"
    (tree / "later").unlink()
    after = survey(tree)
    del state.facts[b""]["mtime"], after.facts[b""]["mtime"]
    assert_same(state, after)
    (tree / "later").write_text("an edit")
    snapfs(*back, "--yes", cwd=tree)
    assert_same(before, survey(tree), ignore=("mtime",))


@pytest.mark.parametrize(
    "words", [("revert", "one..two"), ("restore", "one", "--in-place", "--delete")]
)
def test_the_way_back_is_told_before_anything_is_changed(
    snapfs: Program, tree: Path, words: tuple[str, ...]
) -> None:
    (tree / "a").write_text("one")
    (tree / "d").mkdir()
    (tree / "d" / "b").write_text("one")
    snapfs.create(tree, "one")
    (tree / "a").write_text("two")
    shutil.rmtree(tree / "d")
    snapfs.create(tree, "two")
    before = survey(tree)
    point = "revert.planned" if words[0] == "revert" else "restore.planned"
    back = way_back(killed(snapfs, tree, f"{point}:1", *words))
    assert_same(before, survey(tree))
    errors = killed(snapfs, tree, "restore.files-done", *words)
    assert back != way_back(errors)
    assert (tree / "d" / "b").read_text() == "one"
    snapfs(*way_back(errors), "--yes", cwd=tree)
    assert_same(before, survey(tree), ignore=("mtime",))
    assert "go back" not in killed(snapfs, tree, "restore.files-done", *words, "--quiet")


MOVES: dict[str, Callable[[Path], object]] = {
    "file": lambda tree: (tree / "x" / "d").rename(tree / "d"),
    "directory": lambda tree: (tree / "x").rename(tree / "y"),
    "into another": lambda tree: (tree / "x").rename(tree / "z" / "x"),
    "swap": lambda tree: _swap(tree / "x" / "d", tree / "e"),
    "over another": lambda tree: (tree / "x" / "d").replace(tree / "e"),
    "into one that is new": lambda tree: _into_new(tree),
}


def _swap(one: Path, two: Path) -> None:
    held = one.with_name("held")
    one.rename(held)
    two.rename(one)
    held.rename(two)


def _into_new(tree: Path) -> None:
    (tree / "new").mkdir()
    (tree / "x" / "d").rename(tree / "new" / "d")


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize(
    "point", ["restore.file-written", "restore.file-written:2", "restore.files-done"]
)
def test_a_move_never_has_its_file_at_neither_end(
    point: str, move: str, snapfs: Program, tree: Path
) -> None:
    (tree / "x").mkdir()
    (tree / "z").mkdir()
    for name in ("x/d", "x/c", "e", "z/f"):
        (tree / name).write_text(f"was {name}")
    snapfs.create(tree, "one")
    state = survey(tree)
    MOVES[move](tree)
    snapfs.create(tree, "two")
    (tree / "later").write_text("an edit")
    contents = {path.read_text() for path in tree.rglob("*") if path.is_file()}
    words = ("revert", "one..two")
    process = snapfs.start(*words, "--yes", cwd=tree, env={"SNAPFS_CRASH_AT": f"kill@{point}"})
    process.communicate()
    here = {path.read_text() for path in tree.rglob("*") if path.is_file()}
    assert contents <= here or move == "over another"
    done = snapfs(*words, "--yes", cwd=tree)
    assert "C\t" not in done.text
    (tree / "later").unlink()
    after = survey(tree)
    del state.facts[b""]["mtime"], after.facts[b""]["mtime"]
    assert_same(state, after, ignore=("mtime",))


def test_what_cannot_be_moved_back_stays(as_user: Program, user: User) -> None:
    """Both ends of a move or none, also where only one of them may be written to."""
    tree = as_user.home.parent / "tree"
    (tree / "shut").mkdir()
    (tree / "open").mkdir()
    os.chown(tree / "open", user.uid, user.gid)
    (tree / "shut" / "x").write_text("precious")
    (tree / "shut" / "y").write_text("y")
    as_user.create(tree, "one")
    for name in "xy":
        (tree / "shut" / name).rename(tree / "open" / name)
    (tree / "open" / "added").write_text("goes")
    as_user.create(tree, "two")
    done = as_user("revert", "one..two", "--yes", cwd=tree, ok=(3,))
    assert "shut/x" in done.errors
    assert "open/x: stays: it could not be moved back" in done.errors
    assert sorted(os.listdir(tree / "open")) == ["x", "y"]
    (tree / "shut").chmod(0o777)
    as_user("revert", "one..two", "--yes", cwd=tree, ok=(3,))  # its owner stays another
    assert (tree / "shut" / "x").read_text() == "precious"
    assert not os.listdir(tree / "open")
