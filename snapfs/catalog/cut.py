"""Taking names out of all snapshots: afterwards each is as if it had been taken without them.

A name, and with a directory all below it, is taken out in a span of snapshots in which it was at a
path: what it was under another path before or after stays. The rows become those that a history without
it would have: a directory that was away for a while was removed and came again with the same number,
born a second time. Directories are done level by level, so that nothing is held of what is below.

All statements run inside one `Catalog.write`; the caller records the change in the journal, which gives
the same catalog again. It sees to the digests (`repository.redigest`) and collects what became free
(`fold.collect`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from snapfs.catalog import compiled as sql
from snapfs.catalog import rows
from snapfs.catalog.cutcounts import Counts
from snapfs.catalog.database import Catalog
from snapfs.catalog.spans import Span, held, union, without
from snapfs.errors import DamageError

_BATCH = 4096
_AT_ONCE = 1000


class Key(NamedTuple):
    """A name that is taken out in a span."""

    parent: int
    name: bytes
    span: Span


def cut(catalog: Catalog, root_id: int, keys: Sequence[Key]) -> None:
    """Take names of a root out, with all below them, and the inodes that have no name left.

    What was taken out stands in ``cut_name`` afterwards, the inodes in ``cut_inode``.
    """
    head = _head(catalog, root_id)
    prepare(catalog)
    _set_apart(catalog, keys, head)
    names = _Names(catalog, head)
    for key in keys:
        names.take_out(key)
    catalog.execute(sql.CUT_INODES)
    chain = [one.id for one in rows.snapshot_rows(catalog, root_id)]
    _Inodes(catalog, chain).take_out()


def prepare(catalog: Catalog) -> None:
    """Make the temporary tables of a purge, empty."""
    for text in (
        *sql.CREATE_CUT,
        sql.CLEAR_CUT_DIRECTORY,
        sql.CLEAR_CUT_NAME,
        sql.CLEAR_CUT_ROW,
        sql.CLEAR_CUT_INODE,
        sql.CLEAR_CUT_VALUE,
        sql.CLEAR_CUT_CONTENT,
        sql.CLEAR_CUT_WORD,
    ):
        catalog.execute(text)


def sweep(catalog: Catalog) -> None:
    """Drop what deleted snapshots leave: names that are nothing any more, attributes of no inode."""
    for text in (sql.CUT_IDLE_NAMES, sql.CUT_ATTR, sql.CUT_XATTR):
        catalog.execute(text)


def _head(catalog: Catalog, root_id: int) -> int:
    found = rows.root(catalog, root_id)
    if found is None or found.head_id is None:
        raise DamageError(f"{catalog.name} has no snapshot of root {root_id}")
    return found.head_id


def _birth(catalog: Catalog, inode: int) -> int:
    """The first snapshot that had an inode; 0 if nothing is known of it."""
    return catalog.value(sql.BIRTH, {"inode": inode}) or 0


def _set_apart(catalog: Catalog, keys: Sequence[Key], head: int) -> None:
    """Give directories that lose a name rows that begin and end with that, and no fingerprint there."""
    for key in keys:
        for at in key.span:
            if at != head:
                catalog.execute(sql.SPLIT_INODE, {"inode": key.parent, "at": at})
    for key in keys:
        where = {"inode": key.parent, "low": key.span.low, "high": key.span.high}
        catalog.execute(sql.CUT_OLD_UNSURE, where)
        if key.span.high == head:
            catalog.execute(sql.CUT_UNSURE, {"inode": key.parent})


class _Names:
    """Names that go, and what their rows are then."""

    def __init__(self, catalog: Catalog, head: int) -> None:
        self._catalog = catalog
        self._head = head
        self._last_name = 0
        self._last_row = 0
        self._names: list[tuple[Any, ...]] = []
        self._rows: list[tuple[Any, ...]] = []

    def take_out(self, key: Key) -> None:
        """A name and all below it."""
        before = self._last_name
        where = {"parent": key.parent, "name": key.name}
        found = self._catalog.execute(sql.CUT_ROWS_OF_NAME, where).fetchall()
        self._of_directory(key.parent, found, [key.span])
        while self._apply(before):
            start, before = before, self._last_name
            level = self._catalog.execute(sql.CUT_DIRECTORIES, {"low": start})
            for inode, spans in groupby(level, key=itemgetter(0)):
                where = {"parent": inode}
                all_names = self._catalog.execute(sql.CUT_ROWS_OF_NAMES, where)
                self._of_directory(inode, all_names, union(Span(*span) for _, *span in spans))

    def _of_directory(self, parent: int, found: Iterable[Any], spans: Sequence[Span]) -> None:
        """Rows of names in a directory, sorted by name, that are taken out in some spans."""
        born = _birth(self._catalog, parent)
        for name, rows_of in groupby(found, key=itemgetter(0)):
            values = list(held(((at, inode) for _, at, inode in rows_of), self._head))
            gone = [
                (both, inode)
                for span, inode in values
                for taken in spans
                if inode is not None and (both := span.cut(taken)) is not None
            ]
            if not gone:
                continue
            for span, inode in gone:
                self._last_name += 1
                self._names.append((self._last_name, parent, name, *span, inode))
            for at, inode in self._encoded(values, [span for span, _ in gone], born):
                self._last_row += 1
                self._rows.append((self._last_row, parent, name, at, inode))
            if len(self._names) >= _BATCH:
                self._put()

    def _encoded(
        self, values: Sequence[tuple[Span, int | None]], gone: Sequence[Span], born: int
    ) -> Iterator[tuple[int | None, int | None]]:
        """The rows of a name without some spans: what it is up to which snapshot, None for the newest state.

        What it was before its directory was born is nothing that anybody reads.
        """
        pieces: list[tuple[Span, int | None]] = [(span, None) for span in gone]
        for span, inode in values:
            pieces += [(left, inode) for left in without([span], gone)]
        runs: list[tuple[int, int | None]] = []
        for span, inode in sorted(pieces, key=lambda piece: piece[0]):
            if span.high < born:
                continue
            if runs and runs[-1][1] == inode:
                runs.pop()
            runs.append((span.high, inode))
        if runs and runs[-1][1] is None:
            runs.pop()
        for high, inode in runs:
            yield (None if high == self._head else high), inode

    def _put(self) -> None:
        self._catalog.executemany(sql.CUT_PUT_NAME, self._names)
        self._catalog.executemany(sql.CUT_PUT_ROW, self._rows)
        self._names, self._rows = [], []

    def _apply(self, before: int) -> bool:
        """Let the rows of a level take effect; whether there is one below it."""
        self._put()
        low = {"low": before}
        self._catalog.execute(sql.CUT_DROP_NAMES, low)
        self._catalog.execute(sql.CUT_DROP_OLD_NAMES, low)
        self._catalog.execute(sql.CUT_PUT_NAMES)
        self._catalog.execute(sql.CUT_PUT_OLD_NAMES)
        self._catalog.execute(sql.CLEAR_CUT_ROW)
        return self._catalog.execute(sql.CUT_NEXT_DIRECTORIES, low).rowcount > 0


class _Inodes:
    """Inodes that lost a name: they go, or are there for a shorter time, or it was one of several."""

    def __init__(self, catalog: Catalog, chain: Sequence[int]) -> None:
        self._catalog = catalog
        self._chain = chain
        self._head = chain[-1]
        self._counts = Counts(chain)
        self._last_value = 0
        self._values: list[tuple[Any, ...]] = []

    def take_out(self) -> None:
        """Those in ``cut_inode``; the snapshots count them no longer."""
        self._count_gone()
        after = {"after": 0, "most": _AT_ONCE}
        while kept := self._catalog.execute(sql.CUT_KEPT, after).fetchall():
            for (inode,) in kept:
                self._shorten(inode)
            after["after"] = kept[-1][0]
            self._catalog.executemany(sql.CUT_PUT_VALUE, self._values)
            self._values = []
        for statement in (
            sql.CUT_CONTENTS_GONE,
            sql.CUT_CONTENTS_KEPT,
            sql.CUT_ORPHANS,
            sql.CUT_OLD_ORPHANS,
            sql.CUT_DROP_INODES,
            sql.CUT_DROP_OLD_INODES,
        ):
            self._catalog.execute(statement)
        self._catalog.executemany(sql.CUT_COUNTS, self._counts.rows())

    def _count_gone(self) -> None:
        """Of those that have no name left nothing needs to be worked out but what they were."""
        spans = groupby(self._catalog.execute(sql.CUT_SPANS_GONE), key=itemgetter(0))
        known = groupby(self._catalog.execute(sql.CUT_ROWS_GONE), key=itemgetter(0))
        inode, rows_of = next(known, (None, iter(())))
        for wanted, gone in spans:
            while inode is not None and inode < wanted:
                inode, rows_of = next(known, (None, iter(())))
            names = [Span(*span) for _, *span in gone]
            if inode == wanted:
                self._count(names, names, [(at, value) for _, at, *value in rows_of])

    def _count(
        self, names: Sequence[Span], times: Sequence[Span], rows_of: Sequence[tuple[Any, Any]]
    ) -> None:
        """``names`` are the spans of each name that went, ``times`` those in which it had any."""
        for span, (kind, size) in held(rows_of, self._head):
            for name in names:
                self._counts.entry(name.cut(span), kind)
            for time in union(times):
                self._counts.file(time.cut(span), kind, size)

    def _shorten(self, inode: int) -> None:
        found = self._catalog.execute(sql.CUT_ROWS_OF, {"inode": inode}).fetchall()
        rows_of = [(at, (kind, size)) for at, kind, size, *_ in found]
        names = [Span(*span) for span in self._catalog.execute(sql.CUT_SPANS_OF, {"inode": inode})]
        left = union(self._named(inode))
        gone = without(names, left)
        for span, value in held(((at, value) for at, *value in found), self._head):
            if any(span.cut(name) for name in names):
                self._last_value += 1
                self._values.append((self._last_value, inode, *value))
        self._count(names, gone, rows_of)
        if gone:
            self._catalog.execute(sql.CUT_ORPHAN_OF, {"inode": inode})
            self._restrict(inode, left, gone)

    def _named(self, inode: int) -> Iterator[Span]:
        """When it has a name still."""
        names = self._catalog.execute(sql.NAMES_EVER, {"inode": inode}).fetchall()
        for parent, name in names:
            born = Span(_birth(self._catalog, parent) - 1, self._head)
            values = self._catalog.execute(sql.NAME_VALUES, {"parent": parent, "name": name})
            for span, value in held(values.fetchall(), self._head):
                both = span.cut(born)
                if value == inode and both is not None:
                    yield both

    def _restrict(self, inode: int, left: Sequence[Span], gone: Sequence[Span]) -> None:
        """Keep the rows of the times that are left; each begins with a birth if what was before went."""
        for time in left:
            if time.high != self._head:
                self._catalog.execute(sql.SPLIT_INODE, {"inode": inode, "at": time.high})
        states = self._catalog.execute(sql.INODE_STATES, {"inode": inode}).fetchall()
        for span, at in held(((at, at) for at, *_ in states), self._head):
            if any(span.cut(time) for time in left):
                continue
            if at is None:
                self._catalog.execute(sql.CUT_DROP_INODE, {"inode": inode})
            else:
                self._catalog.execute(sql.CUT_DROP_OLD_INODE, {"inode": inode, "at": at})
        for time in left:
            first = bisect_right(self._chain, time.low)
            before = self._chain[first - 1] if first else 0
            if any(one.low < before <= one.high for one in gone):
                self._bear(inode, time, self._chain[first])

    def _bear(self, inode: int, time: Span, born: int) -> None:
        """Let an inode be born anew at the beginning of a span."""
        values = {"inode": inode, "new_born": born}
        self._catalog.execute(sql.CUT_OLD_BORN, {**values, "low": time.low, "high": time.high})
        if time.high == self._head:
            self._catalog.execute(sql.CUT_BORN, values)
