"""What a reader makes of files as the walk saw them, and as they are by then."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from snapfs.capture.held import NullSink
from snapfs.capture.reader import FileRead, FileReader, Outcome
from snapfs.model.toread import ToRead
from tests.harness.inprocess import InProcess


def as_seen(path: Path, directory: bytes, *, dev: int | None = None) -> ToRead:
    """What the walk passes on of a file, which may have been on another filesystem."""
    st = path.stat()
    return ToRead(
        1, directory, os.fsencode(path.name), st.st_size, *divmod(st.st_mtime_ns, 10**9),
        *divmod(st.st_ctime_ns, 10**9), st.st_dev if dev is None else dev, st.st_ino, 1, 0,
    )  # fmt: skip


@pytest.mark.parametrize("size", [10, 3_000_000])
@pytest.mark.parametrize("attribute", [False, True])
def test_a_directory_that_became_a_symlink_leads_nowhere(
    size: int, attribute: bool, workspace: Path
) -> None:
    """Inode numbers of another filesystem are no proof: somebody may have made them equal."""
    outside = workspace / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(os.urandom(size))
    if attribute:
        os.setxattr(outside / "secret", "user.x", b"1")
    tree = workspace / "tree"
    tree.mkdir()
    (tree / "d").symlink_to(outside)
    item = as_seen(outside / "secret", b"d", dev=outside.stat().st_dev + 1)
    top = os.open(tree, os.O_RDONLY)
    try:
        done = FileReader(top, NullSink(), None, lambda _: None).read([item])
    finally:
        os.close(top)
    assert done.plain == []
    ((_, found),) = done.special
    assert isinstance(found, FileRead)
    assert (found.outcome, found.digest) == (Outcome.VANISHED, None)


@pytest.mark.parametrize("became", ["socket", "pipe", "directory", "link", "nothing"])
def test_a_file_that_became_something_else_is_gone(became: str, workspace: Path) -> None:
    tree = workspace / "tree"
    tree.mkdir()
    (tree / "file").write_text("x")
    item = as_seen(tree / "file", b"")
    (tree / "file").unlink()
    if became == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.fspath(tree / "file"))
    elif became == "pipe":
        os.mkfifo(tree / "file")
    elif became == "directory":
        (tree / "file").mkdir()
    elif became == "link":
        (tree / "file").symlink_to("/etc/passwd")
    top = os.open(tree, os.O_RDONLY)
    try:
        done = FileReader(top, NullSink(), None, lambda _: None).read([item])
    finally:
        os.close(top)
    assert [found.outcome for _, found in done.special] == [Outcome.VANISHED]


def test_holes_that_the_count_of_blocks_hides(run: InProcess, tree: Path, workspace: Path) -> None:
    """Blocks are also counted for extended attributes, and for what is allocated beyond the end."""
    with (tree / "attributed").open("wb") as file:
        file.truncate(4096)
    os.setxattr(tree / "attributed", "user.a", b"x" * 2000)
    with (tree / "allocated").open("wb") as file:
        file.write(b"x")
        file.truncate(1 << 20)
    subprocess.run(["fallocate", "-n", "-o", "1M", "-l", "4M", tree / "allocated"], check=True)
    with (tree / "small").open("wb") as file:
        os.pwrite(file.fileno(), b"x" * 4096, 4096)
        os.fsync(file.fileno())
    subprocess.run(["fallocate", "-n", "-o", "8K", "-l", "4K", tree / "small"], check=True)
    for name in ("attributed", "allocated", "small"):
        assert (tree / name).stat().st_blocks * 512 >= (tree / name).stat().st_size
    run("create", tree, "--name", "one")
    run("restore", "one", "--to", workspace / "to", cwd=tree)
    for name in ("attributed", "allocated", "small"):
        made = os.open(workspace / "to" / name, os.O_RDONLY)
        live = os.open(tree / name, os.O_RDONLY)
        try:
            size = os.fstat(live).st_size
            assert os.fstat(made).st_size == size
            start = os.lseek(live, 0, os.SEEK_HOLE)
            assert start < size
            assert os.lseek(made, 0, os.SEEK_HOLE) == start
        finally:
            os.close(made)
            os.close(live)


@pytest.mark.parametrize("blocks", [24, 200])
def test_a_hole_that_the_blocks_of_the_index_hide(
    blocks: int, filesystem: Callable[[str], Path], run: InProcess, workspace: Path
) -> None:
    """A file of many extents takes a block for their index, as much as one hole saves; also a large file."""
    tree = filesystem("ext4")
    hole = blocks // 2
    with (tree / "f").open("wb") as file, (tree / "beside").open("wb") as other:
        for number in range(blocks):
            if number != hole:
                os.pwrite(file.fileno(), os.urandom(4096), number * 4096)
                os.fdatasync(file.fileno())
            os.pwrite(other.fileno(), b"x" * 4096, number * 4096)
            os.fdatasync(other.fileno())
    st = (tree / "f").stat()
    assert st.st_blocks * 512 >= st.st_size == blocks * 4096
    run("create", tree, "--name", "one")
    run("restore", "one", "--to", workspace / "to", cwd=tree)
    made = os.open(workspace / "to" / "f", os.O_RDONLY)
    try:
        assert os.lseek(made, 0, os.SEEK_HOLE) == hole * 4096
        assert os.lseek(made, hole * 4096, os.SEEK_DATA) == (hole + 1) * 4096
    finally:
        os.close(made)
    assert (workspace / "to" / "f").read_bytes() == (tree / "f").read_bytes()
