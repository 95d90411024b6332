"""Buffers between a walk and the stage: rows are made here and put in by the thousand."""

from __future__ import annotations

import errno
import os
from stat import S_IMODE
from typing import Any, Protocol

from snapfs.capture.comparison import Comparison
from snapfs.capture.seen import (
    DEVICES,
    DIR,
    FILE,
    KINDS,
    OK,
    RACY,
    SECOND,
    SYMLINK,
    UNREAD,
    Frame,
    Known,
    ScanTotals,
    signed,
)
from snapfs.capture.trouble import put_problem
from snapfs.catalog.stagerows import Lost, StagedFile
from snapfs.fs.dirstack import DirStack
from snapfs.fs.handles import proc_child
from snapfs.fs.inodeflags import get_flags
from snapfs.fs.xattrs import read_xattrs
from snapfs.model.path import join
from snapfs.progress import Progress

FLUSH_ROWS = 2048
_FLUSH_PATH_BYTES = 4 * 1024 * 1024

_DEPTH_BITS = 40
"""Below the depth in a directory's place: its own number."""


class Rows(Protocol):
    """Where rows go: the stage, or a worker's message to who has it."""

    first: bool

    def attr(self, mode: int, uid: int, gid: int, flags: int, xattr: bytes) -> int: ...

    def put_rows(self, rows: list[tuple[Any, ...]]) -> None: ...

    def put_files(self, rows: list[StagedFile]) -> None: ...

    def put_paths(self, rows: list[tuple[int, bytes]]) -> None: ...

    def put_lost(self, rows: list[Lost]) -> None: ...

    def put_problem(self, path: bytes, errno: int, what: str) -> None: ...


class Staging:
    """Makes the rows of one walk."""

    def __init__(
        self, rows: Rows, totals: ScanTotals, comparison: Comparison, progress: Progress
    ) -> None:
        self._stage = rows
        self.totals = totals
        self._comparison = comparison
        self._progress = progress
        self._files: list[StagedFile] = []
        self._rows: list[tuple[Any, ...]] = []
        self._lost: list[Lost] = []
        self._paths: list[tuple[int, bytes]] = []
        self._path_bytes = 0

    def leaf(
        self,
        frame: Frame,
        stack: DirStack,
        name: bytes,
        st: os.stat_result,
        seq: int,
        inode: int | None,
        known: Known | None,
    ) -> int:
        """Stage a name in ``frame`` that is no directory; returns its state."""
        parent, fd = frame.key, stack.fd
        mode = st.st_mode
        kind = KINDS.get(mode & 0o170000, 0)
        mtime_s, mtime_nsec = divmod(st.st_mtime_ns, SECOND)
        ctime_s, ctime_nsec = divmod(st.st_ctime_ns, SECOND)
        state = RACY if self._comparison.racy(kind, st) else OK
        target: bytes | None = None
        content: int | None = None
        need = 0
        xattr = b""
        attr: int | None = None
        size = st.st_size
        by_name = None if known is None else known.inode
        by_kind = None if known is None else known.kind
        if kind == FILE:
            if (
                known is not None
                and inode == known.inode
                and self._comparison.keeps_bytes(known, st)
            ):
                content = known.content
            else:
                need = 1
                self._path(frame, stack)
                self.totals.to_read += 1
                self.totals.to_read_bytes += size
                attr = self._stage.attr(mode & 0o7777, st.st_uid, st.st_gid, 0, b"")
        else:
            size = 0
            try:
                if kind == SYMLINK:
                    target = os.readlink(name, dir_fd=fd)
                xattr = read_xattrs(proc_child(fd, name))
            except OSError as error:
                if error.errno == errno.ENOENT:
                    if inode is not None and known is not None:
                        self.lose(parent, known)
                    return RACY  # it is not there
                path = join(stack.path(), name)
                if error.errno == errno.EINVAL:
                    self.problem(path, 0, "became something else while it was read")
                else:
                    self.problem(path, error.errno or 0, "cannot be read")
                state = UNREAD
            attr = self._stage.attr(mode & 0o7777, st.st_uid, st.st_gid, 0, xattr)
        self._rows.append((
            seq, parent, parent, name, inode,
            1 if by_name is None or by_name != inode else 0, 1, by_name, by_kind,
            None, None, None, need, kind, attr, size, mtime_s, mtime_nsec,
            signed(st.st_rdev) if kind in DEVICES else 0, target, content, state,
            None, ctime_s, ctime_nsec, signed(st.st_dev), signed(st.st_ino), st.st_nlink, None,
        ))  # fmt: skip
        if frame.parts is not None:
            if state == UNREAD or need or st.st_nlink > 1:
                frame.parts.lose()
            else:
                frame.parts.add([(
                    name, kind, mode & 0o7777, st.st_uid, st.st_gid, 0, xattr, size, mtime_s,
                    mtime_nsec, signed(st.st_rdev) if kind in DEVICES else 0, target or b"", b"", 0,
                )])  # fmt: skip
        if len(self._rows) >= FLUSH_ROWS:
            self.flush()
        return state

    def directory(self, frame: Frame, stack: DirStack, above: Frame | None) -> None:
        """Stage the row of a directory, when everything below it is known."""
        st = frame.st
        mtime_s, mtime_nsec = divmod(st.st_mtime_ns, SECOND)
        ctime_s, ctime_nsec = divmod(st.st_ctime_ns, SECOND)
        state = frame.state
        if state == OK and self._comparison.racy(DIR, st):
            state = RACY
        xattr = b""
        flags = 0
        fd = stack.fd
        try:
            if frame.closed:
                xattr = read_xattrs(proc_child(fd, frame.name or b"."))
            else:
                xattr = read_xattrs(fd)
                flags = get_flags(fd)
        except OSError as error:
            path = join(stack.path(), frame.name or b"") if frame.closed else stack.path()
            self.problem(path, error.errno or 0, "attributes cannot be read")
        seq = frame.seq or self.take()
        inode = frame.inode
        if inode is None and self._stage.first:
            inode = -seq
        fingerprint = frame.fingerprint if state != UNREAD else None
        parts = None if state == UNREAD else frame.parts
        digest = None if parts is None else parts.digest()
        if above is not None and above.parts is not None:
            if digest is None:
                above.parts.lose()
            else:
                above.parts.add([(
                    frame.name or b"", DIR, S_IMODE(st.st_mode), st.st_uid, st.st_gid, flags, xattr,
                    0, mtime_s, mtime_nsec, 0, b"", digest, 0,
                )])  # fmt: skip
        self._rows.append((
            seq, None, frame.parent, frame.name, inode,
            0 if frame.name is None or frame.by_name == inode else 1,
            1, frame.by_name, frame.by_kind, _place(seq, stack.depth + frame.closed), frame.low, frame.high, 0, DIR,
            self._stage.attr(S_IMODE(st.st_mode), st.st_uid, st.st_gid, flags, xattr),
            0, mtime_s, mtime_nsec, 0, None, None, state, digest, ctime_s, ctime_nsec,
            signed(st.st_dev), signed(st.st_ino), st.st_nlink,
            fingerprint,
        ))  # fmt: skip
        if state != OK and above is not None:
            above.fingerprint = None
            above.refresh = True
        if len(self._rows) >= FLUSH_ROWS:
            self.flush()

    def unseen(self, frame: Frame, stack: DirStack, seq: int) -> int:
        """Stage names that the head does not have and that cannot be examined: of these it is known only
        that they are there. ``seq`` is the first one's row; returns the next.
        """
        attr = self._stage.attr(0, 0, 0, 0, b"")
        if frame.parts is not None:
            frame.parts.lose()
        for name, listed in sorted((frame.unseen or {}).items()):
            if listed is None:
                continue
            kind, ino = listed
            self._put_unread(
                frame,
                stack,
                name,
                seq,
                -seq,
                kind,
                attr,
                dev=signed(frame.st.st_dev),
                ino=signed(ino),
            )
            seq += 1
        return seq

    def keep(self, frame: Frame, stack: DirStack, known: Known) -> None:
        """Stage a name of the head that is there and cannot be examined: it stays what it was, except a name of
        a file that may be seen by others; until it can be examined it is a file of its own.
        """
        seq, inode = self.take(), known.inode
        attr: int | None = None
        if known.nlink > 1 and known.kind != DIR:
            inode, attr = -seq, self._stage.attr(known.mode, known.uid, known.gid, 0, b"")
        self._put_unread(
            frame, stack, known.name, seq, inode, known.kind, attr, known=known,
            size=known.size, mtime=(known.mtime_s, known.mtime_nsec), rdev=known.rdev,
            ctime=(known.ctime_s, known.ctime_nsec), dev=known.dev, ino=known.ino,
        )  # fmt: skip

    def _put_unread(
        self,
        frame: Frame,
        stack: DirStack,
        name: bytes,
        seq: int,
        inode: int,
        kind: int,
        attr: int | None,
        *,
        known: Known | None = None,
        size: int = 0,
        mtime: tuple[int, int] = (0, 0),
        ctime: tuple[int, int] = (0, 0),
        rdev: int = 0,
        dev: int,
        ino: int,
    ) -> None:
        by_name, by_kind = (None, None) if known is None else (known.inode, known.kind)
        post = _place(seq, stack.depth + 1) if kind == DIR else None
        target = b"" if kind == SYMLINK else None
        self._rows.append((
            seq, None if kind == DIR else frame.key, frame.key, name, inode,
            0 if by_name == inode else 1, 1, by_name, by_kind,
            post, None, None, 0, kind, attr, size, *mtime, rdev, target, None, UNREAD, None,
            *ctime, dev, ino, 1, None,
        ))  # fmt: skip
        if len(self._rows) >= FLUSH_ROWS:
            self.flush()

    def put_files(self, files: list[StagedFile], frame: Frame, stack: DirStack) -> None:
        """Stage new files of the directory that the walk stands in."""
        self._path(frame, stack)
        self._files += files
        if len(self._files) >= FLUSH_ROWS:
            self.flush()

    def _path(self, frame: Frame, stack: DirStack) -> None:
        """Keep where a directory is whose files are to be read."""
        if not frame.has_path:
            frame.has_path = True
            path = stack.path()
            self._paths.append((frame.key, path))
            self._path_bytes += len(path)
            if self._path_bytes >= _FLUSH_PATH_BYTES:
                self.flush()

    def lose(self, parent: int, known: Known) -> None:
        """A name of the head is not there, or is something else."""
        dev = known.dev
        if dev == self.totals.old_root_dev:
            dev = self.totals.root_dev
        self._lost.append(Lost(parent, known.name, known.inode, known.kind, dev, known.ino))
        if len(self._lost) >= FLUSH_ROWS:
            self.flush()

    def flush(self) -> None:
        """Put what is buffered into the stage."""
        paths, self._paths, self._path_bytes = self._paths, [], 0
        if paths:
            self._stage.put_paths(paths)
        if self._rows:
            self._stage.put_rows(self._rows)
            self._rows = []
        if self._files:
            self._stage.put_files(self._files)
            self._files = []
        if self._lost:
            self._stage.put_lost(self._lost)
            self._lost = []

    def take(self) -> int:
        """The next row's number."""
        seq = self.totals.next_seq
        self.totals.next_seq = seq + 1
        return seq

    def problem(self, path: bytes, number: int, what: str) -> None:
        """As `put_problem`."""
        put_problem(self._stage, self._progress, path, number, what)


def _place(seq: int, depth: int) -> int:
    """Where a directory stands in an order in which children come before parents."""
    return seq - (depth << _DEPTH_BITS)
