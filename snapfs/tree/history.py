"""What names, inodes and paths were along the whole chain of a root, as spans of it.

What an inode holds, which inode a name means and where a directory is all change along the chain. Each
is taken as a list of spans, and spans are cut with spans: so the work follows the number of changes of
what is asked for, never that of the snapshots or of the files. A name's rows say nothing of the time
before its directory was there, and an inode's nothing of that before it had a name: who asks cuts them
with the spans of what is above.

All of it belongs into one read transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from snapfs.catalog import compiled as sql
from snapfs.catalog import rows
from snapfs.catalog.database import Catalog
from snapfs.catalog.rows import RootRow, SnapshotRow
from snapfs.model.entry import Entry
from snapfs.model.path import join

REMEMBERED = 50_000
"""Directories whose places are remembered at once."""
AT_ONCE = 128
"""Inodes that are looked up together."""

_make = Entry._make


class Span(NamedTuple):
    """The snapshots ``first`` up to, but not with, ``end`` of a chain, by position."""

    first: int
    end: int


class Held(NamedTuple):
    """What a thing was in a span; ``at`` is the snapshot whose row says it, None the newest state's."""

    span: Span
    at: int | None
    value: Any


class Place(NamedTuple):
    """Where an inode was for a while."""

    span: Span
    path: bytes
    parent: int
    name: bytes


class Version(NamedTuple):
    """What an inode was for a while."""

    span: Span
    entry: Entry
    """without its name"""
    digest: bytes
    """of its content or, of a directory, of all below it; empty for neither"""


Wanted = Callable[[int | None, Any], bool]


def cut(a: Span, b: Span) -> Span | None:
    """What two spans have in common, None for nothing."""
    first, end = max(a.first, b.first), min(a.end, b.end)
    return Span(first, end) if first < end else None


class Chain:
    """The snapshots of one root, oldest first."""

    def __init__(self, root: RootRow, snapshots: Sequence[SnapshotRow]) -> None:
        self.root = root
        self.snapshots = snapshots
        self.whole = Span(0, len(snapshots))
        """all of them"""
        self._positions = {snapshot.id: at for at, snapshot in enumerate(snapshots)}

    def names(self, spans: Iterable[Span]) -> tuple[str, ...]:
        """Names of the snapshots in these spans, oldest first, each once."""
        at = sorted({number for span in spans for number in range(*span)})
        return tuple(self.snapshots[number].name for number in at)

    def position(self, snapshot_id: int) -> int | None:
        """Place in the chain, None for a snapshot of another."""
        return self._positions.get(snapshot_id)

    def held(self, values: Sequence[tuple[int | None, Any]]) -> Iterator[Held]:
        """What a thing was from its rows, in order: a row holds from after the one before up to its snapshot.

        ``values`` are pairs of a snapshot, None for the newest state, and what the thing was in it.
        """
        if len(values) == 1 and values[0][0] is None and self.snapshots:  # as nearly everything is
            yield Held(self.whole, *values[0])
            return
        first = 0
        for end, at, value in sorted(self._ends(values), key=lambda item: item[0]):
            if first < end:
                yield Held(Span(first, end), at, value)
            first = max(first, end)

    def spans(self, values: Sequence[tuple[int | None, Any]], wanted: Wanted) -> list[Span]:
        """Where a thing had a wanted value."""
        return [held.span for held in self.held(values) if wanted(held.at, held.value)]

    def _ends(
        self, values: Iterable[tuple[int | None, Any]]
    ) -> Iterator[tuple[int, int | None, Any]]:
        for at, value in values:
            if at is None:
                yield len(self.snapshots), at, value
            elif at in self._positions:
                yield self._positions[at] + 1, at, value


def chain_of(catalog: Catalog, root_id: int) -> Chain | None:
    """The chain of a root; None if it is gone or has no snapshot."""
    row = rows.root(catalog, root_id)
    if row is None or row.inode_id is None:
        return None
    return Chain(row, rows.snapshot_rows(catalog, root_id))


def chains(catalog: Catalog) -> dict[int, Chain]:
    """The chains of all roots, by the root's number."""
    return {
        row.root.id: Chain(row, rows.snapshot_rows(catalog, row.root.id))
        for row in rows.roots(catalog)
    }


class Places:
    """Every path that an inode ever had, remembering those of directories."""

    def __init__(self, catalog: Catalog, known: Mapping[int, Chain]) -> None:
        self._catalog = catalog
        self._chains = known
        self._tops = {
            chain.root.inode_id: [Place(chain.whole, b"", 0, b"")]
            for chain in known.values()
            if chain.root.inode_id is not None
        }
        self._known: dict[int, list[Place]] = dict(self._tops)

    def chain(self, inode: int) -> Chain | None:
        """The chain that an inode belongs to, None if that is none of the known ones."""
        found = self._catalog.value(sql.ROOT_OF_INODE, {"inode": inode})
        return None if found is None else self._chains.get(found)

    def of(self, chain: Chain, inode: int) -> list[Place]:
        """Every place of an inode of this chain."""
        if inode in self._known:
            return self._known[inode]
        if len(self._known) > REMEMBERED:
            self._known = dict(self._tops)
        open_: dict[int, list[tuple[int, bytes, Span]]] = {}
        todo = [inode]
        while todo:
            at = todo[-1]
            if at not in open_:
                open_[at] = list(self._names_of(chain, at))
                # A directory that is open already is its own ancestor: a damaged catalog's loop.
                todo += {
                    parent
                    for parent, _, _ in open_[at]
                    if parent not in open_ and parent not in self._known
                }
            if todo[-1] == at:
                todo.pop()
                places = list(self._below(open_[at]))
                if at == inode:
                    return places
                self._known[at] = places
        return []

    def of_directory(self, chain: Chain, inode: int) -> list[Place]:
        """As `of`, and remembered: many more will ask for what is in it."""
        places = self.of(chain, inode)
        self._known[inode] = places
        return places

    def of_name(self, chain: Chain, parent: int, name: bytes, span: Span) -> Iterator[Place]:
        """Every place that a name in a directory had within a span."""
        for above in self.of_directory(chain, parent):
            both = cut(span, above.span)
            if both is not None:
                yield Place(both, join(above.path, name), parent, name)

    def _below(self, names: Iterable[tuple[int, bytes, Span]]) -> Iterator[Place]:
        for parent, name, span in names:
            for above in self._known.get(parent, ()):
                both = cut(span, above.span)
                if both is not None:
                    yield Place(both, join(above.path, name), parent, name)

    def _names_of(self, chain: Chain, inode: int) -> Iterator[tuple[int, bytes, Span]]:
        for parent, name in self._catalog.execute(sql.NAMES_EVER, {"inode": inode}).fetchall():
            for span, _, value in name_history(self._catalog, chain, parent, name):
                if value == inode:
                    yield parent, name, span


def name_history(catalog: Catalog, chain: Chain, parent: int, name: bytes) -> Iterator[Held]:
    """Which inode a name in a directory meant, None for none, as long as the directory was there."""
    values = catalog.execute(sql.NAME_VALUES, {"parent": parent, "name": name}).fetchall()
    return chain.held(values)


def at_path(catalog: Catalog, chain: Chain, path: bytes) -> list[tuple[int, Place]]:
    """What stood at a path from the root, in order of time: inodes, each with the span and its name."""
    assert chain.root.inode_id is not None
    found = [(chain.root.inode_id, Place(chain.whole, b"", 0, b""))]
    at = b""
    for name in path.split(b"/") if path else ():
        at = join(at, name)
        below = []
        for directory, above in found:
            for span, _, inode in name_history(catalog, chain, directory, name):
                both = cut(span, above.span)
                if inode is not None and both is not None:
                    below.append((int(inode), Place(both, at, directory, name)))
        found = sorted(below, key=lambda one: one[1].span)
    return found


def versions(catalog: Catalog, chain: Chain, inodes: Sequence[int]) -> dict[int, list[Version]]:
    """What each inode was, over all the time of which there are rows, in order."""
    found: dict[int, list[Version]] = {}
    for start in range(0, len(inodes), AT_ONCE):
        part = list(inodes[start : start + AT_ONCE])
        params = part + [0] * (AT_ONCE - len(part))
        values: dict[int, list[tuple[int | None, Any]]] = {}
        for row in catalog.execute(sql.HISTORY_INODES, params + params):
            entry = _make(row[2:])
            values.setdefault(entry.inode, []).append((row[0], (entry, row[1])))
        for inode, rows_of in values.items():
            found[inode] = [Version(span, *value) for span, _, value in chain.held(rows_of)]
    return found
