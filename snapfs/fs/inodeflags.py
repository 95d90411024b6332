"""Inode flags (``chattr``) that a restore reproduces."""

from __future__ import annotations

import errno
import fcntl
import struct

SYNC = 0x08
IMMUTABLE = 0x10
APPEND = 0x20
NODUMP = 0x40
NOATIME = 0x80
DIRSYNC = 0x10000
NOCOW = 0x800000
FLAG_MASK = SYNC | IMMUTABLE | APPEND | NODUMP | NOATIME | DIRSYNC | NOCOW
"""The flags that are kept. Others describe how the filesystem stores the inode."""

LOCKING = IMMUTABLE | APPEND
"""Flags that forbid changing the inode (for a directory: its names) even to root."""

# _IOR('f', 1, long) and _IOW('f', 2, long) on 64-bit Linux; the kernel moves 32 bits all the same.
_GETFLAGS = 0x80086601
_SETFLAGS = 0x40086602
_ROOM = bytes(8)
_UNSUPPORTED = frozenset((errno.ENOTTY, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EPERM))


def get_flags(fd: int) -> int:
    """The kept flags of an open file or directory; 0 where the filesystem has none."""
    try:
        return _raw(fd) & FLAG_MASK
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return 0
        raise


def set_flags(fd: int, flags: int) -> None:
    """Make the kept flags exactly ``flags``; the filesystem's own stay.

    Raises OSError (EPERM without the privilege, EOPNOTSUPP or ENOTTY where there are none).
    """
    now = _raw(fd)
    wanted = now & ~FLAG_MASK | flags & FLAG_MASK
    if wanted != now:
        fcntl.ioctl(fd, _SETFLAGS, struct.pack("Ixxxx", wanted))


def _raw(fd: int) -> int:
    return int.from_bytes(fcntl.ioctl(fd, _GETFLAGS, _ROOM), "little")
