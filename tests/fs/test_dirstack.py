"""Walking deeper than descriptors and paths reach."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from snapfs.fs.dirstack import DirStack
from snapfs.fs.handles import open_below, open_dir, open_top


def open_count() -> int:
    return len(os.listdir("/proc/self/fd"))


def nest(top: Path, depth: int) -> None:
    with DirStack(open_top(os.fsencode(top))) as stack:
        for number in range(depth):
            os.mkdir(b"d%d" % (number % 10), dir_fd=stack.fd)
            stack.push(b"d%d" % (number % 10))
        os.close(os.open(b"end", os.O_CREAT, dir_fd=stack.fd))


def test_thousands_of_levels_down_and_up(workspace: Path) -> None:
    depth = 4_000
    before = open_count()
    nest(workspace, depth)
    with DirStack(open_top(os.fsencode(workspace))) as stack:
        top = os.fstat(stack.fd).st_ino
        most = 0
        inodes = [top]
        for number in range(depth):
            stack.push(b"d%d" % (number % 10))
            inodes.append(os.fstat(stack.fd).st_ino)
            if number % 500 == 0:
                most = max(most, open_count())
        assert os.listdir(stack.fd) == ["end"]
        assert stack.depth == depth
        assert len(stack.path()) > 10_000  # PATH_MAX is 4096
        while stack.depth:
            fd = stack.pop()
            assert os.fstat(fd).st_ino == inodes[stack.depth]
        assert most < before + 80
    assert open_count() == before


def test_up_and_down_at_the_border_of_what_is_open(workspace: Path) -> None:
    nest(workspace, 20)
    with DirStack(open_top(os.fsencode(workspace)), keep_open=2) as stack:
        for number in range(10):
            stack.push(b"d%d" % number)
        for depth in (5, 9, 1, 10, 0, 3):
            while stack.depth > depth:
                stack.pop()
            while stack.depth < depth:
                stack.push(b"d%d" % stack.depth)
            assert stack.parts == tuple(b"d%d" % n for n in range(depth))


def test_a_moved_directory_does_not_lead_astray(workspace: Path) -> None:
    for path in ("a/b/c/d", "elsewhere"):
        (workspace / path).mkdir(parents=True)
    with DirStack(open_top(os.fsencode(workspace)), keep_open=2) as stack:
        for name in (b"a", b"b", b"c", b"d"):
            stack.push(name)
        inode = (workspace / "a/b").stat().st_ino
        (workspace / "a/b/c").rename(workspace / "elsewhere/c")
        stack.pop()
        assert os.fstat(stack.pop()).st_ino == inode
        assert stack.parts == (b"a", b"b")


def test_a_directory_moved_away_is_told_and_the_way_up_goes_on(workspace: Path) -> None:
    (workspace / "a/b/c/d").mkdir(parents=True)
    (workspace / "x").mkdir()
    with DirStack(open_top(os.fsencode(workspace)), keep_open=2) as stack:
        for name in (b"a", b"b", b"c", b"d"):
            stack.push(name)
        (workspace / "a/b/c").rename(workspace / "x/c")
        (workspace / "a/b").rename(workspace / "x/b")
        stack.pop()
        with pytest.raises(OSError) as caught:
            stack.pop()
        assert caught.value.errno in (errno.ENOENT, errno.ESTALE)
        assert os.fstat(stack.pop()).st_ino == (workspace / "a").stat().st_ino
        assert os.fstat(stack.pop()).st_ino == workspace.stat().st_ino


def test_symlinks_are_never_entered(workspace: Path) -> None:
    (workspace / "real").mkdir()
    (workspace / "link").symlink_to("real")
    with DirStack(open_top(os.fsencode(workspace))) as stack:
        with pytest.raises(NotADirectoryError):
            stack.push(b"link")
        assert stack.depth == 0
        with pytest.raises(NotADirectoryError):
            open_dir(b"link", stack.fd)
        with pytest.raises(NotADirectoryError):
            open_below(stack.fd, (b"link",))
        os.close(open_below(stack.fd, (b"real",)))
