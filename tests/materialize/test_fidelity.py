"""Everything torture.py builds comes back, on every filesystem, from any state to any other."""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from snapfs.fs.inodeflags import NOCOW
from snapfs.materialize.wanted import Overwrite
from tests.harness.require import need_root
from tests.harness.trees import (
    CHANGING,
    STEPS,
    State,
    assert_same,
    build,
    mutate,
    survey,
    unlock_and_remove,
)
from tests.materialize.conftest import Restorer
from tests.materialize.stored import store

Stored = Callable[[Path], Restorer]


@pytest.mark.parametrize("kind", ["ext4", "tmpfs", "xfs", "btrfs"])
@pytest.mark.parametrize("workers", [0, 2])
def test_whole_tree(
    filesystem: Callable[[str], Path], workspace: Path, kind: str, workers: int
) -> None:
    need_root()
    place = filesystem(kind)
    source = build(place / "source", scale=0.1)
    before = survey(source)
    restore = Restorer(store(source, workspace / "repository"))
    restore(place / "target", workers=workers)
    after = survey(place / "target")
    assert_same(before, after)
    # Holes: allocated as much, within what a filesystem rounds.
    assert after.allocated <= before.allocated * 1.05 + (1 << 20)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[State, Restorer]]:
    """The six states of the changing cases."""
    need_root()
    base = tmp_path_factory.mktemp("history")
    source = build(base / "source", *CHANGING)
    states = []
    for step in (0, *STEPS):
        if step:
            mutate(source, step)
        states.append((survey(source), Restorer(store(source, base / f"repository-{step}"))))
    unlock_and_remove(source)
    return states


@pytest.mark.parametrize(
    "terms", [(Overwrite.ALWAYS, 0), (Overwrite.IF_CHANGED, 0), (Overwrite.IF_CHANGED, 2)]
)
@pytest.mark.parametrize(("before", "after"), list(itertools.permutations(range(6), 2)))
def test_any_state_over_any_other(
    workspace: Path,
    history: list[tuple[State, Restorer]],
    before: int,
    after: int,
    terms: tuple[Overwrite, int],
) -> None:
    overwrite, workers = terms
    target = workspace / "target"
    history[before][1](target, dry=False)
    wanted, restore = history[after]
    result = restore(target, overwrite=overwrite, delete=True, workers=workers)
    assert_same(wanted, survey(target))
    assert result.overwritten


def test_over_itself_nothing_is_written(
    workspace: Path, history: list[tuple[State, Restorer]]
) -> None:
    wanted, restore = history[3]
    target = workspace / "target"
    restore(target)
    inodes = {path: os.lstat(path) for path in target.rglob("*")}
    result = restore(target, overwrite=Overwrite.IF_CHANGED, delete=True)
    assert_same(wanted, survey(target))
    assert (result.created, result.overwritten, result.deleted, result.left_alone) == (0, 0, 0, 0)
    assert result.unchanged == len(wanted.facts)
    for path, found in inodes.items():
        now = os.lstat(path)
        assert (now.st_ino, now.st_ctime_ns) == (found.st_ino, found.st_ctime_ns), path


def test_without_delete_everything_else_stays(
    workspace: Path, history: list[tuple[State, Restorer]]
) -> None:
    target = workspace / "target"
    history[0][1](target)
    (target / "chg-size/extra").mkdir()
    (target / "chg-size/extra/file").write_text("mine")
    history[0][1](target, overwrite=Overwrite.IF_CHANGED)
    assert (target / "chg-size/extra/file").read_text() == "mine"


def test_deeper_than_a_path_can_be(workspace: Path) -> None:
    source, target = workspace / "source", workspace / "target"
    source.mkdir()
    depth = 3_000  # 6,000 bytes
    fd = os.open(source, os.O_RDONLY)
    for number in range(depth):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        if number == depth // 2:
            os.symlink("x", "l", dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("first", os.O_CREAT, dir_fd=fd))
    os.link("first", "second", src_dir_fd=fd, dst_dir_fd=fd)
    os.close(fd)
    restore = Restorer(store(source, workspace / "repository"))
    before = survey(source)
    unlock_and_remove(source)
    restore(target)
    assert_same(before, survey(target))
    # And over it, with something to delete at the bottom and the whole nest to delete.
    result = restore(target, overwrite=Overwrite.IF_CHANGED, delete=True)
    assert result.unchanged == depth + 4
    empty = workspace / "empty"
    empty.mkdir()
    result = Restorer(store(empty, workspace / "repository-2"))(target, delete=True)
    assert result.deleted == depth + 3
    assert os.listdir(target) == []


def test_many_small_files_by_processes(stored: Stored, tree: Path, target: Path) -> None:
    for number in range(40):
        folder = tree / f"d{number}"
        folder.mkdir()
        for index in range(60):
            (folder / f"f{index}").write_bytes(b"%d %d" % (index, number % 3))
    result = stored(tree)(target, workers=2)
    assert result.created == 40 * 61 + 1
    assert_same(survey(tree), survey(target))


@pytest.mark.parametrize("case", [(0, False), (2, False), (2, True)])
def test_large_files_in_pieces(
    stored: Stored,
    tree: Path,
    target: Path,
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[int, bool],
) -> None:
    workers, exists = case
    need_root()
    monkeypatch.setattr("snapfs.materialize.files.LARGE_BYTES", 1 << 20)
    monkeypatch.setattr("snapfs.materialize.largefile._PIECE_BYTES", 300_000)
    (tree / "random").write_bytes(os.urandom(5_000_000))
    (tree / "zeros").write_bytes(bytes(3_000_000))
    with (tree / "holes").open("wb") as file:
        file.truncate(9_000_000)
        file.seek(4_000_000)
        file.write(b"x" * 100_000)
    os.chown(tree / "random", 1234, 4321)
    (tree / "random").chmod(0o4750)
    os.setxattr(tree / "random", "user.x", b"y")
    os.link(tree / "random", tree / "also")
    restore = stored(tree)
    if exists:
        target.mkdir()
        (target / "random").write_bytes(b"old")
        (target / "zeros").symlink_to("random")
    restore(target, workers=workers)
    assert_same(survey(tree), survey(target))


def test_sparse_leaves_zeros_out(stored: Stored, tree: Path, target: Path) -> None:
    (tree / "zeros").write_bytes(bytes(1_000_000))
    (tree / "end").write_bytes(b"x" * 300_000 + bytes(700_000))
    restore = stored(tree)
    restore(target, sparse=True)
    assert_same(survey(tree), survey(target))
    assert (target / "zeros").stat().st_blocks == 0
    assert (target / "end").stat().st_blocks < 1000
    plain = target.with_name("plain")
    restore(plain)
    assert (plain / "zeros").stat().st_blocks >= 1_000_000 // 512


def test_a_set_aside_window_is_merged(
    stored: Stored, tree: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More files than one window holds, each window using little of each segment."""
    monkeypatch.setattr("snapfs.materialize.ordering._LOOK_FILES", 20)
    monkeypatch.setattr("snapfs.materialize.ordering._WINDOW_FILES", 50)
    monkeypatch.setattr("snapfs.materialize.ordering._WORTH_DECODING", 1e9)
    monkeypatch.setattr("snapfs.materialize.ordering._CHUNK", 7)
    monkeypatch.setattr("snapfs.materialize.files._LOCATE_FILES", 20)
    monkeypatch.setattr("snapfs.materialize.files._PUMP_FILES", 10)
    for number in range(333):
        folder = tree / f"d{number % 7}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{number}").write_bytes(os.urandom(50))
    stored(tree)(target)
    assert_same(survey(tree), survey(target))


def test_no_copy_on_write_is_set_before_the_first_byte(
    filesystem: Callable[[str], Path], workspace: Path
) -> None:
    need_root()
    place = filesystem("btrfs")
    source = place / "source"
    (source / "d").mkdir(parents=True)
    for path, text in ((source / "f", "x" * 100_000), (source / "plain", "y")):
        path.touch()
        if path.name == "f":
            subprocess.run(["chattr", "+C", path, source / "d"], check=True)
        path.write_text(text)
    (source / "d/inherits").write_text("z")
    restore = Restorer(store(source, workspace / "repository"))
    before = restore.stored.entry(b"f").flags
    assert before & NOCOW
    restore(place / "target")
    after = store(place / "target", workspace / "again")
    for path in (b"f", b"d", b"d/inherits", b"plain"):
        assert after.entry(path).flags == restore.stored.entry(path).flags, path
