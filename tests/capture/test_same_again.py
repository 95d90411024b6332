"""What is put in place again as it was is no change, whatever inode numbers it got; a directory's own
attributes are one.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
from pathlib import Path

import pytest

from tests.harness.inprocess import InProcess
from tests.harness.output import names

OLD_NS = 1_500_000_000 * 10**9


def swap(tree: Path, one: str, two: str) -> None:
    (tree / one).rename(tree / "between")
    (tree / two).rename(tree / one)
    (tree / "between").rename(tree / two)


def restore_times(tree: Path) -> None:
    for path in (*tree.iterdir(), tree):
        os.utime(path, ns=(OLD_NS, OLD_NS), follow_symlinks=False)


def taken(run: InProcess, tree: Path) -> tuple[bool, int, int, int]:
    """A snapshot if anything changed: whether nothing did, and how much is new, changed, removed."""
    done = run("create", tree, "--skip-if-unchanged", "--json").json()
    return done["unchanged"], done["new"], done["changed"], done["removed"]


@pytest.fixture
def alike(tree: Path) -> Path:
    """Files of equal size and times, two of equal content."""
    for name, text in (("a", "same"), ("b", "same"), ("c", "else")):
        (tree / name).write_text(text)
    restore_times(tree)
    return tree


def test_equal_files_that_changed_places_are_no_change(run: InProcess, alike: Path) -> None:
    run("create", alike, "--name", "one")
    swap(alike, "a", "b")
    restore_times(alike)
    assert taken(run, alike) == (True, 0, 0, 0)
    assert names(run("list", alike, "--json")) == ["one"]


def test_other_files_of_the_same_size_and_times_are(run: InProcess, alike: Path) -> None:
    run("create", alike, "--name", "one")
    swap(alike, "a", "c")
    restore_times(alike)
    assert taken(run, alike) == (False, 0, 2, 0)
    assert run("diff", "latest~1", "latest", cwd=alike).lines == ["M\ta\tcontent", "M\tc\tcontent"]
    assert run("cat", "one:a", cwd=alike).out == b"same"
    assert run("cat", "latest:a", cwd=alike).out == b"else"


def test_copies_over_files(run: InProcess, tree: Path, workspace: Path) -> None:
    """As rsync does it: each file anew, with numbers that others had before."""
    for number in range(12):
        (tree / f"f{number}").write_bytes(b"%d" % number)
    (tree / "link").symlink_to("f1")
    restore_times(tree)
    run("create", tree, "--name", "one")
    shutil.copytree(tree, workspace / "copy", symlinks=True)
    for _ in range(3):
        for path in (workspace / "copy").iterdir():
            shutil.copy2(path, tree / "new", follow_symlinks=False)
            (tree / "new").rename(tree / path.name)
    os.utime(tree, ns=(OLD_NS, OLD_NS))
    assert taken(run, tree) == (True, 0, 0, 0)


def test_a_name_of_a_linked_file_that_became_a_copy(run: InProcess, alike: Path) -> None:
    os.link(alike / "a", alike / "z")
    restore_times(alike)
    run("create", alike, "--name", "one")
    shutil.copy2(alike / "z", alike / "new")
    (alike / "new").rename(alike / "z")
    restore_times(alike)
    run("create", alike, "--name", "two")
    assert run("diff", "one", "two", cwd=alike).lines == ["M\ta\tlinks", "M\tz\tlinks"]


def test_attributes_of_a_directory_count_and_its_times_are_named(
    run: InProcess, tree: Path
) -> None:
    (tree / "d").mkdir(mode=0o755)
    restore_times(tree)
    run("create", tree)
    (tree / "d").chmod(0o700)
    done = run("create", tree)
    assert "1 changed" in done.errors, done.errors
    assert json.loads(run("show", "--json", cwd=tree).out)["modified"] == 1
    os.utime(tree / "d")
    done = run("create", tree)
    assert "only times of directories changed" in done.errors, done.errors
    time.sleep(0.01)
    done = run("create", tree)
    assert "nothing changed" in done.errors, done.errors
    assert stat.S_IMODE((tree / "d").stat().st_mode) == 0o700
