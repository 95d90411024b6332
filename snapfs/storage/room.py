"""How much room a filesystem has left."""

from __future__ import annotations

import os


def free_bytes(where: int | str | bytes) -> int:
    """What an ordinary user may still write where a descriptor or path is. Raises OSError."""
    found = os.statvfs(where)
    return found.f_bavail * found.f_frsize
