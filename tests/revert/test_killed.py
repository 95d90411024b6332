"""A run that was killed in the middle: the way back was told before, and the next run goes on."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
from pathlib import Path

import pytest

from tests.harness.program import Program
from tests.harness.require import need_root
from tests.harness.trees import assert_same, survey


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
