"""The walk: compare a live tree with the head of its root and stage what differs.

An unchanged directory costs one listing, one stat per entry and one catalog row. Identities are not
decided here (a name may have moved to where the walk has not been yet): names that could be anyone
are staged open, names that are missing are listed as lost, and `catalog.stage` settles both after.

Nothing is read but names and attributes; the bytes of files come after (`capture.store`).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any

from snapfs.capture.comparison import Comparison
from snapfs.capture.head import HeadDirectories
from snapfs.capture.listing import entries, is_plain
from snapfs.capture.newdirectory import NewDirectories
from snapfs.capture.scouting import Scouting, worthwhile
from snapfs.capture.seen import (
    DIR,
    KINDS,
    OK,
    RACY,
    UNREAD,
    Confirmed,
    Frame,
    Known,
    ScanOptions,
    ScanTotals,
    known_directory,
)
from snapfs.capture.staging import OnFiles, Staging
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.catalog.stage import DirRow, Stage
from snapfs.catalog.streams import slices
from snapfs.fs.dirstack import DirStack
from snapfs.fs.fingerprint import SLICE, Fingerprint, Glance, glance
from snapfs.fs.handles import sorted_names
from snapfs.fs.matching import RuleMatcher
from snapfs.fs.rules import IGNORE_FILE
from snapfs.progress import Progress
from snapfs.tree.state import join


class Scanner:
    """One walk of one root."""

    def __init__(
        self,
        catalog: Catalog,
        stage: Stage,
        root_fd: int,
        matcher: RuleMatcher,
        options: ScanOptions,
        now_ns: int,
        *,
        progress: Progress,
        on_directory: Callable[[DirRow], None],
        on_files: OnFiles | None = None,
    ) -> None:
        """Takes over ``root_fd``. ``on_files`` is offered new files before they are staged,
        ``on_directory`` is told of each directory that is.
        """
        self.catalog = catalog
        self.stage = stage
        self.root_fd = root_fd
        self.matcher = matcher
        self.options = options
        self.now_ns = now_ns
        self.progress = progress
        self.totals = ScanTotals()
        self._comparison = Comparison(options, now_ns)
        self._spare = self._spares if options.spare is not None else None
        self._staging = Staging(
            stage, self.totals, self._comparison, progress, on_files, on_directory
        )
        self._new = NewDirectories(stage, self._staging, options, now_ns, progress)
        rules = matcher.rules
        self._rules_digest = rules.digest()
        self._ruled = (
            bool(rules.patterns or rules.caches or rules.if_present or rules.standing)
            or rules.larger_than is not None
        )
        self._directories: HeadDirectories
        self._scouting: Scouting | None = None
        self._stack: DirStack
        self._frames: list[Frame] = []

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
        self._directories = HeadDirectories(self.catalog, root_inode)
        with ExitStack() as ending, DirStack(self.root_fd) as self._stack:
            self._scouting = self._send_scout(root_inode)
            if self._scouting is not None:
                ending.callback(self._scouting.close)
            self._frames = [top]
            self._enter(top)
            while self._frames:
                frame = self._frames[-1]
                item = next(frame.todo, None)
                if item is None:
                    self._leave(frame)
                else:
                    self._descend(frame, *item)
        self._staging.flush()
        return self.totals

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
        try:
            fd = self._stack.push(name)
        except OSError as error:
            if type(known) is Confirmed:
                known = known_directory(name, st, known)
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                self._vanished(above, known, seq)
                return
            self._unreadable(above, name, seq, known, st, error)
            return
        frame = Frame()
        frame.name = name
        frame.parent = above.key
        if type(known) is Confirmed:
            frame.st = st
            frame.inode = frame.by_name = known.inode
            frame.by_kind = DIR
            frame.stored = known.fingerprint
            frame.confirmed = known.state == OK
        else:
            frame.st = os.fstat(fd)
            if known is not None:
                frame.by_name, frame.by_kind = known.inode, known.kind
                if seq == 0:
                    frame.inode = known.inode
                frame.known = known
                frame.stored = known.fingerprint
        frame.seq = seq
        frame.above_rules = above.rules
        self._frames.append(frame)
        self._enter(frame)

    def _leave(self, frame: Frame) -> None:
        self._frames.pop()
        above = self._frames[-1] if self._frames else None
        if frame.dirty or frame.refresh or frame.inode is None:
            self._staging.directory(frame, self._stack, self._frames[-1] if self._frames else None)
        if frame.dirty and above is not None:
            above.dirty = True
        if above is not None:
            try:
                self._stack.pop()
            except OSError as error:
                self._moved_away(error)

    def _moved_away(self, error: OSError) -> None:
        """The directory above is no longer where it was: what is left of it cannot be read."""
        frame = self._frames[-1]
        path = self._stack.path()
        self._staging.problem(path, error.errno or 0, "moved while it was read")
        frame.state = RACY
        frame.fingerprint = None
        frame.refresh = True
        frame.todo = iter(())

    def _enter(self, frame: Frame) -> None:
        fd = self._stack.fd
        try:
            names = sorted_names(fd)
        except OSError as error:
            path = self._stack.path()
            self._staging.problem(path, error.errno or 0, "directory cannot be listed")
            frame.state = UNREAD
            frame.dirty = True
            return
        if frame.name is None:
            frame.rules = self.matcher.top(fd, names)
        elif self._ruled or frame.above_rules is not None or IGNORE_FILE in names:
            frame.rules = self.matcher.enter(
                frame.above_rules, frame.name, self._stack.path(), fd, names
            )
        if frame.name is not None and self._is_border(frame):
            names = []
        if frame.inode is None:
            self._new.stage(frame, self._stack, self._seen(frame, fd, names), self._digest(frame))
        else:
            self._compare(frame, fd, names)

    def _is_border(self, frame: Frame) -> bool:
        """Whether the directory is kept but nothing in it: another filesystem, our own mount."""
        options = self.options
        if options.one_file_system and frame.st.st_dev != self.totals.root_dev:
            return True
        return bool(options.foreign) and self._stack.path() in options.foreign

    def _seen(
        self, frame: Frame, fd: int, names: list[bytes]
    ) -> Iterator[tuple[bytes, os.stat_result]]:
        return entries(
            fd, names, frame.rules, self.options.skip, trouble=self._trouble,
            skipped=self.totals.see_repository, spare=self._spare,
        )  # fmt: skip

    def _spares(self, name: bytes) -> bool:
        spare = self.options.spare
        return spare is not None and spare(join(self._stack.path(), name))

    def _trouble(self, name: bytes, error: OSError) -> None:
        path = join(self._stack.path(), name)
        self._staging.problem(path, error.errno or 0, "cannot be examined")

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
            if stored is not None and stored == seen.value:
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
                self._staging.lose(parent, Known(*old))
                frame.dirty = True
                old = next(rows, None)
            known = None
            if old is not None and old[0] == name:
                if same_file(old, st):
                    old = next(rows, None)
                    continue
                known = Known(*old)
                old = next(rows, None)
            kind = KINDS.get(st.st_mode & 0o170000, 0)
            if known is not None and known.kind == kind and self._comparison.same_inode(known, st):
                if kind == DIR:
                    below.append((name, 0, known, st))
                    continue
                if self._comparison.same(known, st):
                    continue
                seq = self._staging.take()
                state = self._staging.leaf(frame, self._stack, name, st, seq, known.inode, known)
                frame.dirty = True
            else:
                if known is not None:
                    self._staging.lose(parent, known)
                seq = self._staging.take()
                frame.dirty = True
                if kind == DIR:
                    below.append((name, seq, known, st))
                    continue
                state = self._staging.leaf(frame, self._stack, name, st, seq, None, known)
            sound = sound and state == OK
        while old is not None:
            self._staging.lose(parent, Known(*old))
            frame.dirty = True
            old = next(rows, None)
        frame.low, frame.high = low, self.totals.next_seq - 1
        if not sound:
            frame.fingerprint = None
        frame.todo = iter(below)
        self._check_own(frame)
        self.progress.advance(entries=count)

    def _check_own(self, frame: Frame) -> None:
        """Whether the attributes of a known directory itself have changed."""
        known = frame.known
        if not frame.confirmed and (known is None or not self._comparison.same(known, frame.st)):
            # Also where only ctime moved: what is read again then may show a change.
            frame.refresh = frame.dirty = True

    def _digest(self, frame: Frame) -> bytes:
        return self._rules_digest if frame.rules is None else frame.rules.digest

    # --- trouble -------------------------------------------------------------------------------

    def _vanished(self, above: Frame, known: Known | None, seq: int) -> None:
        """A subdirectory went away between its stat and its opening: it is not there."""
        above.fingerprint = None
        above.refresh = True
        above.dirty = True
        if known is not None and seq == 0:
            self._staging.lose(above.key, known)

    def _unreadable(
        self, above: Frame, name: bytes, seq: int, known: Known | None, st: Any, error: OSError
    ) -> None:
        """A subdirectory that cannot be opened keeps its children's identities."""
        frame = Frame()
        frame.name = name
        frame.parent = above.key
        frame.st = st
        frame.seq = seq
        frame.closed = True
        frame.state = UNREAD
        if known is not None:
            frame.by_name, frame.by_kind = known.inode, known.kind
            if seq == 0:
                frame.inode = known.inode
        path = join(self._stack.path(), name)
        self._staging.problem(path, error.errno or 0, "directory cannot be opened")
        above.dirty = True
        self._staging.directory(frame, self._stack, self._frames[-1] if self._frames else None)
