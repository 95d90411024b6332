"""Whether what the catalog says of a directory is what was stored: nothing is put back from a damaged one.

Every directory is checked against the digest that it, its parent or the snapshot has of it: SQLite's own
check misses half of all flipped bits.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from snapfs.blocks.treedigest import ChildTuple, tree_digest
from snapfs.catalog import streams
from snapfs.catalog.database import Catalog
from snapfs.fs.handles import is_name
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind, State
from snapfs.model.xattrs import unpack_xattrs


def is_sound(catalog: Catalog, directory: Entry, at: int | None) -> bool:
    """Whether a directory has the entries that were stored, and each is one that can be."""
    odd: list[Entry] = []  # whoever edits rows can make digests that agree with them
    rows = streams.guarded_children(catalog, directory.inode, at)
    return has_digest(directory.tree_digest, each_digested(rows, odd)) and not odd


def has_digest(digest: bytes | None, rows: Iterable[ChildTuple]) -> bool:
    """Whether a directory has the children that its digest is of; each has one."""
    try:
        return tree_digest(rows) == digest
    except (TypeError, ValueError, struct.error):  # columns of other types than they have
        return False


_MOST_ID = 2**32 - 1
_SECOND = 1_000_000_000
_KINDS = frozenset(map(int, Kind))
_INTEGERS = ("inode", "mode", "uid", "gid", "flags", "size", "mtime_s", "mtime_nsec", "rdev",
             "content", "state", "ino", "nlink")  # fmt: skip


def makes_sense(child: Entry) -> bool:
    """Whether a row has a name and values that an entry can have, of whatever type they are."""
    return (
        all(isinstance(value, bytes) for value in (child.name, child.xattr, child.target))
        and all(isinstance(getattr(child, field), int) for field in _INTEGERS)
        and can_be(child)
    )


def can_be(child: Entry) -> bool:
    """The same of a row whose values have the right types."""
    return (
        is_name(child.name)
        and child.kind in _KINDS
        and b"\0" not in child.target
        and 0 <= child.uid <= _MOST_ID
        and 0 <= child.gid <= _MOST_ID
        and 0 <= child.mode <= 0o7777
        and child.size >= 0
        and 0 <= child.mtime_nsec < _SECOND
        and (not child.xattr or _is_packed(child.xattr))
    )


def _is_packed(xattr: bytes) -> bool:
    try:
        unpack_xattrs(xattr)
    except ValueError:
        return False
    return True


def digested(found: tuple[Entry, bytes]) -> ChildTuple:
    """An entry and the digest that guards it, as tree digests are made of."""
    child, content = found
    return (
        child.name, child.kind, child.mode, child.uid, child.gid, child.flags, child.xattr,
        child.size, child.mtime_s, child.mtime_nsec, child.rdev, child.target, content,
        1 if child.state == State.UNREAD else 0,
    )  # fmt: skip


def each_digested(rows: Iterable[tuple[Entry, bytes]], odd: list[Entry]) -> Iterator[ChildTuple]:
    """What digests are of; the first row that can be of no entry is put into ``odd``."""
    for found in rows:
        if not odd and not can_be(found[0]):
            odd.append(found[0])
        yield digested(found)
