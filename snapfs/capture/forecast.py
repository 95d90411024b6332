"""What a first snapshot has to go through, counted beside it: without that no time left could be told.

It looks at the same names by the same rules and reads nothing. A thread is enough: it waits for the
kernel most of the time.
"""

from __future__ import annotations

import os
from threading import Event, Thread
from typing import Any

from snapfs.capture.seen import Frame, ScanOptions
from snapfs.capture.walk import Walk
from snapfs.catalog.stagerows import Lost, StagedFile
from snapfs.errors import SnapfsError
from snapfs.fs.dirstack import DirStack
from snapfs.fs.matching import RuleMatcher
from snapfs.fs.rules import Rules
from snapfs.progress import NullProgress


class Forecast:
    """A count under way. `close` must be called."""

    def __init__(self, root_fd: int, rules: Rules, options: ScanOptions) -> None:
        """``root_fd`` stays the caller's."""
        self.totals: tuple[int, int] | None = None
        """entries, and bytes of the files, also of those that are read later; None: not known yet"""
        self._ended = Event()
        args = (os.dup(root_fd), rules, options)
        Thread(target=self._count, args=args, daemon=True).start()

    def _count(self, root_fd: int, rules: Rules, options: ScanOptions) -> None:
        count = _Count(rules, options, self._ended)
        try:
            self.totals = count.run(root_fd)
        except (OSError, SnapfsError):
            return  # the survey meets the same, and says so

    def close(self) -> None:
        """End it. It is not waited for: it may hang in a system call, as whoever surveys may."""
        self._ended.set()


class _Count(Walk):
    def __init__(self, rules: Rules, options: ScanOptions, ended: Event) -> None:
        matcher = RuleMatcher(rules, problem=_say_nothing)
        super().__init__(_Nowhere(), matcher, options, 0, progress=NullProgress())
        self._ended = ended
        self._bytes = 0

    def run(self, root_fd: int) -> tuple[int, int] | None:
        """Takes over ``root_fd``. None if it was ended before."""
        with DirStack(root_fd) as self._stack:
            top = Frame()
            top.st = os.fstat(root_fd)
            self.totals.root_dev = top.st.st_dev
            self.totals.entries = 1
            self._frames = [top]
            self._enter(top)
            while self._frames:
                if self._ended.is_set():
                    return None
                self._go_on()
        return self.totals.entries, self._bytes

    def _stage(self, frame: Frame, fd: int, names: list[bytes]) -> None:
        below: list[tuple[Any, ...]] = []
        for name, st in self._seen(frame, fd, names):
            self.totals.entries += 1
            kind = st.st_mode & 0o170000
            if kind == 0o040000:
                below.append((name, 0, None, None))
            elif kind == 0o100000 and st.st_nlink:
                self._bytes += st.st_size // st.st_nlink
        frame.todo = iter(below)

    def _leave(self, frame: Frame) -> None:
        self._frames.pop()
        if self._frames:
            self._go_up()


def _say_nothing(path: bytes, error: OSError) -> None:
    """Whoever surveys meets the same trouble, and tells of it."""


class _Nowhere:
    """Takes rows and keeps none."""

    first = True

    def attr(self, mode: int, uid: int, gid: int, flags: int, xattr: bytes) -> int:
        return 0

    def put_rows(self, rows: list[tuple[Any, ...]]) -> None:
        return

    def put_files(self, rows: list[StagedFile]) -> None:
        return

    def put_paths(self, rows: list[tuple[int, bytes]]) -> None:
        return

    def put_lost(self, rows: list[Lost]) -> None:
        return

    def put_problem(self, path: bytes, errno: int, what: str) -> None:
        return
