"""``..`` after a symlink is where the system finds it, in every path of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.inprocess import InProcess


@pytest.fixture
def place(workspace: Path, tree: Path) -> Path:
    (tree / "f").write_text("one")
    place = workspace / "place"
    (place / "a").mkdir(parents=True)
    (place / "a/precious").write_text("kept")
    (place / "other/b").mkdir(parents=True)
    (place / "a/link").symlink_to("../other/b")
    return place


def test_a_restore_goes_where_it_is_told(workspace: Path, tree: Path, place: Path) -> None:
    snapfs = InProcess(workspace / "repository")
    snapfs("create", tree, "--name", "s")
    words = ("restore", "tree@s", "--to", "a/link/..", "--overwrite", "always", "--delete", "-y")
    snapfs(*words, cwd=place)
    assert (place / "a/precious").read_text() == "kept"
    assert (place / "other/f").read_text() == "one"
    assert not (place / "other/b").exists()


def test_a_repository_is_one_place(tree: Path, place: Path) -> None:
    there = InProcess(Path("a/link/../new"))
    there("create", tree, "--name", "s", cwd=place)
    assert there("ls", "tree@s:", cwd=place).out == b"f\n"
    assert InProcess(place / "other/new")("ls", "tree@s:").out == b"f\n"
    assert not (place / "a/new").exists()


def test_a_path_of_the_root(workspace: Path, place: Path) -> None:
    (place / "other/f").write_text("right")
    (place / "a/f").write_text("wrong")
    snapfs = InProcess(workspace / "repository")
    snapfs("create", place, "--name", "s")
    snapfs("restore", "s", "a/link/../f", "--to", workspace / "back", cwd=place)
    assert (workspace / "back/f").read_text() == "right"
