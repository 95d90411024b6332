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


def has_holes(fd: int, size: int) -> bool:
    """Whether there is a hole in the first ``size`` bytes of an open file, whose position moves.

    ``st_blocks`` does not tell: it also counts what lies beyond the size, extended attributes and the index
    of extents.
    """
    try:
        return os.lseek(fd, 0, os.SEEK_HOLE) < size
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.EINVAL, errno.EOPNOTSUPP):
            return False  # it is empty by now, or nobody can tell
        raise


def sparse_ranges(fd: int, size: int) -> list[Range]:
    """What `data_ranges` tells of an open file, nothing if there is no hole in it."""
    if not has_holes(fd, size):
        return []
    ranges = data_ranges(fd, size)
    return [] if all(part.is_data for part in ranges) else ranges


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
