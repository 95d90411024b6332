"""Which worker reads which files, so that each has as much to do and copies meet.

A worker stores no block twice, but knows nothing of the other's blocks: files that may have the same
bytes go to one worker, those of a later window to the one that had their like before.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from zlib import crc32

from snapfs.blocks.chunker import WHOLE_MAX
from snapfs.model.toread import ToRead

_TINY = 512
"""Smaller files save nothing, and a million of one size are to be shared out."""
_FILE_COST = 10_000
"""What opening and looking at a file takes, in bytes that could be stored meanwhile."""


class Shares:
    """Divides files between workers. Remembers some hundred thousand sorts of files at most."""

    def __init__(self, workers: int) -> None:
        self._owner: dict[int, int] = {}
        self._loads = [0] * workers

    def divide(self, files: Sequence[ToRead]) -> list[list[ToRead]]:
        """A share for each worker, in the order given."""
        loads, owner = self._loads, self._owner
        costs: dict[int, int] = {}
        sorts: list[int] = []
        for item in files:
            size = item.size
            sort = size if _TINY <= size <= WHOLE_MAX else _sort(item)
            sorts.append(sort)
            costs[sort] = costs.get(sort, 0) + size + _FILE_COST
        new: list[tuple[int, int]] = []
        for sort, cost in costs.items():
            number = owner.get(sort)
            if number is None:
                new.append((cost, sort))
            else:
                loads[number] += cost
        # The largest first: the many small ones then even out what they leave.
        for cost, sort in sorted(new, key=itemgetter(0), reverse=True):
            number = loads.index(min(loads))
            owner[sort] = number
            loads[number] += cost
        shares: list[list[ToRead]] = [[] for _ in loads]
        for item, sort in zip(files, sorts, strict=True):
            shares[owner[sort]].append(item)
        return shares


def _sort(item: ToRead) -> int:
    """A number for tiny files and for large ones, of which parts may be the same if they have one name;
    all others have that of their size.
    """
    if item.size < _TINY:
        return item.seq % _TINY
    return WHOLE_MAX + 1 + crc32(item.name) % WHOLE_MAX
