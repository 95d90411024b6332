"""A restored file takes the blocks that it took: its holes are holes again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from snapfs.fs.syscalls import sync_filesystem
from tests.harness.inprocess import InProcess


def blocks(path: Path) -> int:
    with path.open("rb") as file:
        os.fsync(file.fileno())
    fd = os.open(path.parent, os.O_RDONLY)
    try:
        sync_filesystem(fd)
    finally:
        os.close(fd)
    return path.stat().st_blocks


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs"])
def test_holes_are_holes_again(
    kind: str, filesystem: Callable[[str], Path], workspace: Path
) -> None:
    place = filesystem(kind)
    tree = place / "tree"
    tree.mkdir()
    with (tree / "end").open("wb") as file:
        file.write(os.urandom(300_000))
        file.truncate(1 << 20)
    with (tree / "comb").open("wb") as file:
        file.truncate(20 * 256 * 1024)
        for tooth in range(20):
            file.seek(tooth * 256 * 1024)
            file.write(os.urandom(4096))
    before = {name: blocks(tree / name) for name in ("end", "comb")}
    run = InProcess(workspace / "repository")
    run("create", tree, "--name", "one")
    run("restore", "one", "--to", place / "beside", cwd=tree)
    for name in before:
        (tree / name).write_bytes(b"changed")
    run("restore", "one", "--in-place", "--yes", cwd=tree)
    for name, count in before.items():
        assert blocks(place / "beside" / name) <= count + 8
        assert blocks(tree / name) <= count + 8
    assert run("diff", "one", ".", cwd=tree).out == b""
