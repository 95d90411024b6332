"""Names of a directory, however many: a few are held, the others lie in a file that has no name.

A name is gone through in order of bytes or in the order in which it was put in, as often as wanted.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import islice

from snapfs.storage.scratch import Place, ScratchFile

HELD = 32_768
"""Names that are held; a list is written out when it has more."""

_CHUNK = 512


class NameFile:
    """Lists of names, written once and read piece by piece. The file goes with this object."""

    def __init__(self) -> None:
        self._file = ScratchFile()

    def write(self, names: list[bytes]) -> list[Place]:
        """Keep a list; where its pieces are. Raises StorageFullError."""
        return [
            # Whatever a name holds, no NUL is in it.
            self._file.append(b"\0".join(names[start : start + _CHUNK]))
            for start in range(0, len(names), _CHUNK)
        ]

    def read(self, pieces: Iterable[Place]) -> Iterator[bytes]:
        """The names of a list, in its order."""
        for place in pieces:
            yield from self._file.read(place).split(b"\0")


class NameList:
    """Names in the order in which they are put in."""

    def __init__(self, names: Iterable[bytes] = ()) -> None:
        self._held: list[bytes] = []
        self._pieces: list[Place] = []
        self._file = NameFile()
        for name in names:
            self.append(name)

    def append(self, name: bytes) -> None:
        """Put one in."""
        self._held.append(name)
        if len(self._held) >= HELD:
            self._pieces += self._file.write(self._held)
            self._held.clear()

    def __iter__(self) -> Iterator[bytes]:
        if self._pieces:
            yield from self._file.read(tuple(self._pieces))
        yield from self._held


class SortedNames:
    """Names in order of their bytes."""

    def __init__(self, names: Iterable[bytes]) -> None:
        rest = iter(names)
        self._only = sorted(islice(rest, HELD))
        self._runs: list[list[Place]] = []
        self._file = NameFile()
        run = sorted(islice(rest, HELD)) if len(self._only) == HELD else []
        if run:
            self._runs.append(self._file.write(self._only))
            self._only = []
        while run:
            self._runs.append(self._file.write(run))
            run = sorted(islice(rest, HELD))

    def __bool__(self) -> bool:
        return bool(self._only or self._runs)

    def __iter__(self) -> Iterator[bytes]:
        if not self._runs:
            return iter(self._only)
        return heapq.merge(*map(self._file.read, self._runs))


class LiveNames:
    """What a live directory holds, with what is wanted in it laid beside, both in order of bytes."""

    def __init__(self, names: Iterable[bytes]) -> None:
        self._all = SortedNames(names)
        self._ahead = iter(self._all)
        self._next = next(self._ahead, None)
        self._passed = NameList()
        self._dropped: set[bytes] = set()

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._all)

    def take(self, name: bytes) -> bool:
        """This one is wanted: whether it is there. Each comes after the one before it."""
        here = self._next
        while here is not None and here < name:
            self._passed.append(here)
            here = next(self._ahead, None)
        if here != name:
            self._next = here
            return False
        self._next = next(self._ahead, None)
        return name not in self._dropped

    def drop(self, name: bytes) -> None:
        """It is no longer there."""
        self._dropped.add(name)

    def is_dropped(self, name: bytes) -> bool:
        """Whether it is no longer there."""
        return name in self._dropped

    def is_untaken(self, name: bytes) -> bool:
        """Whether a name that is there has not been wanted so far."""
        if name in self._dropped:
            return False
        if self._next is not None and name >= self._next:
            return True
        return any(passed == name for passed in self._passed)

    def untaken(self) -> Iterator[bytes]:
        """Those that have not been wanted so far, in order."""
        for name in self._passed:
            if name not in self._dropped:
                yield name
        if self._next is not None:
            for name in self._all:
                if name >= self._next and name not in self._dropped:
                    yield name
