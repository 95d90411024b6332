"""Kinds and states of inodes, as stored in the catalog and in every format."""

from __future__ import annotations

import stat
from enum import IntEnum


class Kind(IntEnum):
    """Type of an inode."""

    FILE = 1
    DIR = 2
    SYMLINK = 3
    FIFO = 4
    SOCKET = 5
    CHAR = 6
    BLOCK = 7


class State(IntEnum):
    """How far the record of an inode can be trusted.

    ``UNREAD``: attributes are known, content (or children) could not be read.
    ``RACY``: it may have changed since within the clock's granularity, so the next scan rereads it.
    """

    OK = 0
    UNREAD = 1
    RACY = 2


KIND_OF_FORMAT: dict[int, Kind] = {
    stat.S_IFREG: Kind.FILE,
    stat.S_IFDIR: Kind.DIR,
    stat.S_IFLNK: Kind.SYMLINK,
    stat.S_IFIFO: Kind.FIFO,
    stat.S_IFSOCK: Kind.SOCKET,
    stat.S_IFCHR: Kind.CHAR,
    stat.S_IFBLK: Kind.BLOCK,
}
FORMAT_OF_KIND: dict[int, int] = {int(kind): fmt for fmt, kind in KIND_OF_FORMAT.items()}
KIND_NAMES: dict[int, str] = {
    Kind.FILE: "file",
    Kind.DIR: "dir",
    Kind.SYMLINK: "symlink",
    Kind.FIFO: "fifo",
    Kind.SOCKET: "socket",
    Kind.CHAR: "chardev",
    Kind.BLOCK: "blockdev",
}
