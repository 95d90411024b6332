"""Which worker reads which files, so that each has as much to do and copies meet.

A worker stores no block twice, but knows nothing of the other's blocks: files that may have the same
bytes go to one worker, those of a later window to the one that had their like before.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from zlib import crc32

from snapfs.blocks.chunker import WHOLE_MAX
from snapfs.model.toread import ToRead

_TINY = 512
"""Smaller files save nothing, and a million of one size are to be shared out."""
_KEYS = 1 << 16
"""Kinds of files that are told apart: bounds what is remembered."""
_FILE_COST = 10_000
"""What opening and looking at a file takes, in bytes that could be stored meanwhile."""


class Shares:
    """Divides files between workers."""

    def __init__(self, workers: int) -> None:
        self._owner: dict[int, int] = {}
        self._loads = [0] * workers

    def divide(self, files: Iterable[ToRead]) -> list[list[ToRead]]:
        """A share for each worker, in the order given."""
        loads, owner = self._loads, self._owner
        alike: dict[int, int] = {}
        keys: list[int] = []
        files = list(files)
        for item in files:
            key = _likeness(item)
            keys.append(key)
            alike[key] = alike.get(key, 0) + item.size + _FILE_COST
        new: list[tuple[int, int]] = []
        for key, cost in alike.items():
            number = owner.get(key)
            if number is None:
                new.append((cost, key))
            else:
                loads[number] += cost
        # The largest first: the many small ones then even out what they leave.
        for cost, key in sorted(new, key=itemgetter(0), reverse=True):
            number = loads.index(min(loads))
            owner[key] = number
            loads[number] += cost
        shares: list[list[ToRead]] = [[] for _ in loads]
        for item, key in zip(files, keys, strict=True):
            shares[owner[key]].append(item)
        return shares


def _likeness(item: ToRead) -> int:
    """Equal for files that may have the same bytes: of one size; large ones, of which parts may be the
    same, and tiny ones of one name.
    """
    by_size = _TINY <= item.size <= WHOLE_MAX
    return crc32(item.size.to_bytes(8, "little") if by_size else item.name) % _KEYS
