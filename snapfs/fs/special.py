"""Making pipes, sockets and devices, without opening them."""

from __future__ import annotations

import os

from snapfs.model.kinds import FORMAT_OF_KIND


def make_node(name: bytes, dir_fd: int, kind: int, mode: int, rdev: int) -> None:
    """Make a pipe, socket or device of ``model.kinds.Kind`` ``kind``; only root makes devices."""
    os.mknod(name, FORMAT_OF_KIND[kind] | mode, rdev, dir_fd=dir_fd)
