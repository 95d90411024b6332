"""Names of files that are not finished: recognisable, so that a later run removes what a killed one left.

A finished entry takes its final name by rename. Whoever writes a regular file under a temporary name
holds an flock on it, so a name whose lock can be taken belongs to nobody.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import stat

from snapfs.fs.handles import FILE_FLAGS

_PREFIX = b".snapfs-tmp-"
_PATTERN = re.compile(rb"\.snapfs-tmp-[0-9a-f]{16}", re.DOTALL)


def new_name() -> bytes:
    """A fresh temporary name of 28 bytes, whatever the length of the final one."""
    return _PREFIX + secrets.token_hex(8).encode()


def is_temporary(name: bytes) -> bool:
    """Whether ``name`` has the form that `new_name` gives."""
    return _PATTERN.fullmatch(name) is not None


def hold(fd: int) -> None:
    """Mark an open temporary file as in use until it is closed (where the filesystem has locks)."""
    with contextlib.suppress(OSError):
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_abandoned(name: bytes, dir_fd: int) -> bool:
    """Remove a temporary entry unless a living process holds it; whether it is gone.

    Only regular files can be held: other kinds are made and renamed in one breath, and their makers try
    again. A directory is never removed. Raises OSError.
    """
    found = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    if stat.S_ISDIR(found.st_mode):
        return False
    if stat.S_ISREG(found.st_mode):
        fd = os.open(name, FILE_FLAGS, dir_fd=dir_fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(fd)
    os.unlink(name, dir_fd=dir_fd)
    return True
