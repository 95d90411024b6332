"""A first snapshot, seen from where its rows come together: workers walk (`capture.surveyor`), here is
decided who goes where, and what they tell is staged.
"""

from __future__ import annotations

import os
from itertools import islice

from snapfs.capture.forecast import Forecast
from snapfs.capture.seen import ScanOptions, ScanTotals
from snapfs.capture.surveyor import ROOT_SEQ, Ahead, Level, Numbers, Part, Piece, Setup, Surveyed
from snapfs.capture.trouble import put_problem
from snapfs.catalog.stage import Stage
from snapfs.fs.handles import open_dir
from snapfs.fs.matching import RuleMatcher
from snapfs.progress import Progress

SURVEYED_ENTRIES = 4000
"""From here on workers walk: starting two of them takes 0.13 s of both processors."""
ENTRIES_AT_ONCE = 1000
PIECE_ROWS = 8192
NAMES_AT_ONCE = 64
"""Directories that are given out together, and may come back together."""


def is_large(root_fd: int, one_file_system: bool) -> bool:
    """Whether a tree has more than `SURVEYED_ENTRIES`. A hint: looks at names alone, and at no more of them."""
    seen = 0
    device = os.fstat(root_fd).st_dev
    todo = [b"."]
    while todo and seen <= SURVEYED_ENTRIES:
        above = todo.pop()
        try:
            fd = open_dir(above, root_fd)
        except OSError:
            continue
        try:
            if one_file_system and os.fstat(fd).st_dev != device:
                continue
            with os.scandir(fd) as entries:
                for entry in islice(entries, SURVEYED_ENTRIES + 1):
                    seen += 1
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(above + b"/" + os.fsencode(entry.name))
        except OSError:
            continue
        finally:
            os.close(fd)
    return seen > SURVEYED_ENTRIES


class Survey:
    """The walk of one root by workers. `close` must be called."""

    def __init__(
        self,
        stage: Stage,
        root_fd: int,
        matcher: RuleMatcher,
        options: ScanOptions,
        ahead_ns: int,
        *,
        progress: Progress,
    ) -> None:
        """As for a `Scanner`; ``options`` must not spare anything, nor ``root_fd`` be closed."""
        self._stage = stage
        self._matcher = matcher
        self._progress = progress
        device = os.fstat(root_fd).st_dev
        self.setup = Setup(matcher.rules, options, ahead_ns, device, ENTRIES_AT_ONCE, PIECE_ROWS)
        self.totals = ScanTotals(next_seq=ROOT_SEQ + 1, root_dev=device, old_root_dev=device)
        self._left = [Part((), (), [])]
        self._unsound: list[int] = []
        self._unread: list[int] = []
        self._forecast: Forecast | None = None
        if progress.foretells:
            self._forecast = Forecast(root_fd, matcher.rules, options)

    def close(self) -> None:
        """No more is to come."""
        if self._forecast is not None:
            self._forecast.close()

    def next(self) -> Part | None:
        """Where somebody is to go; None if nowhere as far as is known."""
        if not self._left:
            return None
        part = self._left.pop()
        some: list[Level] = []
        room = NAMES_AT_ONCE
        while part.levels and room:
            level = part.levels.pop()
            if len(level.names) > room:
                part.levels.append(level)
                names, seqs = level.names[-room:], level.seqs[-room:]
                del level.names[-room:], level.seqs[-room:]
                level = level._replace(names=names, seqs=seqs)
            room -= len(level.names)
            some.append(level)
        if part.levels:
            depth = part.levels[-1].depth
            ruled = max(0, len(part.trail) - len(part.parts) + depth)
            self._left.append(part._replace(parts=part.parts[:depth], trail=part.trail[:ruled]))
        return part._replace(levels=some[::-1])

    def numbers(self, wanted: Numbers) -> int:
        """The first of so many numbers that nobody else has."""
        if wanted.attrs:
            return self._stage.reserve_attrs(wanted.attrs)
        first = self.totals.next_seq
        self.totals.next_seq += wanted.rows
        return first

    def take(self, answer: Surveyed) -> None:
        """What came of a part."""
        counted = answer.counted
        self.totals.add_all(counted)
        if answer.left is not None:
            self._left.append(answer.left)
        self.advance(
            Ahead(counted.entries - answer.told.entries, answer.read_bytes - answer.told.read_bytes)
        )
        for path, number in answer.rule_problems:
            self._matcher.report(path, OSError(number, os.strerror(number)))
        if answer.met is not None:
            self._matcher.absorb(answer.met)

    def advance(self, done: Ahead) -> None:
        """So much more was looked at and read."""
        if self._forecast is not None and self._forecast.totals is not None:
            entries, total_bytes = self._forecast.totals
            self._progress.expect(entries=entries, total_bytes=total_bytes)
            self._forecast = None
        self._progress.advance(entries=done.entries, read_bytes=done.read_bytes)

    def put(self, piece: Piece) -> None:
        """Stage what a worker tells."""
        stage = self._stage
        stage.put_attrs(piece.attrs)
        if piece.paths:
            stage.put_paths(piece.paths)
        if piece.rows:
            stage.put_rows(piece.rows)
        if piece.read:
            stage.put_read_files(piece.read, piece.encoded)
        if piece.files:
            stage.put_files(piece.files)
        # The rows of these may still be on their way.
        self._unsound += piece.unsound
        self._unread += piece.unread
        for problem in piece.problems:
            put_problem(stage, self._progress, *problem)

    def finish(self) -> None:
        """Everything is told."""
        self._stage.put_unsound(self._unsound)
        self._stage.put_unread(self._unread)
