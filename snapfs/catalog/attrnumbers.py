"""Local numbers of sets of attributes, remembered as long as they take little room."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Attributes = tuple[int, int, int, int, bytes]
"""Mode, uid, gid, inode flags and packed extended attributes."""

_MOST_BYTES = 8 * 1024 * 1024
_COST = 200
"""What remembering a set takes beside its extended attributes."""


class AttrNumbers:
    """Gives equal sets equal numbers, or another one where it has forgotten: in a tree where every file has
    attributes of its own there is nothing to be found again.
    """

    def __init__(self, take: Callable[[], int]) -> None:
        """``take`` gives a number that nobody has."""
        self._take = take
        self._numbers: dict[Attributes, int] = {}
        self._plain: dict[int, Attributes] = {}
        self._size = 0
        self._new: list[tuple[int, Attributes]] = []
        self.new_bytes = 0
        """of extended attributes of the sets that `take_new` will give"""

    def number(self, key: Attributes) -> int:
        """The number of a set."""
        found = self._numbers.get(key)
        if found is None:
            self._size += len(key[4]) + _COST
            if self._size > _MOST_BYTES:
                self._numbers.clear()
                self._plain.clear()
                self._size = len(key[4]) + _COST
            found = self._numbers[key] = self._take()
            if not (key[3] or key[4]):
                self._plain[found] = key
            self.add(((found, key),))
        return found

    def add(self, numbered: Iterable[tuple[int, Attributes]]) -> None:
        """Sets that got their numbers, maybe elsewhere."""
        for pair in numbered:
            self._new.append(pair)
            self.new_bytes += len(pair[1][4])

    def take_new(self) -> list[tuple[int, Attributes]]:
        """Those that were added since the last time."""
        new, self._new, self.new_bytes = self._new, [], 0
        return new

    def plain(self, number: int) -> Attributes | None:
        """The set with a number if it was asked for lately, and has neither flags nor extended attributes."""
        return self._plain.get(number)
