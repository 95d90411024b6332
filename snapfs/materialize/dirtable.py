"""Directories of a run by number, in little memory, and descriptors for them.

A number says which directory an entry is in, in the parent and in every worker: 12 bytes and the name for
each, where a path would repeat its ancestors. Numbers are given in depth-first order, 0 is the target.
"""

from __future__ import annotations

import os
import resource
from array import array
from typing import NamedTuple

from snapfs.fs.handles import open_dir

TOP = 0
_SPARE_DESCRIPTORS = 64
_CHECKPOINTS = 48
_MAX_OPEN = 16384


class NewDirs(NamedTuple):
    """Directories that another process has still to learn of: their parents' numbers, their names."""

    parents: bytes
    names: bytes


class DirTable:
    """Parent and name of each directory."""

    def __init__(self) -> None:
        self._parents = array("I", [TOP])
        self._ends = array("Q", [0])
        self._names = bytearray()

    def __len__(self) -> int:
        return len(self._parents)

    def add(self, parent: int, name: bytes) -> int:
        """Number of a new directory."""
        self._parents.append(parent)
        self._names += name
        self._ends.append(len(self._names))
        return len(self._parents) - 1

    def parent(self, number: int) -> int:
        """Number of the directory that holds it; the target's is its own."""
        return self._parents[number]

    def name(self, number: int) -> bytes:
        """Its name; empty for the target."""
        return bytes(self._names[self._ends[number - 1] : self._ends[number]]) if number else b""

    def parts(self, number: int) -> tuple[bytes, ...]:
        """Names from the target down to it."""
        names = []
        while number != TOP:
            names.append(self.name(number))
            number = self._parents[number]
        return tuple(reversed(names))

    def path(self, number: int, name: bytes = b"") -> bytes:
        """Path from the target of the directory, or of the entry ``name`` in it."""
        parts = self.parts(number)
        return b"/".join((*parts, name) if name else parts)

    def since(self, count: int) -> NewDirs:
        """Those with numbers from ``count`` on (> 0)."""
        names = (self.name(number) for number in range(count, len(self)))
        return NewDirs(self._parents[count:].tobytes(), b"/".join(names))

    def learn(self, new: NewDirs) -> None:
        """Add what `since` of another table gave."""
        parents = array("I")
        parents.frombytes(new.parents)
        for parent, name in zip(parents, new.names.split(b"/") if parents else (), strict=True):
            self.add(parent, name)


class DirCache:
    """Open directories by number. Every component is opened without following symlinks.

    Closes those used longest ago when there are too many. A chain deeper than the cache is entered at
    checkpoints, so that going through it in order does not begin at the top each time.
    """

    def __init__(self, top_fd: int, table: DirTable, capacity: int) -> None:
        """``top_fd`` stays the caller's."""
        self._top_fd = top_fd
        self._table = table
        self._capacity = max(capacity, _CHECKPOINTS + 16)
        self._open: dict[int, int] = {}

    def fd(self, number: int) -> int:
        """A descriptor, valid until the next call; raises OSError."""
        if number == TOP:
            return self._top_fd
        fd = self._open.pop(number, None)
        if fd is None:
            fd = self._walk_down(number)
            self._keep(number, fd)
        else:
            self._open[number] = fd
        return fd

    def close(self) -> None:
        """Close all but the top."""
        for fd in self._open.values():
            os.close(fd)
        self._open.clear()

    def _walk_down(self, number: int) -> int:
        chain = []
        at = number
        while at != TOP and at not in self._open:
            chain.append(at)
            at = self._table.parent(at)
        step = max(1, len(chain) // _CHECKPOINTS)
        fd = self._top_fd if at == TOP else self._open[at]
        held = True  # by the cache or the caller, not by this loop
        while chain:
            below = chain.pop()
            try:
                below_fd = open_dir(self._table.name(below), fd)
            finally:
                if not held:
                    os.close(fd)
            fd = below_fd
            held = bool(chain) and len(chain) % step == 0
            if held:
                self._keep(below, fd)
        return fd

    def _keep(self, number: int, fd: int) -> None:
        if len(self._open) >= self._capacity:
            oldest = next(iter(self._open))
            os.close(self._open.pop(oldest))
        self._open[number] = fd


def raise_descriptor_limit() -> int:
    """Let this process open as many files as it may; how many directories a cache can hold then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_OPEN + _SPARE_DESCRIPTORS
    ceiling = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    if soft != resource.RLIM_INFINITY and soft < ceiling:
        resource.setrlimit(resource.RLIMIT_NOFILE, (ceiling, hard))
        soft = ceiling
    available = ceiling if soft == resource.RLIM_INFINITY else min(soft, ceiling)
    return max(available - _SPARE_DESCRIPTORS, 64)
