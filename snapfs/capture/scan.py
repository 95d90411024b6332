"""The walk: compare a live tree with the head of its root and stage what differs.

An unchanged directory costs one listing, one stat per entry and one catalog row. Identities are not
decided here (a name may have moved to where the walk has not been yet): names that could be anyone
are staged open, names that are missing are listed as lost, and `catalog.stage` settles both after.

Nothing is read but names and attributes; the bytes of files come after (`capture.store`).
"""

from __future__ import annotations

import errno
import os
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from stat import S_IFMT, S_IMODE
from typing import Any, NamedTuple

from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.catalog.stage import Lost, Stage
from snapfs.fs.dirstack import DirStack
from snapfs.fs.fingerprint import SLICE, Fingerprint, Glance, glance
from snapfs.fs.handles import proc_child
from snapfs.fs.inodeflags import get_flags
from snapfs.fs.matching import DirRules, RuleMatcher
from snapfs.fs.rules import IGNORE_FILE
from snapfs.fs.temporary import is_temporary
from snapfs.fs.xattrs import read_xattrs
from snapfs.model.kinds import KIND_OF_FORMAT, Kind, State
from snapfs.progress import Problem, Progress

FILE, DIR, SYMLINK = int(Kind.FILE), int(Kind.DIR), int(Kind.SYMLINK)
OK, UNREAD, RACY = int(State.OK), int(State.UNREAD), int(State.RACY)
DEVICES = (int(Kind.CHAR), int(Kind.BLOCK))
SECOND = 1_000_000_000
RACY_MTIME_NS = 60 * SECOND
RACY_CTIME_NS = 2_500_000_000
PRELOADED_DIRECTORIES = 100_000
"""Up to here the directories of the head are read in one query, about 25 MB; else one by one."""
FLUSH_ROWS = 8192
FS_ENCODING = sys.getfilesystemencoding()
TEMPORARY_START = b".snapfs-tmp-"

_kinds = {fmt: int(kind) for fmt, kind in KIND_OF_FORMAT.items()}


class Known(NamedTuple):
    """A child as the head has it (``SCAN_CHILDREN``)."""

    name: bytes
    inode: int
    kind: int
    mode: int
    uid: int
    gid: int
    size: int
    mtime_s: int
    mtime_nsec: int
    ctime_s: int
    ctime_nsec: int
    ino: int
    nlink: int
    rdev: int
    state: int
    content: int | None
    dev: int
    fingerprint: int | None
    tree_digest: bytes | None


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """How a walk compares. The default is every stat field that a change must move."""

    one_file_system: bool = False
    ignore_ctime: bool = False
    ignore_inode: bool = False
    checksum: bool = False
    skip: frozenset[tuple[int, int]] = frozenset()
    """(dev, ino) of directories never captured: the repository."""
    foreign: frozenset[bytes] = frozenset()
    """paths from the root of snapfs' own mounts."""

    @property
    def relaxed(self) -> bool:
        return self.ignore_ctime or self.ignore_inode


@dataclass(slots=True)
class ScanTotals:
    """What the walk saw. Sizes in bytes."""

    entries: int = 0
    files: int = 0
    dirs: int = 0
    total_bytes: int = 0
    to_read: int = 0
    to_read_bytes: int = 0
    next_seq: int = 1
    root_dev: int = 0
    old_root_dev: int = 0
    repository_seen: bool = False


class _Frame:
    """A directory the walk stands in."""

    __slots__ = (
        "above_rules", "by_kind", "by_name", "dirty", "fingerprint", "has_path", "high", "inode", "known", "low",
        "name", "parent", "refresh", "rules", "seq", "st", "state", "todo",
    )  # fmt: skip

    def __init__(self) -> None:
        self.name: bytes | None = None
        self.parent: int | None = None
        self.inode: int | None = None  # the catalog's id, if it is settled already
        self.by_name: int | None = None
        self.by_kind: int | None = None
        self.known: Known | None = None
        self.seq = 0
        self.st: os.stat_result = None  # type: ignore[assignment]
        self.rules: DirRules | None = None
        self.above_rules: DirRules | None = None
        self.state = OK
        self.dirty = False
        self.refresh = False
        self.has_path = False
        self.fingerprint: int | None = None
        self.low: int | None = None
        self.high: int | None = None
        self.todo: Iterator[tuple[Any, ...]] = iter(())

    @property
    def key(self) -> int:
        """What children name as their parent."""
        return -self.seq if self.inode is None else self.inode


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
        on_staged: Callable[[int], None] | None = None,
    ) -> None:
        """Takes over ``root_fd``. ``on_staged`` is told how many files are staged to be
        read, whenever a batch of rows went in.
        """
        self.catalog = catalog
        self.stage = stage
        self.root_fd = root_fd
        self.matcher = matcher
        self.options = options
        self.now_ns = now_ns
        self.progress = progress
        self.totals = ScanTotals()
        self._on_staged = on_staged
        self._rows: list[tuple[Any, ...]] = []
        self._files: list[tuple[Any, ...]] = []
        self._lost: list[Lost] = []
        self._paths: list[tuple[int, bytes]] = []
        self._post = 0
        rules = matcher.rules
        self._rules_digest = rules.digest()
        self._ruled = (
            bool(rules.patterns or rules.caches or rules.if_present or rules.standing)
            or rules.larger_than is not None
        )
        self._directories: dict[tuple[int, bytes], tuple[int, int | None, int]] | None = None
        self._stack: DirStack
        self._frames: list[_Frame] = []

    # --- the walk ------------------------------------------------------------------------------

    def run(self, root_inode: int | None, root_known: Known | None) -> ScanTotals:
        """Walk everything below the root. OSError only if the root itself cannot be read."""
        st = os.fstat(self.root_fd)
        self.totals.root_dev = st.st_dev
        self.totals.old_root_dev = st.st_dev if root_known is None else root_known.dev
        top = _Frame()
        top.st = st
        top.inode = root_inode
        top.known = root_known
        top.seq = self._take(1)
        self._count(st)
        if root_inode is not None:
            self._preload(root_inode)
        with DirStack(self.root_fd) as self._stack:
            self._frames = [top]
            self._enter(top)
            while self._frames:
                frame = self._frames[-1]
                item = next(frame.todo, None)
                if item is None:
                    self._leave(frame)
                else:
                    self._descend(frame, *item)
        self._flush()
        return self.totals

    def _preload(self, root_inode: int) -> None:
        rows = self.catalog.execute(
            sql.SCAN_DIRS, {"root_inode": root_inode, "most": PRELOADED_DIRECTORIES + 1}
        ).fetchall()
        if len(rows) <= PRELOADED_DIRECTORIES:
            self._directories = {(row[0], row[1]): row[2:] for row in rows}

    def _descend(self, above: _Frame, name: bytes, seq: int, known: Any, st: Any) -> None:
        """Go into a subdirectory; ``seq`` is 0 for one whose identity is settled."""
        try:
            fd = self._stack.push(name)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                self._vanished(above, known, seq)
                return
            self._unreadable(above, name, seq, known, st, error)
            return
        frame = _Frame()
        frame.name = name
        frame.parent = above.key
        frame.st = os.fstat(fd)
        if known is not None:
            frame.by_name, frame.by_kind = known[1], known[2]
            if seq == 0:
                frame.inode = known[1]
            frame.known = known
        frame.seq = seq
        frame.above_rules = above.rules
        self._frames.append(frame)
        self._enter(frame)

    def _leave(self, frame: _Frame) -> None:
        self._frames.pop()
        above = self._frames[-1] if self._frames else None
        if frame.dirty or frame.refresh or frame.inode is None:
            self._stage_directory(frame)
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
        self._problem(path, error.errno or 0, "moved while it was read")
        frame.state = RACY
        frame.fingerprint = None
        frame.refresh = True
        frame.todo = iter(())

    # --- one directory -------------------------------------------------------------------------

    def _enter(self, frame: _Frame) -> None:
        fd = self._stack.fd
        try:
            names = sorted([name.encode(FS_ENCODING, "surrogateescape") for name in os.listdir(fd)])
        except OSError as error:
            self._unlisted(frame, error)
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
            self._all_new(frame, fd, names)
        else:
            self._compare(frame, fd, names)

    def _is_border(self, frame: _Frame) -> bool:
        """Whether the directory is kept but nothing in it: another filesystem, our own mount."""
        if self.options.one_file_system and frame.st.st_dev != self.totals.root_dev:
            return True
        return bool(self.options.foreign) and self._stack.path() in self.options.foreign

    def _seen(
        self, frame: _Frame, fd: int, names: list[bytes]
    ) -> Iterator[tuple[bytes, os.stat_result]]:
        """The entries that count, with their stat; what vanishes meanwhile is passed over."""
        lstat = os.lstat
        rules = frame.rules
        skip = self.options.skip
        for name in names:
            try:
                st = lstat(name, dir_fd=fd)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._problem(self._child_path(name), error.errno or 0, "cannot be examined")
                continue
            if name.startswith(TEMPORARY_START) and is_temporary(name):
                continue
            if rules is not None:
                is_dir = S_IFMT(st.st_mode) == 0o040000
                is_file = S_IFMT(st.st_mode) == 0o100000
                if rules.excluded(name, is_dir, st.st_size if is_file else 0):
                    continue
            if skip and (st.st_dev, st.st_ino) in skip:
                self.totals.repository_seen = True
                continue
            yield name, st

    def _all_new(self, frame: _Frame, fd: int, names: list[bytes]) -> None:
        """A directory that nothing is known of: every child is staged.

        Regular files, by far the most frequent, are staged right here: a call more for each of a
        million files is a second more.
        """
        totals, now_ns = self.totals, self.now_ns
        mark = Fingerprint(self._digest(frame))
        add = mark.add if not self.options.relaxed else _ignore
        parent = frame.key
        first = self.stage.first
        below: list[tuple[Any, ...]] = []
        low = seq = totals.next_seq
        sound = True
        owner: tuple[int, int, int] | None = None
        attr = files = read_bytes = 0
        staged = self._files
        for name, st in self._seen(frame, fd, names):
            add(name, st)
            mode = st.st_mode
            if mode & 0o170000 == 0o100000:
                mtime_ns, ctime_ns = st.st_mtime_ns, st.st_ctime_ns
                racy = (
                    -RACY_CTIME_NS < now_ns - ctime_ns < RACY_CTIME_NS
                    or -RACY_MTIME_NS < now_ns - mtime_ns < RACY_MTIME_NS
                )
                if racy:
                    sound = False
                who = (mode, st.st_uid, st.st_gid)
                if who != owner:
                    owner = who
                    attr = self.stage.attr(mode & 0o7777, st.st_uid, st.st_gid, 0, b"")
                size = st.st_size
                files += 1
                read_bytes += size
                staged.append((
                    seq, parent, parent, name, -seq if first else None, attr, size,
                    *divmod(mtime_ns, SECOND), RACY if racy else OK, *divmod(ctime_ns, SECOND),
                    _signed(st.st_dev), _signed(st.st_ino), st.st_nlink,
                ))  # fmt: skip
            elif mode & 0o170000 == 0o040000:
                below.append((name, seq, None, st))
                totals.dirs += 1
            else:
                inode = -seq if first else None
                if self._stage_leaf(parent, name, st, seq, inode, None, fd) != OK:
                    sound = False
            seq += 1
            if len(staged) >= FLUSH_ROWS:
                self._count_new(frame, files, read_bytes)
                files = read_bytes = 0
                self._flush()
                staged = self._files
        self._count_new(frame, files, read_bytes)
        totals.next_seq = seq
        totals.entries += seq - low
        frame.low, frame.high = low, seq - 1
        frame.fingerprint = mark.value() if sound and not self.options.relaxed else None
        frame.dirty = True
        frame.todo = iter(below)
        self.progress.advance(entries=seq - low)

    def _count_new(self, frame: _Frame, files: int, total_bytes: int) -> None:
        """So many files of a directory are to be read."""
        if not files:
            return
        if not frame.has_path:
            frame.has_path = True
            self._paths.append((frame.key, self._stack.path()))
        totals = self.totals
        totals.files += files
        totals.total_bytes += total_bytes
        totals.to_read += files
        totals.to_read_bytes += total_bytes

    def _compare(self, frame: _Frame, fd: int, names: list[bytes]) -> None:
        """A directory that the head has: see whether any child could have changed."""
        stored = frame.known.fingerprint if frame.known is not None else None
        if not (self.options.relaxed or self.options.checksum):
            seen = None
            if frame.rules is None and len(names) <= SLICE and not _has_temporary(names):
                seen = glance(fd, names, self._rules_digest, self.options.skip)
            if seen is None:
                mark = Fingerprint(self._digest(frame))
                for name, st in self._seen(frame, fd, names):
                    mark.add(name, st)
                frame.fingerprint = mark.value()
            else:
                frame.fingerprint = seen.value
            if stored is not None and stored == frame.fingerprint:
                self._confirmed(frame, fd, names, seen)
                return
        # What differs is examined once more, this time beside the head's rows.
        self._merge(frame, fd, self._seen(frame, fd, names))
        frame.refresh = frame.refresh or frame.fingerprint != stored

    def _confirmed(self, frame: _Frame, fd: int, names: list[bytes], seen: Glance | None) -> None:
        """Nothing changed here; there may still be changes further down."""
        if seen is None:
            directories = []
            before = self.totals.entries
            for name, st in self._seen(frame, fd, names):
                self._count(st)
                if st.st_mode & 0o170000 == 0o040000:
                    directories.append((name, st))
            count = self.totals.entries - before
        else:
            directories, count = seen.directories, seen.entries
            totals = self.totals
            totals.entries += count
            totals.files += seen.files
            totals.dirs += len(directories)
            totals.total_bytes += seen.total_bytes
        if directories:
            parent = frame.key
            below: list[tuple[Any, ...]] = []
            for name, st in directories:
                row = self._directory_row(parent, name)
                if row is None:  # the catalog contradicts itself: look closely instead
                    frame.fingerprint = None
                    frame.refresh = True
                    continue
                below.append((name, 0, _known_directory(name, st, row), st))
            frame.todo = iter(below)
        self._check_own(frame)
        self.progress.advance(entries=count)

    def _directory_row(self, parent: int, name: bytes) -> tuple[int, int | None, int] | None:
        """Inode, fingerprint and state of a directory of the head."""
        if self._directories is not None:
            return self._directories.get((parent, name))
        row = self.catalog.one(sql.SCAN_DIR, {"parent": parent, "name": name})
        return None if row is None else (row[0], row[1], row[2])

    def _merge(self, frame: _Frame, fd: int, seen: Iterator[tuple[bytes, os.stat_result]]) -> None:
        """Walk the live names and the head's side by side."""
        parent = frame.key
        rows = iter(self.catalog.execute(sql.SCAN_CHILDREN, {"parent": parent}).fetchall())
        old = next(rows, None)
        below: list[tuple[Any, ...]] = []
        sound = not self.options.relaxed
        count = 0
        low = self.totals.next_seq
        for name, st in seen:
            count += 1
            self._count(st)
            while old is not None and old[0] < name:
                self._lose(parent, Known(*old))
                frame.dirty = True
                old = next(rows, None)
            known = None
            if old is not None and old[0] == name:
                known = Known(*old)
                old = next(rows, None)
            kind = _kinds.get(st.st_mode & 0o170000, 0)
            if known is not None and known.kind == kind and self._same_inode(known, st):
                if kind == DIR:
                    below.append((name, 0, known, st))
                    continue
                if self._same(known, st):
                    continue
                seq = self._take(1)
                state = self._stage_leaf(parent, name, st, seq, known.inode, known, fd)
                frame.dirty = True
            else:
                if known is not None:
                    self._lose(parent, known)
                seq = self._take(1)
                frame.dirty = True
                if kind == DIR:
                    below.append((name, seq, known, st))
                    continue
                state = self._stage_leaf(parent, name, st, seq, None, known, fd)
            sound = sound and state == OK
        while old is not None:
            self._lose(parent, Known(*old))
            frame.dirty = True
            old = next(rows, None)
        frame.low, frame.high = low, self.totals.next_seq - 1
        if not sound:
            frame.fingerprint = None
        frame.todo = iter(below)
        self._check_own(frame)
        self.progress.advance(entries=count)

    def _check_own(self, frame: _Frame) -> None:
        """Whether the attributes of a known directory itself have changed."""
        known = frame.known
        if known is None or not self._same(known, frame.st):
            frame.refresh = True
            if frame.name is None or known is None or not self._same_shown(known, frame.st):
                frame.dirty = True
            else:
                # ctime alone: its attributes are read again, which may show a change.
                frame.dirty = True

    # --- comparing -----------------------------------------------------------------------------

    def _same_inode(self, known: Known, st: os.stat_result) -> bool:
        return self.options.ignore_inode or known.ino == _signed(st.st_ino)

    def _same_shown(self, known: Known, st: os.stat_result) -> bool:
        return (
            known.mode == S_IMODE(st.st_mode)
            and known.uid == st.st_uid
            and known.gid == st.st_gid
            and (known.mtime_s, known.mtime_nsec) == divmod(st.st_mtime_ns, SECOND)
        )

    def _same(self, known: Known, st: os.stat_result) -> bool:
        """Whether nothing that is compared has changed since the head was taken."""
        options = self.options
        if known.state != OK or not self._same_shown(known, st):
            return False
        if not options.ignore_ctime and (known.ctime_s, known.ctime_nsec) != divmod(
            st.st_ctime_ns, SECOND
        ):
            return False
        if not self._same_inode(known, st):
            return False
        if known.kind == DIR:
            return True
        return (
            known.size == st.st_size
            and (options.ignore_inode or known.nlink == st.st_nlink)
            and not (options.checksum and known.kind == FILE)
            and (known.kind not in DEVICES or known.rdev == _signed(st.st_rdev))
        )

    def _racy(self, kind: int, st: os.stat_result) -> bool:
        if -RACY_CTIME_NS < self.now_ns - st.st_ctime_ns < RACY_CTIME_NS:
            return True
        return kind == FILE and abs(self.now_ns - st.st_mtime_ns) < RACY_MTIME_NS

    # --- staging -------------------------------------------------------------------------------

    def _stage_leaf(
        self,
        parent: int,
        name: bytes,
        st: os.stat_result,
        seq: int,
        inode: int | None,
        known: Known | None,
        fd: int,
    ) -> int:
        """Stage a name that is no directory; returns its state."""
        mode = st.st_mode
        kind = _kinds.get(mode & 0o170000, 0)
        mtime_s, mtime_nsec = divmod(st.st_mtime_ns, SECOND)
        ctime_s, ctime_nsec = divmod(st.st_ctime_ns, SECOND)
        state = RACY if self._racy(kind, st) else OK
        target: bytes | None = None
        content: int | None = None
        need = 0
        xattr = b""
        attr: int | None = None
        size = st.st_size
        by_name = None if known is None else known.inode
        by_kind = None if known is None else known.kind
        if kind == FILE:
            if known is not None and inode == known.inode and self._keeps_bytes(known, st):
                content = known.content
            else:
                need = 1
                frame = self._frames[-1]
                if not frame.has_path:
                    frame.has_path = True
                    self._paths.append((frame.key, self._stack.path()))
                self.totals.to_read += 1
                self.totals.to_read_bytes += size
                attr = self.stage.attr(mode & 0o7777, st.st_uid, st.st_gid, 0, b"")
        else:
            size = 0
            try:
                if kind == SYMLINK:
                    target = os.readlink(name, dir_fd=fd)
                xattr = read_xattrs(proc_child(fd, name))
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.EINVAL):
                    self._problem(self._child_path(name), error.errno or 0, "cannot be read")
                state = UNREAD
            attr = self.stage.attr(mode & 0o7777, st.st_uid, st.st_gid, 0, xattr)
        self._rows.append((
            seq, parent, parent, name, inode,
            1 if by_name is None or by_name != inode else 0, 1, by_name, by_kind,
            None, None, None, need, kind, attr, size, mtime_s, mtime_nsec,
            _signed(st.st_rdev) if kind in DEVICES else 0, target, content, state,
            ctime_s, ctime_nsec, _signed(st.st_dev), _signed(st.st_ino), st.st_nlink, None,
        ))  # fmt: skip
        if len(self._rows) >= FLUSH_ROWS:
            self._flush()
        return state

    def _keeps_bytes(self, known: Known, st: os.stat_result) -> bool:
        """Whether the stat says that neither bytes nor attributes can have changed."""
        options = self.options
        return (
            known.state == OK
            and known.size == st.st_size
            and self._same_shown(known, st)
            and (
                options.ignore_ctime
                or (known.ctime_s, known.ctime_nsec) == divmod(st.st_ctime_ns, SECOND)
            )
            and not options.checksum
        )

    def _stage_directory(self, frame: _Frame) -> None:
        """Stage the row of a directory, when everything below it is known."""
        st = frame.st
        mtime_s, mtime_nsec = divmod(st.st_mtime_ns, SECOND)
        ctime_s, ctime_nsec = divmod(st.st_ctime_ns, SECOND)
        state = frame.state
        if state == OK and self._racy(DIR, st):
            state = RACY
        xattr = b""
        flags = 0
        fd = self._stack.fd
        try:
            if frame.state == UNREAD:
                xattr = read_xattrs(proc_child(fd, frame.name or b"."))
            else:
                xattr = read_xattrs(fd)
                flags = get_flags(fd)
        except OSError as error:
            self._problem(self._stack.path(), error.errno or 0, "attributes cannot be read")
        seq = frame.seq or self._take(1)
        inode = frame.inode
        if inode is None and self.stage.first:
            inode = -seq
        self._post += 1
        self._rows.append((
            seq, None, frame.parent, frame.name, inode,
            0 if frame.name is None or frame.by_name == inode else 1,
            1, frame.by_name, frame.by_kind, self._post, frame.low, frame.high, 0, DIR,
            self.stage.attr(S_IMODE(st.st_mode), st.st_uid, st.st_gid, flags, xattr),
            0, mtime_s, mtime_nsec, 0, None, None, state, ctime_s, ctime_nsec,
            _signed(st.st_dev), _signed(st.st_ino), st.st_nlink,
            frame.fingerprint if state != UNREAD else None,
        ))  # fmt: skip
        if state != OK and len(self._frames) > 0:
            above = self._frames[-1]
            above.fingerprint = None
            above.refresh = True
        if len(self._rows) >= FLUSH_ROWS:
            self._flush()

    def _lose(self, parent: int, known: Known) -> None:
        dev = known.dev
        if dev == self.totals.old_root_dev:
            dev = self.totals.root_dev
        self._lost.append(Lost(parent, known.name, known.inode, known.kind, dev, known.ino))
        if len(self._lost) >= FLUSH_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._paths:
            self.stage.put_paths(self._paths)
            self._paths = []
        if self._rows:
            self.stage.put_rows(self._rows)
            self._rows = []
        if self._files:
            self.stage.put_files(self._files)
            self._files = []
            if self._on_staged is not None:
                self._on_staged(self.totals.to_read)
        if self._lost:
            self.stage.put_lost(self._lost)
            self._lost = []

    def _take(self, count: int) -> int:
        seq = self.totals.next_seq
        self.totals.next_seq = seq + count
        return seq

    def _count(self, st: os.stat_result) -> None:
        totals = self.totals
        totals.entries += 1
        fmt = st.st_mode & 0o170000
        if fmt == 0o100000:
            totals.files += 1
            totals.total_bytes += st.st_size
        elif fmt == 0o040000:
            totals.dirs += 1

    def _digest(self, frame: _Frame) -> bytes:
        return self._rules_digest if frame.rules is None else frame.rules.digest

    # --- trouble -------------------------------------------------------------------------------

    def _vanished(self, above: _Frame, known: Known | None, seq: int) -> None:
        """A subdirectory went away between its stat and its opening: it is not there."""
        above.fingerprint = None
        above.refresh = True
        above.dirty = True
        if known is not None and seq == 0:
            self._lose(above.key, known)

    def _unreadable(
        self, above: _Frame, name: bytes, seq: int, known: Known | None, st: Any, error: OSError
    ) -> None:
        """A subdirectory that cannot be opened keeps its children's identities."""
        frame = _Frame()
        frame.name = name
        frame.parent = above.key
        frame.st = st
        frame.seq = seq
        frame.state = UNREAD
        if known is not None:
            frame.by_name, frame.by_kind = known.inode, known.kind
            if seq == 0:
                frame.inode = known.inode
        path = self._child_path(name)
        self._problem(path, error.errno or 0, "directory cannot be opened")
        above.dirty = True
        self._stage_directory(frame)

    def _unlisted(self, frame: _Frame, error: OSError) -> None:
        self._problem(self._stack.path(), error.errno or 0, "directory cannot be listed")
        frame.state = UNREAD
        frame.dirty = True

    def _problem(self, path: bytes, number: int, what: str) -> None:
        self.stage.put_problem(path, number, what)
        self.progress.problem(Problem(path, number, what))

    def _child_path(self, name: bytes) -> bytes:
        above = self._stack.path()
        return above + b"/" + name if above else name


def _ignore(_name: bytes, _st: os.stat_result) -> None:
    """In place of `Fingerprint.add` where none is kept."""


def _has_temporary(names: list[bytes]) -> bool:
    """Whether one of the sorted names could be a temporary file of a restore."""
    at = bisect_left(names, TEMPORARY_START)
    return at < len(names) and names[at].startswith(TEMPORARY_START)


def _known_directory(name: bytes, st: os.stat_result, row: tuple[Any, ...]) -> Known:
    """A directory whose stat the fingerprint of its parent has confirmed."""
    mtime_s, mtime_nsec = divmod(st.st_mtime_ns, SECOND)
    ctime_s, ctime_nsec = divmod(st.st_ctime_ns, SECOND)
    return Known(
        name, row[0], DIR, S_IMODE(st.st_mode), st.st_uid, st.st_gid, 0, mtime_s, mtime_nsec,
        ctime_s, ctime_nsec, _signed(st.st_ino), st.st_nlink, 0, row[2], None,
        _signed(st.st_dev), row[1], None,
    )  # fmt: skip


def _signed(value: int) -> int:
    """Unsigned 64-bit numbers are stored as signed ones."""
    return value - (1 << 64) if value >= 1 << 63 else value
