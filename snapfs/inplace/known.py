"""Which live files are known to be as wanted, so that a restore need not write them again."""

from __future__ import annotations

import os
from collections.abc import Iterator

from snapfs.blocks.digest import block_digest
from snapfs.catalog import streams, view
from snapfs.catalog.places import places
from snapfs.errors import DamageError
from snapfs.fs.handles import open_file
from snapfs.fs.holes import sparse_ranges
from snapfs.materialize.wanted import Same
from snapfs.model.entry import Entry
from snapfs.model.extents import ExtentKind
from snapfs.model.kinds import State
from snapfs.repository.opened import Repository

SECOND = 1_000_000_000


class KnownFiles:
    """Answers whether a live file already has the wanted bytes.

    In place, the head's record is the proof: a file whose stat has not moved since it was captured
    has the captured bytes. Elsewhere, size and mtime are believed, since a restore sets the mtime
    last; sparse files get their size too early and are read.
    """

    def __init__(
        self, repository: Repository, at: int | None, *, in_place: bool, sparse: bool
    ) -> None:
        """``at`` is the snapshot whose entries are asked about, None for the head itself.

        In place holes have to be where they were, unless zeros may be holes (``sparse``).
        """
        self._holes_count = in_place and not sparse
        self._repository = repository
        self._at = at
        self._in_place = in_place
        self._records: Iterator[Entry] = iter(())
        self._record: Entry | None = None

    def enter(self, directory: Entry) -> None:
        """The restore comes to another directory, whose entries come by name."""
        if self._in_place and self._at is not None:
            catalog = self._repository.catalog
            self._records = streams.each_child(catalog, directory.inode, None)
            self._record = next(self._records, None)

    def same(self, entry: Entry, live: os.stat_result, dir_fd: int) -> Same:
        """How much of a live regular file is as wanted."""
        if self._in_place:
            same = self._recorded(entry, live)
            if same is Same.NO and live.st_size == entry.size and self._reads_same(entry, dir_fd):
                return Same.BYTES  # reading is cheaper than writing, and keeps links from outside
            return same
        return self._looks_same(entry, live, dir_fd)

    def _recorded(self, entry: Entry, live: os.stat_result) -> Same:
        head = self._head(entry)
        if head is None or head.state != State.OK or entry.state == State.UNREAD:
            return Same.NO
        unmoved = (
            head.ino % (1 << 64) == live.st_ino
            and head.size == live.st_size
            and (head.mtime_s, head.mtime_nsec) == divmod(live.st_mtime_ns, SECOND)
            and (head.ctime_s, head.ctime_nsec) == divmod(live.st_ctime_ns, SECOND)
        )
        if not unmoved or head.content != entry.content or head.size != entry.size:
            return Same.NO
        shown = ("mode", "uid", "gid", "flags", "xattr", "mtime_s", "mtime_nsec")
        if all(getattr(head, name) == getattr(entry, name) for name in shown):
            return Same.ALL
        return Same.BYTES

    def _head(self, entry: Entry) -> Entry | None:
        """The head's record of the same inode, which has the same name there as a rule."""
        if self._at is None:
            return entry
        record = self._record
        while record is not None and record.name < entry.name:
            record = next(self._records, None)
        self._record = record
        if record is not None and record.inode == entry.inode:
            return record
        return view.inode(self._repository.catalog, entry.inode, None)

    def _looks_same(self, entry: Entry, live: os.stat_result, dir_fd: int) -> Same:
        if live.st_size != entry.size:
            return Same.NO
        if (entry.mtime_s, entry.mtime_nsec) != divmod(live.st_mtime_ns, SECOND):
            return Same.NO
        if live.st_blocks * 512 < live.st_size and not self._reads_same(entry, dir_fd):
            return Same.NO
        return Same.BYTES

    def _reads_same(self, entry: Entry, dir_fd: int) -> bool:
        try:
            fd = open_file(entry.name, dir_fd)
        except OSError:
            return False
        try:
            offset = 0
            holes: list[tuple[int, int]] = []
            for place in places(self._repository.catalog, entry.content):
                if place.kind == ExtentKind.BLOCK:
                    data = os.pread(fd, place.length, offset)
                    if len(data) != place.length or block_digest(data) != place.digest:
                        return False
                elif not self._is_zero(fd, offset, place.length):
                    return False
                if place.kind == ExtentKind.HOLE:
                    holes.append((offset, place.length))
                offset += place.length
            if not self._holes_count:
                return True
            ranges = sparse_ranges(fd, entry.size)
            return holes == [(part.offset, part.length) for part in ranges if not part.is_data]
        except (OSError, DamageError):
            return False
        finally:
            os.close(fd)

    @staticmethod
    def _is_zero(fd: int, offset: int, length: int) -> bool:
        """Whether a range reads as zeros; holes are not read."""
        end = offset + length
        while offset < end:
            try:
                offset = os.lseek(fd, offset, os.SEEK_DATA)
            except OSError:
                return True
            if offset >= end:
                return True
            data = os.pread(fd, min(1 << 20, end - offset), offset)
            if not data or data.strip(b"\0"):
                return False
            offset += len(data)
        return True
