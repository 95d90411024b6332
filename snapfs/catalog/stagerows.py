"""Rows of the stage as whoever makes them needs them: without a database."""

from __future__ import annotations

from typing import Any, NamedTuple

FILE_TYPES = "qqbqqqqqqqqq"
"""Of a file that was read: seq, parent, name, attr, size, mtime, state, ctime, dev, ino; ids are those of
the stage. The journal keeps them so (``stream.columns``).
"""

StagedFile = tuple[Any, ...]
"""A file that is to be read: a row of ``STAGE_FILE``."""


class ScanRow(NamedTuple):
    """One observed name, in the order of ``STAGE_SCAN``."""

    seq: int
    above: int | None
    parent: int | None
    name: bytes | None
    inode: int | None
    names: int
    nodes: int
    by_name: int | None
    by_kind: int | None
    post: int | None
    low: int | None
    high: int | None
    need: int
    kind: int
    attr: int | None
    size: int
    mtime_s: int
    mtime_nsec: int
    rdev: int
    target: bytes | None
    content: int | None
    state: int
    tree_digest: bytes | None
    ctime_s: int
    ctime_nsec: int
    dev: int
    ino: int
    nlink: int
    fingerprint: int | None


class Lost(NamedTuple):
    """A name of the head that the scan did not see, or saw as something else."""

    parent: int
    name: bytes
    inode: int
    kind: int
    dev: int
    ino: int
    done: int = 0


class ReadResult(NamedTuple):
    """What reading a file gave, where more than its digest has to be told (``STAGE_SET_READ_ALL``)."""

    attr: int
    size: int
    mtime_s: int
    mtime_nsec: int
    digest: bytes | None
    state: int | None
    """None: as the walk saw it"""
    ctime_s: int
    ctime_nsec: int
    row: int


class DirRow(NamedTuple):
    """A staged directory (``STAGE_DIRS``)."""

    seq: int
    inode: int
    low: int | None
    high: int | None
    fingerprint: int | None
    known: bytes | None = None
    """the digest that the head has of it"""

    @property
    def key(self) -> int:
        """What children name as their parent."""
        return self.inode if self.inode > 0 else -self.seq
