"""Tree digests computed anew after children of some directories were changed behind their backs.

A directory's digest covers its children as they were in one state, so a row of a directory holds for
as long as none of them changes. Whoever changes old rows may break that: then the row is split, which
changes no state. Rows are done from the newest state to the oldest and, within one, from the deepest
directory upwards: a row's digest depends on rows of children that hold at the same snapshot or from
a later one on, so each is computed once, and what did not change is not followed upwards. Directories
may have been above one another in turns; within one state they are a tree.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Any

from snapfs.blocks.treedigest import tree_digest
from snapfs.catalog import compiled as sql
from snapfs.catalog import rows, view
from snapfs.catalog.database import Catalog
from snapfs.catalog.spans import Span, held
from snapfs.model.kinds import Kind


def redigest(catalog: Catalog, directories: Iterable[int]) -> None:
    """Compute the digest of each row of these directories, and whatever depends on those that move.

    Inside a write. O(children in the rows that are looked at). Where a directory above needs more rows
    than it has, to tell states apart that were alike, it gets them.
    """
    by_root: dict[int, list[int]] = {}
    for inode in directories:
        root_id = catalog.value(sql.ROOT_OF_INODE, {"inode": inode})
        if root_id is not None:
            by_root.setdefault(root_id, []).append(inode)
    for row in rows.roots(catalog):
        if row.root.id in by_root and row.inode_id is not None and row.head_id is not None:
            work = _Work(catalog, row.root.id, row.inode_id, row.head_id)
            for inode in by_root[row.root.id]:
                work.add_all(inode)
            work.run()


def split(catalog: Catalog, inode: int, at: int) -> None:
    """Give an inode a row of its own at a snapshot that is no head; says nothing new (inside a write).

    Where it is not there, nothing happens.
    """
    catalog.execute(sql.SPLIT_INODE, {"inode": inode, "at": at})


def tree_children(catalog: Catalog, inode: int, at: int | None) -> Iterator[Any]:
    """What a directory's digest covers (``TreeChild``), at a snapshot or in the newest state."""
    if at is None:
        return catalog.execute(sql.VERIFY_CHILDREN, {"parent": inode})
    return catalog.execute(sql.VERIFY_CHILDREN_AT, {"parent": inode, "at": at})


def root_digest(catalog: Catalog, inode: int, at: int) -> bytes:
    """The digest of a whole snapshot: of a directory whose only child, without a name, is the root."""
    return tree_digest(catalog.execute(sql.VERIFY_INODE_AT, {"inode": inode, "at": at}))


class _Work:
    """The rows of one root's directories that have to be computed, by the snapshot at which they end.

    The newest state counts as that of the head.
    """

    def __init__(self, catalog: Catalog, root_id: int, root_inode: int, head: int) -> None:
        self._catalog = catalog
        self._root_id = root_id
        self._root_inode = root_inode
        self._head = head
        self._todo: dict[int, set[int]] = {}

    def add_all(self, inode: int) -> None:
        """Every row of a directory."""
        for span in self._spans(inode):
            self._todo.setdefault(span.high, set()).add(inode)

    def run(self) -> None:
        """Newest state first; nothing that is done leads back to a newer one."""
        while self._todo:
            at = max(self._todo)
            self._run_state(at, self._todo.pop(at))

    def _run_state(self, at: int, inodes: set[int]) -> None:
        depths = _Depths(self._catalog, self._root_inode, self._at(at))
        heap = [(-depths.of(inode), inode) for inode in inodes]
        heapq.heapify(heap)
        while heap:
            _, inode = heapq.heappop(heap)
            span = next((one for one in self._spans(inode) if one.high == at), None)
            if span is None:
                continue
            moved = self._compute(inode, at)
            if inode == self._root_inode:
                self._announce(span)  # it covers the root's own attributes as well
            if not moved:
                continue
            for parent, end in self._above(inode, span):
                if end != at:
                    self._todo.setdefault(end, set()).add(parent)
                elif parent not in inodes:
                    inodes.add(parent)
                    heapq.heappush(heap, (-depths.of(parent), parent))

    def _compute(self, inode: int, at: int) -> bool:
        """Whether the digest of a row has moved."""
        newest = at == self._head
        digest = tree_digest(tree_children(self._catalog, inode, self._at(at)))
        key = {"inode": inode} if newest else {"inode": inode, "at": at}
        if digest == self._catalog.value(
            sql.TREE_DIGEST_HEAD if newest else sql.TREE_DIGEST_DIFF, key
        ):
            return False
        statement = sql.REDIGEST_HEAD if newest else sql.REDIGEST_DIFF
        self._catalog.execute(statement, {**key, "digest": digest})
        return True

    def _announce(self, span: Span) -> None:
        digest = root_digest(self._catalog, self._root_inode, span.high)
        params = {"root": self._root_id, "low": span.low, "high": span.high, "digest": digest}
        self._catalog.execute(sql.REDIGEST_SNAPSHOTS, params)

    # --- what is above --------------------------------------------------------------------------

    def _above(self, inode: int, span: Span) -> Iterator[tuple[int, int]]:
        """Rows of directories that named it within a span, each by inode and end."""
        for parent, name in self._catalog.execute(sql.NAMES_EVER, {"inode": inode}).fetchall():
            for named in self._named(parent, name, inode):
                both = named.cut(span)
                if both is not None:
                    yield from self._rows_within(parent, both, named)

    def _rows_within(self, parent: int, both: Span, named: Span) -> Iterator[tuple[int, int]]:
        """The rows of a directory in the part of its time in which a child of it has moved.

        They end where that does, and begin where it begins unless it was not the child before.
        """
        if both.high != self._head:
            split(self._catalog, parent, both.high)
        if both.low > named.low:
            split(self._catalog, parent, both.low)
        for span in self._spans(parent):
            if both.low < span.high <= both.high:
                yield parent, span.high

    def _named(self, parent: int, name: bytes, inode: int) -> Iterator[Span]:
        """When a name meant an inode."""
        values = self._catalog.execute(sql.NAME_VALUES, {"parent": parent, "name": name})
        return (span for span, value in held(values, self._head) if value == inode)

    # --- states ---------------------------------------------------------------------------------

    def _at(self, snapshot: int) -> int | None:
        return None if snapshot == self._head else snapshot

    def _spans(self, inode: int) -> Iterator[Span]:
        """Where each row of a directory holds."""
        states = self._catalog.execute(sql.INODE_STATES, {"inode": inode})
        rows_of = ((at, kind) for at, _, kind in states)
        return (span for span, kind in held(rows_of, self._head) if kind == Kind.DIR)


class _Depths:
    """How deep directories are in one state, remembered."""

    def __init__(self, catalog: Catalog, root_inode: int, at: int | None) -> None:
        self._catalog = catalog
        self._at = at
        self._known = {root_inode: 0}

    def of(self, inode: int) -> int:
        """Directories above it; of one that the state does not reach, those that are known."""
        way: list[int] = []
        while inode not in self._known:
            self._known[inode] = 0  # until it is known; a damaged catalog may lead back here
            way.append(inode)
            found = view.names(self._catalog, inode, self._at)
            if not found:
                break
            inode = found[0].parent
        depth = self._known[inode]
        for below in reversed(way):
            depth += 1
            self._known[below] = depth
        return depth
