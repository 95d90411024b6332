"""Reading files: bytes into blocks, with the map of holes, attributes and the proof of no change.

A file is stat-ed by the scan before and here after it is read; where the two differ it is read again,
three times at most, then kept as it is and reported. The code runs in the worker processes, or in the
parent itself where there is little to read.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import NamedTuple

from snapfs.blocks.chunker import WHOLE_MAX, is_zero
from snapfs.blocks.digest import DigestedExtent, block_digest, canonical_extents, content_digest
from snapfs.blocks.pack import PackInfo
from snapfs.capture.cutter import BLOCK, Cutter
from snapfs.capture.held import Held, KnownBlocks, Sink
from snapfs.fs.handles import NO_DIRECTORY, open_below, open_file
from snapfs.fs.holes import Range, has_holes, sparse_ranges
from snapfs.fs.inodeflags import get_flags
from snapfs.fs.xattrs import has_xattrs, read_xattrs
from snapfs.model.extents import ExtentKind, pack_digest_extents
from snapfs.model.path import join
from snapfs.model.toread import ToRead

HOLE = int(ExtentKind.HOLE)
SECOND = 1_000_000_000
TRIES = 3
SMALLEST_BLOCK = 1024
"""Of filesystems: a file within one has no hole beside its data."""
MOVED = "was moved or removed while it was read"
"""Of a directory that is not where it was."""
PATH_LIMIT = 4000
"""Longer paths are opened component by component (PATH_MAX is 4096)."""

_GONE = NO_DIRECTORY | {errno.ENXIO}
"""What opening gives where no file is any more: ENXIO where a socket is."""


class Outcome(IntEnum):
    """How reading a file ended."""

    READ = 0
    CHANGED = 1
    """read, but it changed each time: kept as it was last"""
    VANISHED = 2
    FAILED = 3


class FileRead(NamedTuple):
    """What reading one file gave.

    ``digest`` is that of the content, None for an empty file or a failure. ``extents`` is None where
    the content is that one block, else packed (``model.extents``): a file of 20 GB has 270,000.
    ``fresh`` is the stat (size, mtime_ns, ctime_ns) where it is no longer the scan's. ``errno`` and
    ``what`` tell of a failure.
    """

    seq: int
    outcome: int
    digest: bytes | None
    size: int
    extents: bytes | None
    flags: int
    xattr: bytes
    fresh: tuple[int, int, int] | None
    errno: int
    what: str
    replaced: bool = False
    """whether another file stands under the name than the scan saw"""


class BatchRead(NamedTuple):
    """What reading a batch gave: ``plain`` is (digest, seq) of files that are one block (None: empty)
    and as the scan saw them, ``special`` the rest, with their places in the batch.
    """

    plain: list[tuple[bytes | None, int]]
    special: list[tuple[int, FileRead]]
    read_bytes: int
    told_bytes: int
    """those of which was told on the way"""
    packs: list[PackInfo]


class Undisturbed(NamedTuple):
    """A file as nearly all are: one block (``b""``: empty), without holes, and as the scan saw it."""

    digest: bytes
    flags: int
    xattr: bytes


class FileReader:
    """Reads batches of files of one root into one sink."""

    def __init__(
        self, root_fd: int, sink: Sink, known: KnownBlocks | None, tell: Callable[[int], None]
    ) -> None:
        """``known`` None: the repository has no blocks yet, nobody need be asked. ``tell`` hears of
        bytes that were read of large files, while they are read.
        """
        self._tell = tell
        self._told = 0
        self._root_fd = root_fd
        self._sink = sink
        self._cutter = Cutter(sink, known, self._tell_more)
        self.held = Held(sink, known)

    def read(self, batch: Sequence[ToRead]) -> BatchRead:
        """Read a batch; the packs that were finished meanwhile are told with it.

        Raises StorageFullError and StorageError of the repository; trouble with a file is a result.
        """
        plain: list[tuple[bytes | None, int]] = []
        special: list[tuple[int, FileRead]] = []
        read_bytes = 0
        for number, item in enumerate(batch):
            seen = self._undisturbed(item)
            if seen is not None:
                read_bytes += item.size
                if not (seen.flags or seen.xattr):
                    plain.append((seen.digest or None, item.seq))
                    continue
                result = FileRead(
                    item.seq, Outcome.READ, seen.digest or None, item.size, None, seen.flags,
                    seen.xattr, None, 0, "",
                )  # fmt: skip
                special.append((number, result))
                continue
            result = self._one(item)
            if result.outcome in (Outcome.READ, Outcome.CHANGED):
                read_bytes += result.size
            if result.outcome == Outcome.READ and not (
                result.extents or result.flags or result.xattr or result.fresh
            ):
                plain.append((result.digest, item.seq))
            else:
                special.append((number, result))
        self.held.store()
        told, self._told = self._told, 0
        return BatchRead(plain, special, read_bytes, told, self._sink.take_finished())

    def take_packs(self) -> list[PackInfo]:
        """The packs that were finished since they were last told."""
        return self._sink.take_finished()

    def flush(self) -> list[PackInfo]:
        """Finish the open pack."""
        return self._sink.flush()

    # --- one file ------------------------------------------------------------------------------

    def _undisturbed(self, item: ToRead) -> Undisturbed | None:
        """A file, if it is `Undisturbed`; else `_one` tells."""
        _, directory, name, size, mtime_s, mtime_nsec, ctime_s, ctime_nsec, dev, ino, _, _ = item
        path = join(directory, name)
        if len(path) >= PATH_LIMIT:
            return None
        return self.look(
            self._root_fd, path, name, size, mtime_s * SECOND + mtime_nsec,
            ctime_s * SECOND + ctime_nsec, dev, ino,
        )  # fmt: skip

    def look(
        self,
        dir_fd: int,
        path: bytes,
        name: bytes,
        size: int,
        mtime_ns: int,
        ctime_ns: int,
        dev: int,
        ino: int,
    ) -> Undisturbed | None:
        """Read the file ``path`` in ``dir_fd`` and hold its bytes, unless there is more to it than that.

        The rest is what the scan saw of it; ``name`` is the last of the path. `Held.store` must follow
        some time.
        """
        if size > WHOLE_MAX:
            return None
        try:
            fd = open_file(path, dir_fd)
        except OSError:
            return None
        try:
            data = os.read(fd, size + 1)
            st = os.fstat(fd)
            if (
                len(data) != size
                or st.st_size != size
                or st.st_mtime_ns != mtime_ns
                or st.st_ctime_ns != ctime_ns
                # A directory on the way that has become a symlink since leads to another inode.
                or st.st_ino != ino % (1 << 64)
                or st.st_dev != dev % (1 << 64)
                or not stat.S_ISREG(st.st_mode)
                or (size > min(st.st_blksize, 4096) and has_holes(fd, size))
                or (size and not data[0] and is_zero(data))
            ):
                return None
            flags = get_flags(fd)
            xattr = b""
            if has_xattrs(fd):
                xattr = read_xattrs(fd)
        except OSError:
            return None
        finally:
            os.close(fd)
        if not data:
            return Undisturbed(b"", flags, xattr)
        digest = block_digest(data)
        self.held.add(name, digest, data)
        return Undisturbed(digest, flags, xattr)

    def _one(self, item: ToRead) -> FileRead:
        expected = (
            item.size,
            item.mtime_s * SECOND + item.mtime_nsec,
            item.ctime_s * SECOND + item.ctime_nsec,
        )
        try:
            above = open_below(self._root_fd, item.directory.split(b"/") if item.directory else ())
        except OSError as error:
            if error.errno in _GONE:
                return _failure(item, Outcome.VANISHED, None)._replace(what=MOVED)
            return _failure(item, Outcome.FAILED, error)
        try:
            fd = open_file(item.name, above)
        except OSError as error:
            if error.errno in _GONE:
                return _failure(item, Outcome.VANISHED, error)
            return _failure(item, Outcome.FAILED, error)
        finally:
            os.close(above)
        try:
            st = os.fstat(fd)
            if not stat.S_ISREG(st.st_mode):
                return _failure(item, Outcome.VANISHED, None)
            for attempt in range(TRIES):
                before = os.fstat(fd) if attempt or item.size > WHOLE_MAX else None
                if before is not None and not stat.S_ISREG(before.st_mode):
                    return _failure(item, Outcome.VANISHED, None)
                size = item.size if before is None else before.st_size
                digest, total, extents = self._content(fd, size, before)
                after = os.fstat(fd)
                if not stat.S_ISREG(after.st_mode):
                    return _failure(item, Outcome.VANISHED, None)
                now = (after.st_size, after.st_mtime_ns, after.st_ctime_ns)
                same_inode = after.st_ino == item.ino % (1 << 64)
                if now == expected and same_inode:
                    break
                if before is not None and now == (
                    before.st_size,
                    before.st_mtime_ns,
                    before.st_ctime_ns,
                ):
                    break
            quiet = now == expected and same_inode
            settled = quiet or (
                before is not None
                and now == (before.st_size, before.st_mtime_ns, before.st_ctime_ns)
            )
            return FileRead(
                item.seq,
                Outcome.READ if settled else Outcome.CHANGED,
                digest,
                total,
                None if extents is None else pack_digest_extents(extents),
                get_flags(fd),
                read_xattrs(fd),
                None if quiet and total == item.size else (total, now[1], now[2]),
                0,
                "",
                not same_inode,
            )
        except OSError as error:
            return _failure(item, Outcome.FAILED, error)
        finally:
            os.close(fd)

    def _content(
        self, fd: int, size: int, before: os.stat_result | None
    ) -> tuple[bytes | None, int, list[DigestedExtent] | None]:
        """Digest, size and extents of what is in the file now."""
        if size <= WHOLE_MAX and before is None:
            data = _read(fd, size + 1)
            if len(data) == size:
                return self._whole(fd, data)
            before = os.fstat(fd)
            size = before.st_size
        if size == 0:
            return None, 0, None
        if size <= WHOLE_MAX:
            return self._whole(fd, _read(fd, size))
        return self._large(fd, size)

    def _whole(self, fd: int, data: bytes) -> tuple[bytes | None, int, list[DigestedExtent] | None]:
        size = len(data)
        if not data:
            return None, 0, None
        zero = is_zero(data)
        ranges = sparse_ranges(fd, size) if zero or size > SMALLEST_BLOCK else []
        if zero or ranges:
            extents = self._ranges(fd, size, ranges)
            if len(extents) != 1 or extents[0][0] != BLOCK:
                return content_digest(extents), size, extents
        digest = block_digest(data)
        self.held.add(b"", digest, data)
        return digest, size, None

    def _large(self, fd: int, size: int) -> tuple[bytes | None, int, list[DigestedExtent] | None]:
        self.held.store()
        extents = self._ranges(fd, size, sparse_ranges(fd, size))
        total = sum(length for _, length, _ in extents)
        if not extents:
            return None, 0, None
        digest = content_digest(extents)
        if len(extents) == 1 and extents[0][0] == BLOCK:
            return digest, total, None
        return digest, total, extents

    # --- bytes ---------------------------------------------------------------------------------

    def _ranges(self, fd: int, size: int, ranges: Sequence[Range]) -> list[DigestedExtent]:
        """The extents of a file, its blocks stored; ends early where the file does.

        ``ranges`` are its data and holes, none if it has no hole.
        """
        extents: list[DigestedExtent] = []
        for is_data, offset, length in ranges or (Range(True, 0, size),):
            if not is_data:
                extents.append((HOLE, length, b""))
            elif self._data(fd, offset, length, extents) < length:
                break
        return canonical_extents(extents)

    def _data(self, fd: int, offset: int, length: int, extents: list[DigestedExtent]) -> int:
        """Cut and store ``length`` bytes from ``offset``; how many there were."""
        at = offset

        def fill(view: memoryview) -> int:
            nonlocal at
            got = os.preadv(fd, [view], at)
            at += got
            return got

        return self._cutter.cut(fill, extents, length)

    def _tell_more(self, amount: int) -> None:
        self._told += amount
        self._tell(amount)


def _read(fd: int, size: int) -> bytes:
    """Up to ``size`` bytes from the start; fewer only if the file ends there.

    A read that stops short may stand before a bad sector: only the next one tells.
    """
    data = os.pread(fd, size, 0)
    while len(data) < size - 1:
        more = os.pread(fd, size - len(data), len(data))
        if not more:
            break
        data += more
    return data


def _failure(item: ToRead, outcome: Outcome, error: OSError | None) -> FileRead:
    number = 0 if error is None else error.errno or 0
    what = "vanished" if outcome == Outcome.VANISHED else "cannot be read"
    return FileRead(item.seq, outcome, None, item.size, None, 0, b"", None, number, what)
