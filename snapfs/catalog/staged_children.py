"""A directory's children as they will be: what the head has, and what is staged of it, in one order of names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
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


def pieces(rows: Iterator[TreeRow]) -> Iterator[list[TreeRow]]:
    """Rows some at a time."""
    while piece := list(islice(rows, _AT_ONCE)):
        yield piece


def beside(
    kept: Iterator[TreeRow], staged: Iterator[TreeRow]
) -> Iterator[tuple[list[TreeRow], list[TreeRow]]]:
    """What the head has in a directory, piece by piece, and what is staged of it up to the last name of
    the piece, both by name. A staged row without a kind takes its name away.
    """
    new = next(staged, None)
    for rows in pieces(kept):
        last = rows[-1][0]
        between: list[TreeRow] = []
        while new is not None and new[0] <= last:
            between.append(new)
            new = next(staged, None)
        yield rows, between
    if new is not None:
        for rows in pieces(chain((new,), staged)):
            yield [], rows
