"""A walk that looks at listed paths alone and takes all else as the head has it.

What it costs follows the list: a directory on the way to a listed path is opened and not listed, and of
the head only the rows of listed names are read. Such a directory loses its fingerprint when it is
staged, for not every child was confirmed, so that the next ordinary walk compares it row by row and finds
what nobody listed.

A file with several names is one file: where a listed one is new, or not what it was, the others are looked
at as well, for which the walk is made once more.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from snapfs.capture.head import HeadDirectories, known_root
from snapfs.capture.listed import Cursor, Listed, prefix
from snapfs.capture.scan import Scanner
from snapfs.capture.seen import Frame, Known, ScanOptions, ScanTotals
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.catalog.rows import RootRow
from snapfs.catalog.stage import Stage
from snapfs.fs.handles import Names
from snapfs.fs.matching import RuleMatcher
from snapfs.model.path import join
from snapfs.model.quote import quote
from snapfs.progress import Problem, Progress
from snapfs.tree.state import Paths, StoredState

MANY_NAMES, FEW_NAMES = 128, 8
"""Names that ``SCAN_NAMED`` and ``SCAN_NAMED_FEW`` take: a list of many is made anew for each query."""
_NO_NAME = b""


def scan_listed(
    catalog: Catalog,
    stage: Stage,
    root: RootRow,
    root_fd: int,
    matcher: RuleMatcher,
    options: ScanOptions,
    listed: Listed,
    ahead_ns: int,
    *,
    progress: Progress,
) -> ScanTotals:
    """Walk and settle who is who; names that belong with listed ones are added to ``listed``.

    Takes over ``root_fd``. OSError only if the root itself cannot be read.
    """
    assert root.inode_id is not None
    once = _Once(progress)
    try:
        while True:
            scanner = ListedScanner(
                catalog, stage, os.dup(root_fd), matcher, options, ahead_ns, listed, progress=once
            )
            totals = scanner.run(root.inode_id, known_root(catalog, root))
            devices = {"old_dev": totals.old_root_dev, "new_dev": totals.root_dev}
            stage.settle(root.root.id, **devices, read_all=options.checksum)
            paths = Paths(StoredState(catalog, None), root.inode_id)
            others = (paths.of_name(*name) for name in stage.other_names(root.root.id, **devices))
            if not sum(listed.add_new(path) for path in others if path is not None):
                break
            stage.clear()
    finally:
        os.close(root_fd)
    stage.doubt_links()
    if scanner.astray:
        more = f" (and {scanner.astray - 1:,} more)" if scanner.astray > 1 else ""
        progress.note(
            f"{quote(scanner.first_astray)}{more} is no directory by now: what is listed below it is gone, or "
            "has another path"
        )
    return totals


class ListedScanner(Scanner):
    """One such walk."""

    def __init__(
        self,
        catalog: Catalog,
        stage: Stage,
        root_fd: int,
        matcher: RuleMatcher,
        options: ScanOptions,
        ahead_ns: int,
        listed: Listed,
        *,
        progress: Progress,
    ) -> None:
        """Takes over ``root_fd``."""
        super().__init__(catalog, stage, root_fd, matcher, options, ahead_ns, progress=progress)
        self._cursor = Cursor(listed.keys())
        # Whether the directory that is gone into next only leads to listed ones.
        self._through = True
        self.astray = 0
        """names on the way to listed ones that are no directories"""
        self.first_astray = b""

    def _prepare(self, root_inode: int | None, ending: ExitStack) -> None:
        self._directories = HeadDirectories(self.catalog, None)

    def _descend(self, above: Frame, name: bytes, seq: int, known: Any, st: Any) -> None:
        super()._descend(above, name, seq, known, st)
        self._through = False  # also where it could not be gone into

    def _enter(self, frame: Frame) -> None:
        through, self._through = self._through, False
        if not through or (frame.name is not None and self._is_border(frame)):
            super()._enter(frame)
            return
        fd = self._stack.fd
        self._find_rules(frame, fd, Names(fd))
        if frame.inode is None:
            frame.dirty = True
        else:
            self._check_own(frame)
        frame.todo = self._go_through(frame)

    def _go_through(self, frame: Frame) -> Iterator[tuple[Any, ...]]:
        """Look at what is listed in a directory; the subdirectories to go into, as they come."""
        here = prefix(self._stack.parts)
        while True:
            names, leads = self._cursor.names(here, MANY_NAMES)
            if not names:
                return
            last = names[-1] if leads else _NO_NAME
            for item in self._look(frame, names, last):
                self._through = item[0] == last
                yield item
            if leads:
                self._cursor.skip(here + prefix([last]))

    def _look(self, frame: Frame, names: list[bytes], leads: bytes) -> list[tuple[Any, ...]]:
        """Look at names; the directories among them. The name ``leads`` is on the way to listed ones."""
        known = self._known(frame, names)
        seen = dict(self._seen(frame, self._stack.fd, names))
        below: list[tuple[Any, ...]] = []
        for name in names:
            st = seen.get(name)
            if st is None:
                if name in known:
                    self._missed(frame, known[name])
                continue
            self.totals.count(st)
            if name == leads and not stat.S_ISDIR(st.st_mode):
                self._stray(name)
            self._look_at(frame, name, st, known.get(name), below)
        if frame.unseen:
            frame.dirty = True
            self.totals.next_seq = self._staging.unseen(frame, self._stack, self.totals.next_seq)
        frame.unseen = None
        self.progress.advance(entries=len(seen))
        return below

    def _known(self, frame: Frame, names: list[bytes]) -> dict[bytes, Known]:
        """What the head has under these names."""
        if frame.inode is None:
            return {}
        few = len(names) <= FEW_NAMES
        padded = names + [_NO_NAME] * ((FEW_NAMES if few else MANY_NAMES) - len(names))
        statement = sql.SCAN_NAMED_FEW if few else sql.SCAN_NAMED
        rows = self.catalog.execute(statement, [frame.inode, *padded])
        return {row[0]: Known(*row) for row in rows}

    def _stray(self, name: bytes) -> None:
        if not self.astray:
            self.first_astray = join(self._stack.path(), name)
        self.astray += 1


class _Once:
    """Passes on what is told, but no problem twice: the walk may be made again."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._told: set[Problem] = set()
        self.foretells = progress.foretells
        self.phase = progress.phase
        self.expect = progress.expect
        self.advance = progress.advance
        self.note = progress.note

    def problem(self, problem: Problem) -> None:
        """As `Progress.problem`."""
        if problem not in self._told:
            self._told.add(problem)
            self._progress.problem(problem)
