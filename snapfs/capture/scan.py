"""The walk: compare a live tree with the head of its root and stage what differs.

An unchanged directory costs one listing, one stat per entry and one catalog row. Identities are not
decided here (a name may have moved to where the walk has not been yet): names that could be anyone
are staged open, names that are missing are listed as lost, and `catalog.stage` settles both after.

Nothing is read but names and attributes; the bytes of files come after (`capture.store`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

from snapfs.capture.head import HeadDirectories
from snapfs.capture.listing import is_plain
from snapfs.capture.scouting import Scouting, worthwhile
from snapfs.capture.seen import (
    DIR,
    KINDS,
    OK,
    UNREAD,
    Confirmed,
    Frame,
    Known,
    ScanOptions,
    ScanTotals,
)
from snapfs.capture.walk import Walk
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.catalog.stage import Stage
from snapfs.catalog.streams import slices
from snapfs.fs.dirstack import DirStack
from snapfs.fs.fingerprint import SLICE, Fingerprint, Glance, glance
from snapfs.fs.matching import RuleMatcher
from snapfs.progress import Progress


class Scanner(Walk):
    """One walk of one root."""

    def __init__(
        self,
        catalog: Catalog,
        stage: Stage,
        root_fd: int,
        matcher: RuleMatcher,
        options: ScanOptions,
        ahead_ns: int,
        *,
        progress: Progress,
    ) -> None:
        """Takes over ``root_fd``."""
        super().__init__(stage, matcher, options, ahead_ns, progress=progress)
        self.catalog = catalog
        self.root_fd = root_fd
        self._directories: HeadDirectories
        self._scouting: Scouting | None = None

    def run(self, root_inode: int | None, root_known: Known | None) -> ScanTotals:
        """Walk everything below the root. OSError only if the root itself cannot be read."""
        st = os.fstat(self.root_fd)
        self.totals.root_dev = st.st_dev
        self.totals.old_root_dev = st.st_dev if root_known is None else root_known.dev
        top = Frame()
        top.st = st
        top.inode = root_inode
        top.known = root_known
        top.stored = None if root_known is None else root_known.fingerprint
        top.seq = self._staging.take()
        self.totals.count(st)
        with ExitStack() as ending, DirStack(self.root_fd) as self._stack:
            self._prepare(root_inode, ending)
            self._frames = [top]
            self._enter(top)
            while self._frames:
                self._go_on()
        self._staging.flush()
        return self.totals

    def _prepare(self, root_inode: int | None, ending: ExitStack) -> None:
        """Learn what helps to go through the whole tree."""
        self._directories = HeadDirectories(self.catalog, root_inode)
        self._scouting = self._send_scout(root_inode)
        if self._scouting is not None:
            ending.callback(self._scouting.close)

    def _send_scout(self, root_inode: int | None) -> Scouting | None:
        """Have somebody look from the other end, if nothing but stat fields decides what is unchanged."""
        options = self.options
        if root_inode is None or self._ruled or options.foreign or not self._comparison.by_stat:
            return None
        sound = self._directories.sound()
        if sound is None or not worthwhile(len(sound)):
            return None
        return Scouting(self.root_fd, root_inode, self._rules_digest, options.skip, sound)

    def _scouted(self, known: Known | Confirmed, st: os.stat_result) -> bool:
        """Whether nothing at and below a directory has changed; then it is counted and done."""
        assert self._scouting is not None
        found = self._scouting.unchanged(known.inode)
        if found is None:
            return False
        if not (
            known.state == OK if isinstance(known, Confirmed) else self._comparison.same(known, st)
        ):
            return False
        self.totals.add(found.entries, found.files, found.dirs, found.total_bytes)
        self.progress.advance(entries=found.entries)
        return True

    def _descend(self, above: Frame, name: bytes, seq: int, known: Any, st: Any) -> None:
        """Go into a subdirectory; ``seq`` is 0 for one whose identity is settled."""
        if self._scouting is not None and seq == 0 and self._scouted(known, st):
            return
        super()._descend(above, name, seq, known, st)

    def _compare(self, frame: Frame, fd: int, names: list[bytes]) -> None:
        """A directory that the head has: see whether any child could have changed."""
        stored = frame.stored
        stats: list[os.stat_result] | None = None
        if self._comparison.by_stat:
            seen: Glance | None = None
            if frame.rules is None and is_plain(names):
                seen = glance(fd, names, self._rules_digest, self.options.skip)
            if seen is None:
                seen = self._survey(frame, fd, names)
            frame.fingerprint = seen.value
            if stored is not None and stored == seen.value and frame.unseen is None:
                self._confirmed(frame, seen)
                return
            stats = seen.stats
        # What differs is looked at beside the head's rows.
        if stats is None:
            self._merge(frame, self._seen(frame, fd, names))
        else:
            self._merge(frame, zip(names, stats, strict=True))
        frame.refresh = frame.refresh or frame.fingerprint != stored

    def _survey(self, frame: Frame, fd: int, names: list[bytes]) -> Glance:
        """What `glance` tells, of a directory where entry by entry has to be looked at."""
        mark = Fingerprint(self._digest(frame))
        counted = ScanTotals()
        directories: list[tuple[bytes, os.stat_result]] = []
        for name, st in self._seen(frame, fd, names):
            mark.add(name, st)
            counted.count(st)
            if st.st_mode & 0o170000 == 0o040000:
                directories.append((name, st))
        return Glance(
            mark.value(), None, directories, counted.entries, counted.files, counted.total_bytes
        )

    def _confirmed(self, frame: Frame, seen: Glance) -> None:
        """Nothing changed here; there may still be changes further down."""
        self.totals.add(seen.entries, seen.files, len(seen.directories), seen.total_bytes)
        if seen.directories:
            parent = frame.key
            below: list[tuple[Any, ...]] = []
            for name, st in seen.directories:
                row = self._directories.row(parent, name)
                if row is None:  # the catalog contradicts itself: look closely instead
                    frame.fingerprint = None
                    frame.refresh = True
                    continue
                below.append((name, 0, Confirmed(*row), st))
            frame.todo = iter(below)
        self._check_own(frame)
        self.progress.advance(entries=seen.entries)

    def _merge(self, frame: Frame, seen: Iterable[tuple[bytes, os.stat_result]]) -> None:
        """Walk the live names and the head's side by side."""
        parent = frame.key
        rows = slices(self.catalog, sql.SCAN_CHILDREN, parent, most=SLICE)
        old = next(rows, None)
        same_file = self._comparison.same_file
        below: list[tuple[Any, ...]] = []
        sound = not self.options.relaxed
        count = 0
        low = self.totals.next_seq
        for name, st in seen:
            count += 1
            self.totals.count(st)
            while old is not None and old[0] < name:
                self._missed(frame, Known(*old))
                old = next(rows, None)
            known = None
            if old is not None and old[0] == name:
                if same_file(old, st):
                    old = next(rows, None)
                    continue
                known = Known(*old)
                old = next(rows, None)
            state = self._look_at(frame, name, st, known, below)
            sound = sound and state == OK
        while old is not None:
            self._missed(frame, Known(*old))
            old = next(rows, None)
        if frame.unseen is not None:
            sound = False
            frame.dirty = True
            self.totals.next_seq = self._staging.unseen(frame, self._stack, self.totals.next_seq)
        frame.low, frame.high = low, self.totals.next_seq - 1
        if not sound:
            frame.fingerprint = None
        frame.todo = iter(below)
        self._check_own(frame)
        self.progress.advance(entries=count)

    def _look_at(
        self,
        frame: Frame,
        name: bytes,
        st: os.stat_result,
        known: Known | None,
        below: list[tuple[Any, ...]],
    ) -> int:
        """Stage a name if it is not what the head has, or put it into ``below`` if it is a directory; the
        state of what is staged.
        """
        kind = KINDS.get(st.st_mode & 0o170000, 0)
        seq, inode = 0, None
        if (
            known is not None
            and known.kind == kind
            and self._comparison.same_inode(known, st)
            # A name that could not be examined may be one more of a file that others were.
            and (known.state != UNREAD or kind == DIR or st.st_nlink == 1)
        ):
            inode = known.inode
            if kind != DIR and self._comparison.same(known, st):
                return OK
        elif known is not None:
            self._staging.lose(frame.key, known)
        if inode is None or kind != DIR:
            seq = self._staging.take()
            frame.dirty = True
        if kind == DIR:
            below.append((name, seq, known, st))
            return OK
        return self._staging.leaf(frame, self._stack, name, st, seq, inode, known)

    def _missed(self, frame: Frame, known: Known) -> None:
        """A name of the head was not seen: it is gone, or it is there and cannot be examined."""
        frame.dirty = True
        if frame.unseen is None or known.name not in frame.unseen:
            self._staging.lose(frame.key, known)
            return
        del frame.unseen[known.name]
        self._staging.keep(frame, self._stack, known)

    def _check_own(self, frame: Frame) -> None:
        """Whether the attributes of a known directory itself have changed."""
        known = frame.known
        if not frame.confirmed and (known is None or not self._comparison.same(known, frame.st)):
            # Also where only ctime moved: what is read again then may show a change.
            frame.refresh = frame.dirty = True
