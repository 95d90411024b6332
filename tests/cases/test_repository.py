"""Case 49: a full disk (50 is tests/crash, 51 tests/concurrency, 52 tests/damage)."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness.filesystems import unmount
from tests.harness.output import names
from tests.harness.program import Program
from tests.harness.require import need_root
from tests.harness.trees import assert_same, survey

MIB = 1 << 20


def free_bytes(place: Path) -> int:
    """Bytes an unprivileged process may still write."""
    stat = os.statvfs(place)
    return stat.f_bavail * stat.f_frsize


def fill(place: Path) -> Path:
    """Write a file until nothing at all is left."""
    path = place / "filler"
    with path.open("ab", buffering=0) as file:
        for size in (MIB, 4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    return path


@pytest.fixture(params=["ext4", "xfs", "btrfs", "tmpfs"])
def disk(request: pytest.FixtureRequest, small_filesystem: Callable[..., Path]) -> Iterator[Path]:
    """A small filesystem of each kind."""
    yield small_filesystem(request.param, 96 * MIB)


def test_case_49_disk_full(
    request: pytest.FixtureRequest, disk: Path, snapfs: Program, workspace: Path, tree: Path
) -> None:
    full = Program(repository=disk / "repository", home=snapfs.home)
    for number in range(40):
        (tree / f"f{number}").write_bytes(os.urandom(50_000))
    states = []
    for name in ("s0", "s1", "s2"):
        (tree / "own").write_bytes(os.urandom(2 * MIB))
        states.append(survey(tree))
        full.create(tree, name)
    before = free_bytes(disk)
    (tree / "huge").write_bytes(os.urandom(max(before, 90 * MIB) + 8 * MIB))
    failed = full.create(tree, "too-much", ok=(1,))
    assert "space" in failed.errors.lower()
    assert len(failed.errors.strip().splitlines()) <= 5
    # btrfs keeps the chunks of metadata that it allocated on the way.
    kept = 12 * MIB if "btrfs" in request.node.name else 4 * MIB
    assert free_bytes(disk) > before - kept, "a create that failed gives its space back"
    (tree / "huge").unlink()

    filler = fill(disk)
    listing = full("list", "--json", cwd=tree)
    assert all(name in listing.text for name in ("s0", "s1", "s2"))
    assert "too-much" not in listing.text
    full("ls", "s1:", cwd=tree)
    full.restore("s1", workspace / "r1", cwd=tree)
    assert_same(states[1], survey(workspace / "r1"))
    full("delete", "s1", "--yes", cwd=tree)
    full("delete", "s0", "--yes", cwd=tree)
    assert "s1" not in names(full("list", "--json", cwd=tree))
    full.restore("s2", workspace / "r2", cwd=tree)
    assert_same(states[2], survey(workspace / "r2"))
    filler.unlink()
    full.verify(cwd=tree)
    (tree / "more").write_bytes(b"more")
    full.create(tree, "s3")
    full.restore("s3", workspace / "r3", cwd=tree)
    assert_same(survey(tree), survey(workspace / "r3"))


def test_restore_target_full(
    snapfs: Program, workspace: Path, tree: Path, small_filesystem: Callable[..., Path]
) -> None:
    """A restore that meets a full disk says so, leaves no half file under a final name, and is resumed."""
    disk = small_filesystem("ext4", 24 * MIB)
    for number in range(30):
        (tree / f"f{number:02d}").write_bytes(os.urandom(MIB))
    state = survey(tree)
    snapfs.create(tree, "s0")
    target = disk / "target"
    failed = snapfs.restore("s0", target, ok=(1, 3))
    assert "space" in failed.errors.lower()
    for path in target.iterdir():
        if path.name in os.listdir(tree):
            assert path.read_bytes() in (b"", (tree / path.name).read_bytes()), path
    # In place over a tree on a full disk: what was there stays or is replaced as a whole.
    other = small_filesystem("ext4", 48 * MIB)
    snapfs("restore", "s0", "--to", other / "target")
    live = other / "target"
    for path in live.iterdir():
        path.write_bytes(b"live " + path.name.encode())
    fill(other)
    failed = snapfs("restore", "s0", "--to", live, "--overwrite", "always", ok=(1, 3))
    for path in live.iterdir():
        assert path.read_bytes() in (
            b"live " + path.name.encode(),
            (tree / path.name).read_bytes(),
        ), path
    (other / "filler").unlink()
    snapfs("restore", "s0", "--to", live, "--overwrite", "if-changed", "--delete", "--yes")
    assert_same(state, survey(live))


def on_small_disk(disk: Path, snapfs: Program, tree: Path, *names: str) -> Program:
    """With a repository on ``disk`` that has these snapshots of one file that changes."""
    full = Program(repository=disk / "repository", home=snapfs.home)
    for name in names:
        (tree / "file").write_bytes(os.urandom(2 * MIB))
        full.create(tree, name)
    return full


@pytest.mark.parametrize("kind", ["ext4", "btrfs", "tmpfs"])
def test_the_reserve_is_for_what_makes_room(
    kind: str, small_filesystem: Callable[..., Path], snapfs: Program, tree: Path
) -> None:
    """Only a delete spends it: whatever else failed on the full disk before, one can still delete."""
    disk = small_filesystem(kind, 160 * MIB)
    full = on_small_disk(disk, snapfs, tree, "s0", "s1", "s2")
    fill(disk)
    reserve = full.repository / "reserve"
    held = reserve.stat().st_blocks
    assert held
    for words in (("tag", "s0", "t"), ("create", tree), ("pin", "s1"), ("rename", "s1", "new")):
        failed = full(*words, cwd=tree, ok=(1,))
        assert "no space left" in failed.errors
        assert reserve.stat().st_blocks == held
    full("list", cwd=tree)
    full("delete", "s0", "--yes", cwd=tree)
    assert names(full("list", "--json", cwd=tree)) == ["s1", "s2"]


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_the_reserve_is_made_again_from_what_it_left(
    kind: str, small_filesystem: Callable[..., Path], snapfs: Program, tree: Path
) -> None:
    """A delete that frees nothing, and a restore in place that spent it, leave room for the next delete."""
    disk = small_filesystem(kind, 320 * MIB)
    (tree / "kept").write_bytes(os.urandom(MIB))
    full = on_small_disk(disk, snapfs, tree, "s0", "s1", "s2")
    fill(disk)
    full("restore", "s1", "--in-place", "--yes", "--no-safety", cwd=tree)
    fill(disk)
    full("delete", "s1", "--yes", cwd=tree)
    fill(disk)
    full("delete", "s0", "--yes", cwd=tree)
    assert names(full("list", "--json", cwd=tree)) == ["s2"]
    full.verify(cwd=tree)


@pytest.mark.parametrize("kind", ["ext4", "btrfs", "tmpfs"])
def test_a_full_disk_without_a_reserve_kills_nothing(
    kind: str, small_filesystem: Callable[..., Path], snapfs: Program, tree: Path
) -> None:
    disk = small_filesystem(kind, 160 * MIB)
    full = on_small_disk(disk, snapfs, tree, "s0", "s1")
    (full.repository / "reserve").unlink()
    filler = fill(disk)
    for words in (("delete", "s0", "--yes"), ("create", tree), ("tag", "s0", "t")):
        assert "no space left" in full(*words, cwd=tree, ok=(1,)).errors
    filler.unlink()
    full("delete", "s0", "--yes", cwd=tree)
    full.verify(cwd=tree)


def test_a_create_that_found_no_room_is_recorded(
    small_filesystem: Callable[..., Path], snapfs: Program, tree: Path
) -> None:
    disk = small_filesystem("ext4", 96 * MIB)
    full = on_small_disk(disk, snapfs, tree, "s0")
    (tree / "huge").write_bytes(os.urandom(100 * MIB))
    full.create(tree, "too-much", ok=(1,))
    assert "no space left" in full("runs", "--failed", cwd=tree).text


def test_a_disk_without_inodes_is_named(snapfs: Program, tree: Path, workspace: Path) -> None:
    """However much room there is: a repository whose files cannot be made says so, and works again after."""
    (tree / "a").write_text("a")
    place = workspace / "disk"
    place.mkdir()
    need_root()
    mount = ("mount", "-t", "tmpfs", "-o", "size=100M,nr_inodes=64", "snapfs-test", place)
    subprocess.run(mount, check=True)
    try:
        run = Program(repository=place / "repository", home=snapfs.home)
        run.create(tree, "one")
        fillers = []
        with contextlib.suppress(OSError):
            for number in range(1000):
                (place / f"x{number}").touch()
                fillers.append(place / f"x{number}")
        for words in (("create", tree), ("delete", "tree@one", "--yes"), ("rebuild-catalog",)):
            assert "no inode left" in run(*words, ok=(1,)).errors, words
        run("list")
        run("restore", "tree@one", "--to", workspace / "to")
        for filler in fillers:
            filler.unlink()
        run.create(tree, "two")
        run("verify", "--data")
    finally:
        unmount(place)
