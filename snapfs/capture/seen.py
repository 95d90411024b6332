"""What a walk knows of entries: from the head, from the live directory, and how to compare them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from stat import S_IMODE
from typing import Any, NamedTuple

from snapfs.blocks.treedigest import TreeParts
from snapfs.fs.matching import DirRules
from snapfs.model.kinds import KIND_OF_FORMAT, Kind, State

FILE, DIR, SYMLINK = int(Kind.FILE), int(Kind.DIR), int(Kind.SYMLINK)
OK, UNREAD, RACY = int(State.OK), int(State.UNREAD), int(State.RACY)
DEVICES = (int(Kind.CHAR), int(Kind.BLOCK))
SECOND = 1_000_000_000
RACY_MTIME_NS = 60 * SECOND
"""A store through a map may reach the file, and its times, as late as this."""
RACY_CTIME_NS = 2_500_000_000
"""Coarsest clock of a filesystem (2 s), and the time of the scan itself."""
KINDS = {fmt: int(kind) for fmt, kind in KIND_OF_FORMAT.items()}


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


class Confirmed(NamedTuple):
    """A directory of the head whose own stat the fingerprint of its parent has confirmed."""

    inode: int
    fingerprint: int | None
    state: int


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """How a walk compares. The default is every stat field that a change must move."""

    one_file_system: bool = False
    ignore_ctime: bool = False
    ignore_inode: bool = False
    checksum: bool = False
    skip: frozenset[tuple[int, int]] = frozenset()
    """(dev, ino) of directories never captured: the repository."""
    spare: Callable[[bytes], bool] | None = None
    """says of a path that is left out for a marker or its size that it is wanted all the same"""
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

    def count(self, st: os.stat_result) -> None:
        """One entry more."""
        self.entries += 1
        fmt = st.st_mode & 0o170000
        if fmt == 0o100000:
            self.files += 1
            self.total_bytes += st.st_size
        elif fmt == 0o040000:
            self.dirs += 1

    def add(self, entries: int, files: int, dirs: int, total_bytes: int) -> None:
        """Many entries more, counted already."""
        self.entries += entries
        self.files += files
        self.dirs += dirs
        self.total_bytes += total_bytes

    def add_all(self, other: ScanTotals) -> None:
        """What another part of the walk saw."""
        self.add(other.entries, other.files, other.dirs, other.total_bytes)
        self.to_read += other.to_read
        self.to_read_bytes += other.to_read_bytes
        self.repository_seen = self.repository_seen or other.repository_seen

    def split(self) -> ScanTotals:
        """What was seen so far; it counts from nothing again."""
        seen = replace(self)
        self.entries = self.files = self.dirs = self.total_bytes = 0
        self.to_read = self.to_read_bytes = 0
        return seen

    def see_repository(self) -> None:
        """The repository lies inside the tree."""
        self.repository_seen = True


class Frame:
    """A directory the walk stands in."""

    __slots__ = (
        "above_rules", "by_kind", "by_name", "closed", "confirmed", "dirty", "fingerprint", "has_path",
        "high", "inode", "known", "low", "name", "parent", "parts", "refresh", "rules", "seq", "st",
        "state", "stored", "todo", "unseen",
    )  # fmt: skip

    def __init__(self) -> None:
        self.name: bytes | None = None
        self.parent: int | None = None
        self.inode: int | None = None  # the catalog's id, if it is settled already
        self.by_name: int | None = None
        self.by_kind: int | None = None
        self.known: Known | None = None
        self.stored: int | None = None  # the head's fingerprint
        self.closed = False  # it cannot be opened: the walk stands in its parent
        self.confirmed = False  # its own stat needs no look any more
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
        self.parts: TreeParts | None = None  # what its digest is made of, if that is made at once
        self.todo: Iterator[tuple[Any, ...]] = iter(())
        # What was listed and cannot be examined: kind and inode number, None if even the list lacks it now.
        self.unseen: dict[bytes, tuple[int, int] | None] | None = None

    @property
    def key(self) -> int:
        """What children name as their parent."""
        return -self.seq if self.inode is None else self.inode


def known_directory(name: bytes, st: os.stat_result, row: Confirmed) -> Known:
    """A directory whose stat the fingerprint of its parent has confirmed."""
    mtime_s, mtime_nsec = divmod(st.st_mtime_ns, SECOND)
    ctime_s, ctime_nsec = divmod(st.st_ctime_ns, SECOND)
    return Known(
        name, row.inode, DIR, S_IMODE(st.st_mode), st.st_uid, st.st_gid, 0, mtime_s, mtime_nsec,
        ctime_s, ctime_nsec, signed(st.st_ino), st.st_nlink, 0, row.state, None,
        signed(st.st_dev), row.fingerprint, None,
    )  # fmt: skip


def signed(value: int) -> int:
    """Unsigned 64-bit numbers are stored as signed ones."""
    return value - (1 << 64) if value >= 1 << 63 else value
