"""A directory's children as they will be: what the head has, and what is staged of it, in one order of names."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any

from snapfs.model.kinds import Kind

TreeRow = tuple[Any, ...]
"""A child as ``blocks.treedigest`` wants it, and the row that staged it (0: none)."""

_DIR = int(Kind.DIR)
_AT_ONCE = 1024
"""Children that are merged at once."""


def completed(rows: Iterable[TreeRow], made: Mapping[int, bytes]) -> Iterator[TreeRow]:
    """Rows with the tree digests in ``made``, by row of the stage, in place of those not stored yet."""
    for row in rows:
        if row[1] == _DIR and row[14] in made:
            yield (*row[:12], made[row[14]], row[13], row[14])
        else:
            yield row


def pieces(
    rows: sqlite3.Cursor, see: Callable[[list[TreeRow]], None] | None = None
) -> Iterator[list[TreeRow]]:
    """Rows some at a time, each shown to ``see`` before."""
    while piece := rows.fetchmany(_AT_ONCE):
        if see is not None:
            see(piece)
        yield piece


def merged(kept: Iterable[list[TreeRow]], staged: Iterator[TreeRow]) -> Iterator[TreeRow]:
    """Merge what the head has in a directory with what is staged of it, both by name."""
    new = next(staged, None)
    for rows in kept:
        last = rows[-1][0]
        if new is not None and new[0] <= last:
            by_name = {row[0]: row for row in rows}
            while new is not None and new[0] <= last:
                if new[1] is not None:
                    by_name[new[0]] = new
                else:
                    by_name.pop(new[0], None)
                new = next(staged, None)
            rows = sorted(by_name.values(), key=itemgetter(0))
        yield from rows
    while new is not None:
        if new[1] is not None:
            yield new
        new = next(staged, None)
