"""What a scan asks to be read."""

from __future__ import annotations

import os
from typing import NamedTuple

from snapfs.model.moment import NS


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


def to_read(directory: bytes, name: bytes, st: os.stat_result) -> ToRead:
    """One that no scan gave a number."""
    return ToRead(
        0, directory, name, st.st_size, *divmod(st.st_mtime_ns, NS), *divmod(st.st_ctime_ns, NS),
        st.st_dev, st.st_ino, st.st_nlink, 0,
    )  # fmt: skip
