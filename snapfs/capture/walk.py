"""A walk down a live tree: what is the same whether anything is known of it or not.

Nothing is read here but names and attributes, and nothing of a catalog: whoever walks says what is
done in a directory that is known (`capture.scan`). What no snapshot has is staged (`capture.newdirectory`).
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator
from typing import Any

from snapfs.capture.comparison import Comparison
from snapfs.capture.listing import Listed, entries
from snapfs.capture.newdirectory import NewDirectories, OnFiles
from snapfs.capture.seen import (
    DIR,
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
from snapfs.capture.staging import Rows, Staging
from snapfs.fs.dirstack import DirStack
from snapfs.fs.handles import NO_DIRECTORY, sorted_names
from snapfs.fs.matching import RuleMatcher
from snapfs.fs.rules import IGNORE_FILE
from snapfs.model.path import join
from snapfs.progress import Progress


class Walk:
    """Goes through directories and stages what is to be staged of them."""

    def __init__(
        self,
        rows: Rows,
        matcher: RuleMatcher,
        options: ScanOptions,
        ahead_ns: int,
        *,
        progress: Progress,
        on_files: OnFiles | None = None,
    ) -> None:
        """``ahead_ns`` is what the time of the run is ahead of the clock; ``on_files`` is offered the new files of a directory before they are staged."""
        self.matcher = matcher
        self.options = options
        self.progress = progress
        self.totals = ScanTotals()
        self._comparison = Comparison(options, ahead_ns)
        self._spare = self._spares if options.spare is not None else None
        self._staging = Staging(rows, self.totals, self._comparison, progress)
        self._new = NewDirectories(
            rows, self._staging, self._comparison, options.relaxed, progress, on_files
        )
        rules = matcher.rules
        self._rules_digest = rules.digest()
        self._ruled = (
            bool(rules.patterns or rules.caches or rules.if_present or rules.standing)
            or rules.larger_than is not None
        )
        self._stack: DirStack
        self._frames: list[Frame] = []

    def _go_on(self) -> None:
        """One step: into the next directory, or out of one."""
        frame = self._frames[-1]
        item = next(frame.todo, None)
        if item is None:
            self._leave(frame)
        else:
            self._descend(frame, *item)

    def _descend(self, above: Frame, name: bytes, seq: int, known: Any, st: Any) -> None:
        """Go into a subdirectory; ``seq`` is 0 for one whose identity is settled, ``st`` None if it
        was not looked at.
        """
        try:
            fd = self._stack.push(name)
        except OSError as error:
            if type(known) is Confirmed:
                known = known_directory(name, st, known)
            if error.errno in NO_DIRECTORY:
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
            self._staging.directory(frame, self._stack, above)
        if frame.dirty and above is not None:
            above.dirty = True
        if above is not None:
            self._go_up()

    def _go_up(self) -> None:
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
        border = frame.name is not None and self._is_border(frame)
        try:
            names = [] if border else sorted_names(fd)
        except OSError as error:
            path = self._stack.path()
            self._staging.problem(path, error.errno or 0, "directory cannot be listed")
            frame.state = UNREAD
            frame.dirty = True
            return
        self._find_rules(frame, fd, names)
        if frame.inode is None:
            self._stage(frame, fd, names)
        else:
            self._compare(frame, fd, names)

    def _find_rules(self, frame: Frame, fd: int, names: Container[bytes]) -> None:
        """What holds for the entries of a directory with these names."""
        if frame.name is None:
            frame.rules = self.matcher.top(fd, names)
        elif self._ruled or frame.above_rules is not None or IGNORE_FILE in names:
            frame.rules = self.matcher.enter(
                frame.above_rules, frame.name, self._stack.path(), fd, names
            )

    def _stage(self, frame: Frame, fd: int, names: list[bytes]) -> None:
        """A directory that nothing is known of."""
        self._new.stage(frame, self._stack, self._seen(frame, fd, names), self._digest(frame))

    def _compare(self, frame: Frame, fd: int, names: list[bytes]) -> None:
        """A directory that the head has."""
        raise NotImplementedError

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

    def _trouble(self, name: bytes, error: OSError, listed: Listed | None) -> None:
        frame = self._frames[-1]
        if frame.unseen is None:
            frame.unseen = {}
        if name not in frame.unseen:  # it may be looked at twice
            frame.unseen[name] = listed
            path = join(self._stack.path(), name)
            self._staging.problem(path, error.errno or 0, "cannot be examined")

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
        if st is None:
            try:
                st = os.lstat(name, dir_fd=self._stack.fd)
            except OSError:
                self._vanished(above, known, seq)
                return
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
        self._staging.directory(frame, self._stack, above)
