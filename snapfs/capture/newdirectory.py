"""Staging a directory that nothing is known of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any

from snapfs.capture.comparison import Comparison
from snapfs.capture.seen import (
    OK,
    RACY,
    RACY_CTIME_NS,
    RACY_MTIME_NS,
    SECOND,
    Frame,
    signed,
)
from snapfs.capture.staging import FLUSH_ROWS, Rows, Staging
from snapfs.catalog.stagerows import StagedFile
from snapfs.fs.dirstack import DirStack
from snapfs.fs.fingerprint import SLICE, Fingerprint, numbers
from snapfs.progress import Progress

_SIGN = 1 << 63
_CLOCK_MASK = 255
"""So often it is looked how late it is: a directory of many names may take long."""
_SIZE = itemgetter(6)
"""Of a `StagedFile`."""

OnFiles = Callable[[Frame, int, list[StagedFile]], list[StagedFile]]
"""Is given new files of a directory, and its descriptor; returns those that are to be staged."""


class NewDirectories:
    """Stages every child of a directory that the head does not have."""

    def __init__(
        self,
        rows: Rows,
        staging: Staging,
        comparison: Comparison,
        relaxed: bool,
        progress: Progress,
        on_files: OnFiles | None = None,
    ) -> None:
        self._stage = rows
        self._on_files = on_files
        self._staging = staging
        self._totals = staging.totals
        self._comparison = comparison
        self._relaxed = relaxed
        self._progress = progress

    def stage(
        self,
        frame: Frame,
        stack: DirStack,
        seen: Iterable[tuple[bytes, os.stat_result]],
        rules_digest: bytes,
    ) -> None:
        """``seen`` are the children by name; subdirectories are left to the walk (``frame.todo``).

        Regular files, by far the most frequent, are staged right here: a call more for each of a
        million files is a second more.
        """
        totals, now_ns = self._totals, self._comparison.now_ns()
        mark = Fingerprint(rules_digest)
        marked: list[bytes] = []
        fields: list[int] = []
        parent = frame.key
        first = self._stage.first
        below: list[tuple[Any, ...]] = []
        low = seq = totals.next_seq
        sound = True
        owner: tuple[int, int, int] | None = None
        attr = 0
        staged: list[StagedFile] = []
        for name, st in seen:
            marked.append(name)
            mode = st.st_mode
            if mode & 0o170000 == 0o100000:
                size, mtime_ns, ctime_ns = st.st_size, st.st_mtime_ns, st.st_ctime_ns
                uid, gid, ino, nlink = st.st_uid, st.st_gid, st.st_ino, st.st_nlink
                fields += (mode, uid, gid, size, mtime_ns, ctime_ns, ino, nlink)
                racy = (
                    -RACY_CTIME_NS < now_ns - ctime_ns < RACY_CTIME_NS
                    or -RACY_MTIME_NS < now_ns - mtime_ns < RACY_MTIME_NS
                )
                if racy:
                    sound = False
                who = (mode, uid, gid)
                if who != owner:
                    owner = who
                    attr = self._stage.attr(mode & 0o7777, uid, gid, 0, b"")
                staged.append((
                    seq, parent, parent, name, -seq if first else None, attr, size,
                    mtime_ns // SECOND, mtime_ns % SECOND, RACY if racy else OK,
                    ctime_ns // SECOND, ctime_ns % SECOND, signed(st.st_dev),
                    ino if ino < _SIGN else signed(ino), nlink,
                ))  # fmt: skip
            elif mode & 0o170000 == 0o040000:
                fields += numbers(st)
                below.append((name, seq, None, None))
                totals.dirs += 1
            else:
                fields += numbers(st)
                inode = -seq if first else None
                if self._staging.leaf(frame, stack, name, st, seq, inode, None) != OK:
                    sound = False
            seq += 1
            if not seq & _CLOCK_MASK:
                now_ns = self._comparison.now_ns()
            if len(marked) == SLICE:
                mark.add_slice(marked, fields)
                marked, fields = [], []
            if len(staged) >= FLUSH_ROWS:
                self._put(frame, stack, staged)
                staged = []
        mark.add_slice(marked, fields)
        self._put(frame, stack, staged)
        if frame.unseen is not None:
            sound = False
            seq = self._staging.unseen(frame, stack, seq)
        totals.next_seq = seq
        totals.entries += seq - low
        frame.low, frame.high = low, seq - 1
        frame.fingerprint = mark.value() if sound and not self._relaxed else None
        frame.dirty = True
        frame.todo = iter(below)
        self._progress.advance(entries=seq - low)

    def _put(self, frame: Frame, stack: DirStack, files: list[StagedFile]) -> None:
        """Stage files, or have them read at once."""
        if not files:
            return
        totals = self._totals
        totals.files += len(files)
        totals.total_bytes += sum(map(_SIZE, files))
        if self._on_files is not None:
            files = self._on_files(frame, stack.fd, files)
            if not files:
                return
        totals.to_read += len(files)
        totals.to_read_bytes += sum(map(_SIZE, files))
        self._staging.put_files(files, frame, stack)
