"""How much room a filesystem has left."""

from __future__ import annotations

import os


def free_bytes(where: int | str | bytes) -> int:
    """What an ordinary user may still write where a descriptor or path is. Raises OSError."""
    found = os.statvfs(where)
    return found.f_bavail * found.f_frsize


def no_inode_left(folder: bytes) -> bool:
    """Whether the filesystem of a folder can hold no more files, however small."""
    try:
        found = os.statvfs(folder or b".")
    except OSError:
        return False
    return found.f_files > 0 and found.f_favail == 0  # some count none at all
