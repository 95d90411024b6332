"""Making pipes, sockets and devices, and setting what such inodes and symlinks have, without opening them."""

from __future__ import annotations

import os

from snapfs.fs.handles import open_path, proc_path
from snapfs.model.kinds import FORMAT_OF_KIND


def make_node(name: bytes, dir_fd: int, kind: int, mode: int, rdev: int) -> None:
    """Make a pipe, socket or device of ``model.kinds.Kind`` ``kind``; only root makes devices."""
    os.mknod(name, FORMAT_OF_KIND[kind] | mode, rdev, dir_fd=dir_fd)


def chmod_node(name: bytes, dir_fd: int, mode: int) -> None:
    """Change the mode of an inode of any kind but a symlink, following nothing.

    fchmodat cannot do that; a descriptor that only names the inode can. Raises OSError (EOPNOTSUPP) if a
    symlink stands there.
    """
    fd = open_path(name, dir_fd)
    try:
        os.chmod(proc_path(fd), mode)
    finally:
        os.close(fd)
