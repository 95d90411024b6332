"""Directories read piece by piece: what has a million parts is never held as a whole.

``at`` is as in `catalog.view`. Between the pieces no statement stays open, so that a walk may stand in
any number of directories; all of it belongs into one read transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.model.entry import Entry

SLICE = 256
"""Entries that are read together."""

_BEYOND = b"\xff" * 256
"""After every name: they have up to 255 bytes."""

_make = Entry._make


def slices(
    catalog: Catalog, statement: str, parent: int, *, after: bytes = b"", most: int = SLICE
) -> Iterator[Any]:
    """Rows of a directory by name, their first column; ``statement`` gives ``:most`` after ``:after``."""
    while True:
        params = {"parent": parent, "after": after, "most": most}
        rows = catalog.execute(statement, params).fetchall()
        yield from rows
        if len(rows) < most:
            return
        after = rows[-1][0]


def each_child(
    catalog: Catalog, parent: int, at: int | None, *, after: bytes = b"", most: int = SLICE
) -> Iterator[Entry]:
    """The entries of a directory by name, from the first after ``after`` on, ``most`` at a time."""
    statements = sql.CHILDREN_AFTER_HEAD, sql.CHILDREN_AFTER_AT
    return map(_make, _rows(catalog, statements, parent, at, after, most))


def guarded_children(
    catalog: Catalog, parent: int, at: int | None, *, most: int = SLICE
) -> Iterator[tuple[Entry, bytes]]:
    """As `each_child`, each with the digest that guards it in its directory's tree digest."""
    statements = sql.GUARDED_AFTER_HEAD, sql.GUARDED_AFTER_AT
    rows = _rows(catalog, statements, parent, at, b"", most)
    return ((_make(row[:-1]), row[-1]) for row in rows)


def _rows(
    catalog: Catalog,
    statements: tuple[str, str],
    parent: int,
    at: int | None,
    after: bytes,
    most: int,
) -> Iterator[Any]:
    head, old = statements
    if at is None:
        yield from slices(catalog, head, parent, after=after, most=most)
        return
    until = b""
    while until != _BEYOND:
        ahead = {"parent": parent, "after": after, "most": most}
        until = catalog.value(sql.NAME_AHEAD, ahead) or _BEYOND
        within = {"parent": parent, "at": at, "after": after, "until": until}
        yield from catalog.execute(old, within).fetchall()
        after = until


def named(catalog: Catalog, parent: int, name: bytes, at: int | None) -> int | None:
    """The inode behind a name, None for none."""
    if at is None:
        found = catalog.value(sql.NAMED_HEAD, {"parent": parent, "name": name})
    else:
        found = catalog.value(sql.NAMED_AT, {"parent": parent, "name": name, "at": at})
    return None if found is None else int(found)


def overlaid_names(catalog: Catalog, parent: int) -> Iterator[tuple[bytes, int | None]]:
    """The names that the stage changes in a directory, in order: each with its inode, None if it goes."""
    return slices(catalog, sql.OVERLAY_CHILDREN_AFTER, parent)


def linked_inodes(catalog: Catalog, at: int | None) -> Iterator[int]:
    """Inodes with several names, of all roots."""
    found = (
        catalog.execute(sql.LINKED_HEAD)
        if at is None
        else catalog.execute(sql.LINKED_AT, {"at": at})
    )
    return (row[0] for row in found)


class Linked:
    """Inodes that have several names at ``at``, as a container of ids.

    Link counts are bookkeeping and not kept for older snapshots; names are. ``everything`` lists them
    at once, otherwise each is looked up when it is asked for.
    """

    def __init__(self, catalog: Catalog, at: int | None, *, everything: bool) -> None:
        self._catalog = catalog
        self._at = at
        self._all: set[int] | None = None
        if everything:
            self._all = set(linked_inodes(catalog, at))

    def __contains__(self, inode: object) -> bool:
        if self._all is not None:
            return inode in self._all
        if self._at is None:
            return int(self._catalog.value(sql.NAMES_COUNTED_HEAD, {"inode": inode})) > 1
        params = {"inode": inode, "at": self._at}
        return int(self._catalog.value(sql.NAMES_COUNTED_AT, params)) > 1
