"""The process that looks ahead of a walk: ``python -P -m snapfs.capture.scout``.

It goes through the same tree from its end and finds the directories below which nothing has changed;
the walk, which comes from the beginning, need not go into those. It inherits the root, knows no catalog
and decides nothing: whatever it does not vouch for is walked.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from typing import NamedTuple

from snapfs import workers
from snapfs.capture.listing import is_plain
from snapfs.fs.dirstack import DirStack
from snapfs.fs.fingerprint import glance
from snapfs.fs.handles import sorted_names
from snapfs.fs.rules import IGNORE_FILE

ENTRIES_AT_ONCE = 2000
"""Looked at between two reports."""


class Start(NamedTuple):
    """The first message: what to look at, and how it was."""

    root_fd: int
    root_inode: int
    rules_digest: bytes
    skip: frozenset[tuple[int, int]]
    """(dev, ino) of directories that are never captured"""
    sound_fd: int
    """a file with the pickled `Sound`: in a message it would have to wait until the process reads"""


Sound = dict[tuple[int, bytes], tuple[int, int]]
"""By inode of the parent and name: inode and fingerprint of each directory that has one."""


class Unchanged(NamedTuple):
    """A directory below which nothing has changed, and what is below it. Sizes in bytes."""

    inode: int
    entries: int
    files: int
    dirs: int
    total_bytes: int


class Report(NamedTuple):
    """The answer to every message after the first."""

    found: list[Unchanged]
    """those within others of the same report are not named"""
    ended: bool


class _Frame:
    __slots__ = ("below", "dirs", "entries", "files", "first", "inode", "same", "total_bytes")

    def __init__(self, inode: int, first: int) -> None:
        self.inode = inode
        self.first = first  # where what is found within it begins
        self.same = False
        self.below: Iterator[bytes] = iter(())
        self.entries = self.files = self.dirs = self.total_bytes = 0


class Scout:
    """One walk from the end."""

    def __init__(self, start: Start) -> None:
        """Takes over both descriptors."""
        self._start = start
        with open(start.sound_fd, "rb") as file:
            file.seek(0)
            self._sound: Sound = pickle.load(file)
        self._device = os.fstat(start.root_fd).st_dev
        self._stack = DirStack(start.root_fd)
        self._found: list[Unchanged] = []
        self._frames = [_Frame(start.root_inode, 0)]
        self._looked = 0
        self._look(self._frames[0], None)

    def go_on(self) -> Report:
        """Look at some more. OSError if the way back up is gone: then there is no more to say."""
        self._looked = 0
        while self._frames and self._looked < ENTRIES_AT_ONCE:
            frame = self._frames[-1]
            name = next(frame.below, None)
            if name is None:
                self._leave(frame)
            else:
                self._descend(frame, name)
        found, self._found = self._found, []
        for frame in self._frames:
            frame.first = 0
        return Report(found, not self._frames)

    def _descend(self, above: _Frame, name: bytes) -> None:
        known = self._sound.get((above.inode, name))
        if known is None:
            above.same = False
            return
        try:
            self._stack.push(name)
        except OSError:
            above.same = False
            return
        frame = _Frame(known[0], len(self._found))
        self._frames.append(frame)
        self._look(frame, known[1])

    def _look(self, frame: _Frame, fingerprint: int | None) -> None:
        """What is out of the ordinary is left to the walk, with all that is below it."""
        fd = self._stack.fd
        try:
            names = sorted_names(fd)
        except OSError:
            return
        self._looked += len(names) + 1
        if IGNORE_FILE in names or not is_plain(names):
            return
        seen = glance(fd, names, self._start.rules_digest, self._start.skip)
        if seen is None:
            return
        frame.same = fingerprint == seen.value
        frame.entries, frame.files = seen.entries, seen.files
        frame.dirs, frame.total_bytes = len(seen.directories), seen.total_bytes
        below = [name for name, st in seen.directories if st.st_dev == self._device]
        frame.same = frame.same and len(below) == frame.dirs
        frame.below = reversed(below)

    def _leave(self, frame: _Frame) -> None:
        self._frames.pop()
        if not self._frames:
            return
        above = self._frames[-1]
        if frame.same:
            del self._found[frame.first :]
            self._found.append(
                Unchanged(frame.inode, frame.entries, frame.files, frame.dirs, frame.total_bytes)
            )
            above.entries += frame.entries
            above.files += frame.files
            above.dirs += frame.dirs
            above.total_bytes += frame.total_bytes
        else:
            above.same = False
        self._stack.pop()


class _Service:
    def __init__(self) -> None:
        self._scout: Scout | None = None

    def handle(self, message: Start | None) -> Report | None:
        """Start, or None to go on."""
        if message is not None:
            self._scout = Scout(message)
            return None
        assert self._scout is not None
        return self._scout.go_on()


def main() -> None:
    """Serve until the pipe ends."""
    workers.serve(_Service().handle)


if __name__ == "__main__":
    # Through the module's own name, so that the classes in messages are the parent's.
    from snapfs.capture import scout  # noqa: PLW0406

    scout.main()
