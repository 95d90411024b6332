"""A snapshot read as a tree: the current state minus the reverse diffs between.

``at`` is a snapshot id, or None for the newest state, which reads no diff at all. A reader that
holds no long transaction must pass the id and never None: a new snapshot may move the head.
"""

from __future__ import annotations

from typing import NamedTuple

from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind

_make = Entry._make


def child(catalog: Catalog, parent: int, name: bytes, at: int | None) -> Entry | None:
    """One entry of a directory."""
    if at is None:
        row = catalog.one(sql.CHILD_HEAD, {"parent": parent, "name": name})
    else:
        row = catalog.one(sql.CHILD_AT, {"parent": parent, "name": name, "at": at})
    return None if row is None else _make(row)


def inode(catalog: Catalog, inode_id: int, at: int | None) -> Entry | None:
    """An inode without a name (``name`` is empty)."""
    if at is None:
        row = catalog.one(sql.INODE_HEAD, {"inode": inode_id})
    else:
        row = catalog.one(sql.INODE_AT, {"inode": inode_id, "at": at})
    return None if row is None else _make(row)


def lookup(catalog: Catalog, root_inode: int, path: bytes, at: int | None) -> Entry | None:
    """The entry at a path from the root (``b""`` is the root itself)."""
    entry = inode(catalog, root_inode, at)
    for part in path.split(b"/") if path else ():
        if entry is None or entry.kind != Kind.DIR:
            return None
        entry = child(catalog, entry.inode, part, at)
    return entry


class Name(NamedTuple):
    """A directory entry by its key."""

    parent: int
    name: bytes
    inode: int


def names(catalog: Catalog, inode_id: int, at: int | None) -> list[Name]:
    """All names of an inode."""
    if at is None:
        rows = catalog.execute(sql.NAMES_OF_HEAD, {"inode": inode_id})
    else:
        rows = catalog.execute(sql.NAMES_OF_AT, {"inode": inode_id, "at": at})
    return [Name(*row) for row in rows]
