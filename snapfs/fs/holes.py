"""Where a sparse file has data."""

from __future__ import annotations

import errno
import os
from typing import NamedTuple


class Range(NamedTuple):
    """``length`` bytes at ``offset``: data, or a hole."""

    is_data: bool
    offset: int
    length: int


def may_have_holes(size: int, blocks: int) -> bool:
    """Whether ``data_ranges`` is worth asking: fewer 512-byte ``st_blocks`` are allocated than ``size`` needs.

    Compressing filesystems say yes for files without holes, which costs one question more.
    """
    return blocks * 512 < size


def data_ranges(fd: int, size: int) -> list[Range]:
    """Cover bytes 0 to ``size`` of an open file with data and holes in turn, in order.

    The file's position moves. A filesystem that cannot tell says that all is data.
    """
    ranges: list[Range] = []
    at = 0
    while at < size:
        try:
            start = min(os.lseek(fd, at, os.SEEK_DATA), size)
            end = min(os.lseek(fd, start, os.SEEK_HOLE), size) if start < size else size
        except OSError as error:
            if error.errno == errno.ENXIO:  # no data from here to the end
                start = end = size
            elif error.errno in (errno.EINVAL, errno.EOPNOTSUPP):
                start, end = at, size
            else:
                raise
        if start > at:
            ranges.append(Range(False, at, start - at))
        if end > start:
            ranges.append(Range(True, start, end - start))
        at = max(end, start)
    return ranges
