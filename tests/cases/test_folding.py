"""A target whose filesystem takes names of other case for one: NTFS through FUSE."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.filesystems import MIB, unmount
from tests.harness.inprocess import InProcess
from tests.harness.require import need, need_root, need_tools


class Folding:
    """It lists every name in lower case and finds it in any."""

    def __init__(self, folder: Path) -> None:
        self.at, self._image = folder / "at", folder / "image"
        self.at.mkdir()
        with self._image.open("wb") as file:
            file.truncate(32 * MIB)
        subprocess.run(["mkntfs", "-q", "-F", self._image], check=True, capture_output=True)
        self._mount()

    def _mount(self) -> None:
        made = subprocess.run(
            ["mount", "-t", "lowntfs-3g", "-o", "loop,ignore_case,permissions", self._image, self.at],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        need(made.returncode == 0, f"mounting ntfs: {made.stderr.strip()}")

    def remount(self) -> None:
        """The kernel remembers spellings of its own that are not there."""
        unmount(self.at)
        self._mount()


@pytest.fixture
def folding(workspace: Path) -> Iterator[Folding]:
    need_root()
    need_tools("mkntfs", "lowntfs-3g", "mount")
    made = Folding(workspace)
    try:
        yield made
    finally:
        unmount(made.at)


def found(target: Path) -> dict[str, str]:
    return {
        str(path.relative_to(target)).lower(): path.read_text() if path.is_file() else "directory"
        for path in target.rglob("*")
    }


def test_what_is_there_in_another_spelling_is_meant(
    workspace: Path, tree: Path, folding: Folding
) -> None:
    (tree / "Dir" / "Inner").mkdir(parents=True)
    (tree / "Dir" / "Inner" / "File").write_text("1")
    (tree / "Upper").write_text("2")
    (tree / "lower").write_text("3")
    run = InProcess(workspace / "repository")
    run("create", tree, "--name", "s0")
    target = folding.at / "back"
    run("restore", "s0", "--to", target, cwd=tree, ok=(0, 3))
    folding.remount()
    whole = found(target)
    assert whole == {
        "dir": "directory", "dir/inner": "directory", "dir/inner/file": "1", "upper": "2",
        "lower": "3",
    }  # fmt: skip
    (target / "upper").write_text("changed")
    (target / "more").write_text("goes")
    words = ("--overwrite", "always", "--delete")
    plan = run("restore", "s0", "--to", target, *words, "--dry-run", cwd=tree, ok=(0, 3))
    assert "delete 1," in plan.text
    done = run("restore", "s0", "--to", target, *words, "--yes", cwd=tree, ok=(0, 3))
    assert "1 deleted" in done.errors
    folding.remount()
    assert found(target) == whole


def test_two_names_that_are_one_there(workspace: Path, tree: Path, folding: Folding) -> None:
    """One of them is restored, the other told."""
    (tree / "Name").write_text("1")
    (tree / "name").write_text("2")
    run = InProcess(workspace / "repository")
    run("create", tree, "--name", "s0")
    target = folding.at / "back"
    for more in ((), ("--overwrite", "always"), ("--overwrite", "always", "--delete", "--yes")):
        done = run("restore", "s0", "--to", target, *more, cwd=tree, ok=(3,))
        assert "another name stands for the same file here" in done.errors
        folding.remount()
        assert list(found(target)) == ["name"]


def test_a_change_of_spelling_is_not_undone_by_deleting(
    workspace: Path, tree: Path, folding: Folding
) -> None:
    """What goes and what comes are one entry there: it stays, with all in it."""
    (tree / "Dir").mkdir()
    (tree / "Dir" / "x").write_text("x")
    (tree / "File").write_text("f")
    old = [tree, *tree.rglob("*")]
    for path in old:
        os.utime(path, (10**9, 10**9))
    run = InProcess(workspace / "repository")
    run("create", tree, "--name", "one")
    (tree / "Dir").rename(tree / "dir")
    (tree / "File").rename(tree / "file")
    os.utime(tree, (10**9, 10**9))
    run("create", tree, "--name", "two")
    subprocess.run(["cp", "-a", f"{tree}/.", folding.at / "back"], check=True)
    run("roots", "move", "tree", folding.at / "back")
    run("revert", "tree@one..two", "--yes")
    folding.remount()
    assert found(folding.at / "back") == {"dir": "directory", "dir/x": "x", "file": "f"}
