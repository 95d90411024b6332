"""From damaged blocks, contents and inodes to the files and snapshots in which the damage shows.

What an inode holds, which inode a name means and where a directory is all change along the chain of a
root. Each is taken as a list of spans of the chain, and spans are cut with spans: so the work follows
the number of damaged files and of their changes, not that of the snapshots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from snapfs.catalog import compiled as sql
from snapfs.catalog import rows
from snapfs.catalog.database import Catalog
from snapfs.catalog.rows import RootRow, SnapshotRow
from snapfs.verify.options import DamagedFile
from snapfs.verify.report import Touched

MOST_FILES = 10_000
"""Of more damaged files the rest is not looked up."""

Value = tuple[int | None, int | None]
"""A snapshot (None: the newest state) and what a thing was in it: an inode, a content, or nothing."""

Wanted = Callable[[int | None, int | None], bool]


class Span(NamedTuple):
    """The snapshots ``first`` up to, but not with, ``end`` of a chain, by position."""

    first: int
    end: int


class _Place(NamedTuple):
    """Where a directory was for a while."""

    span: Span
    path: bytes


class _Chain:
    """The snapshots of one root."""

    def __init__(self, root: RootRow, snapshots: Sequence[SnapshotRow]) -> None:
        self.root = root
        self.names = [snapshot.name for snapshot in snapshots]
        self._positions = {snapshot.id: at for at, snapshot in enumerate(snapshots)}

    @property
    def whole(self) -> Span:
        return Span(0, len(self.names))

    def spans(self, values: Iterable[Value], wanted: Wanted) -> list[Span]:
        """Where a thing had a wanted value: one holds from after the one before up to its snapshot."""
        found: list[Span] = []
        first = 0
        for end, at, value in sorted(self._ends(values), key=lambda item: item[0]):
            if first < end and wanted(at, value):
                found.append(Span(first, end))
            first = max(first, end)
        return found

    def _ends(self, values: Iterable[Value]) -> Iterator[tuple[int, int | None, int | None]]:
        for at, value in values:
            if at is None:
                yield len(self.names), at, value
            elif at in self._positions:
                yield self._positions[at] + 1, at, value


def damaged_files(catalog: Catalog, touched: Touched) -> tuple[tuple[DamagedFile, ...], bool]:
    """The files in order of root and path, and whether there are more (inside one read)."""
    search = _Search(catalog)
    whole = search.look_up(touched)
    return search.result(), not whole


class _Search:
    """One look-up; remembers where directories were."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._chains = {
            row.root.id: _Chain(row, rows.snapshot_rows(catalog, row.root.id))
            for row in rows.roots(catalog)
        }
        self._places: dict[int, list[_Place]] = {
            chain.root.inode_id: [_Place(chain.whole, b"")]
            for chain in self._chains.values()
            if chain.root.inode_id is not None
        }
        self._found: dict[tuple[int, bytes], set[Span]] = {}

    def look_up(self, touched: Touched) -> bool:
        """Find all that is touched; False if there was too much of it."""
        for inode, at in touched.directories:
            self._add(inode, _row_of(at))
        for inode in touched.inodes:
            self._add(inode, _always)
        for content in touched.contents:
            self._add_content(content)
        for block in self._blocks(touched):
            self._add_content(block)
            for (content,) in self._rows(sql.TOUCHED_CONTENTS, block=block):
                self._add_content(content)
            if len(self._found) >= MOST_FILES:
                return False
        return True

    def result(self) -> tuple[DamagedFile, ...]:
        known: dict[tuple[int, frozenset[Span]], tuple[str, ...]] = {}
        files = []
        for (root_id, path), spans in self._found.items():
            chain = self._chains[root_id]
            key = (root_id, frozenset(spans))
            if key not in known:
                at = sorted({number for span in spans for number in range(*span)})
                known[key] = tuple(chain.names[number] for number in at)
            files.append(DamagedFile(chain.root.root.label, path, known[key]))
        return tuple(sorted(files, key=lambda file: (file.root, file.path)))

    def _blocks(self, touched: Touched) -> Iterator[int]:
        yield from touched.blocks
        for pack in touched.packs:
            for segment, *_ in self._rows(sql.SEGMENTS_OF_PACK, pack=pack):
                for id_, *_ in self._rows(sql.VERIFY_BLOCKS, segment=segment):
                    yield id_

    def _add_content(self, content: int) -> None:
        for (inode,) in self._rows(sql.TOUCHED_INODES, content=content):
            self._add(inode, lambda _, value: value == content)

    def _add(self, inode: int, wanted: Wanted) -> None:
        """An inode is damaged as long as its value is the wanted one."""
        chain = self._chain_of(inode)
        if chain is None:
            return
        spans = chain.spans(self._rows(sql.INODE_VALUES, inode=inode), wanted)
        for place in self._places_of(chain, inode):
            for span in spans:
                both = _cut(span, place.span)
                if both is not None:
                    self._found.setdefault((chain.root.root.id, place.path), set()).add(both)

    def _chain_of(self, inode: int) -> _Chain | None:
        for (root_id,) in self._rows(sql.ROOT_OF_INODE, inode=inode):
            return self._chains.get(root_id)
        return None

    # --- where inodes were -----------------------------------------------------------------------

    def _places_of(self, chain: _Chain, inode: int) -> list[_Place]:
        """Every path of an inode, with the span in which it had it."""
        if inode in self._places:
            return self._places[inode]
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
                    if parent not in open_ and parent not in self._places
                }
            if todo[-1] == at:
                todo.pop()
                places = [
                    _Place(both, above.path + b"/" + name if above.path else name)
                    for parent, name, span in open_[at]
                    for above in self._places.get(parent, ())
                    if (both := _cut(span, above.span)) is not None
                ]
                if at == inode:
                    return places
                self._places[at] = places
        return []

    def _names_of(self, chain: _Chain, inode: int) -> Iterator[tuple[int, bytes, Span]]:
        for parent, name in self._rows(sql.NAMES_EVER, inode=inode):
            values = self._rows(sql.NAME_VALUES, parent=parent, name=name)
            for span in chain.spans(values, lambda _, value: value == inode):
                yield parent, name, span

    def _rows(self, statement: str, **params: object) -> list[Any]:
        return self._catalog.execute(statement, dict(params)).fetchall()


def _row_of(snapshot: int | None) -> Wanted:
    return lambda at, _: at == snapshot


def _always(_at: int | None, _value: int | None) -> bool:
    return True


def _cut(a: Span, b: Span) -> Span | None:
    first, end = max(a.first, b.first), min(a.end, b.end)
    return Span(first, end) if first < end else None
