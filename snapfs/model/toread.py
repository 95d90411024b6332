"""What a scan asks to be read."""

from __future__ import annotations

from typing import NamedTuple


class ToRead(NamedTuple):
    """A file whose bytes are to be read, with the stat that the scan saw."""

    seq: int
    directory: bytes
    name: bytes
    size: int
    mtime_s: int
    mtime_nsec: int
    ctime_s: int
    ctime_nsec: int
    dev: int
    ino: int
    nlink: int
    attr: int
