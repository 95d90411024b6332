"""Bars: how large something is beside others of its kind, for those who would rather look than read.

Only on a terminal: what goes into a pipe or a file has none. Where the locale is not UTF-8 they are ASCII.
"""

from __future__ import annotations

from collections.abc import Sequence

from snapfs.cli.frame.streams import speaks_utf8

LEAST = 6
"""Columns below which a bar says nothing."""
MOST = 24

_FILLS = "█░"
_ASCII_FILLS = "#-"


def bar(parts: Sequence[int], scale: int, columns: int) -> str:
    """One or two parts end to end; ``scale`` is what takes all of ``columns``.

    A part that is not 0 takes a column at least where there is room for it, so that it is seen.
    """
    fills = _FILLS if speaks_utf8() else _ASCII_FILLS
    whole = sum(parts)
    if whole <= 0 or scale <= 0:
        return ""
    length = max(1, _share(whole, scale, columns))
    first = _share(parts[0], whole, length)
    if len(parts) > 1 and length > 1:
        first = min(max(first, int(parts[0] > 0)), length - int(parts[1] > 0))
    return fills[0] * first + fills[1] * (length - first)


def _share(part: int, whole: int, columns: int) -> int:
    """Columns for a part, to the nearest; integers, because sizes pass what a float can tell apart."""
    return min(columns, (2 * part * columns + whole) // (2 * whole))
