"""What is lost, by the files that needed it: which paths, in which snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.catalog.spill import Spill, SpilledMap
from snapfs.repair.options import LostFile
from snapfs.tree.history import Places, Span, chains, cut

WHAT = "lost: what the repository had of it is damaged"
MOST_PROBLEMS = 1000
"""Files that are named among the problems of one snapshot; of more it is said how many there are."""

ProblemRow = tuple[int, int, bytes, int, str]
"""Snapshot, number, path, error number, text."""


class _Key(NamedTuple):
    """A path of a root, in the order in which it is told."""

    root_id: int
    path: bytes

    def packed(self) -> bytes:
        return b"%020d/%b" % self

    @staticmethod
    def unpacked(data: bytes) -> _Key:
        number, _, path = data.partition(b"/")
        return _Key(int(number), path)


class Losses:
    """The files that need a block in ``damaged_block``, looked up before anything is changed.

    To be made after `catalog.losing.find_lost`, within one transaction. ``spill`` is closed by the caller.
    """

    def __init__(self, catalog: Catalog, spill: Spill) -> None:
        self._catalog = catalog
        self._chains = chains(catalog)
        self._found: SpilledMap[list[Span]] = spill.map(
            lambda spans: [tuple(span) for span in spans],
            lambda spans: [Span(*one) for one in spans],
        )
        self.files = 0
        """how many there are, by root and path"""
        self._snapshots: set[int] = set()
        places = Places(catalog, self._chains)
        for (inode,) in catalog.execute(sql.LOST_INODES_EVER).fetchall():
            self._add(places, inode)
        self._last = {
            one: int(catalog.value(sql.PROBLEM_LAST, {"snapshot": one})) for one in self._snapshots
        }

    def _add(self, places: Places, inode: int) -> None:
        chain = places.chain(inode)
        if chain is None:
            return
        values = self._catalog.execute(sql.LOST_VALUES, {"inode": inode}).fetchall()
        spans = chain.spans(values, lambda _, lost: bool(lost))
        for place in places.of(chain, inode):
            both = [one for span in spans if (one := cut(span, place.span)) is not None]
            if not both:
                continue
            key = _Key(chain.root.root.id, place.path).packed()
            before = self._found.get(key)
            self.files += before is None
            self._found[key] = [*(before or ()), *both]
            for first, end in both:
                self._snapshots.update(one.id for one in chain.snapshots[first:end])

    @property
    def snapshots(self) -> list[int]:
        """Snapshots in which something is lost."""
        return sorted(self._snapshots)

    def names(self) -> tuple[str, ...]:
        """The same as people call them."""
        return tuple(
            f"{chain.root.root.label}@{one.name}"
            for chain in self._chains.values()
            for one in chain.snapshots
            if one.id in self._snapshots
        )

    def each(self) -> Iterator[LostFile]:
        """The files, in order of root and path."""
        for packed, spans in self._found.pairs():
            key = _Key.unpacked(packed)
            chain = self._chains[key.root_id]
            yield LostFile(chain.root.root.label, key.path, chain.names(spans))

    def problems(self) -> Iterator[ProblemRow]:
        """What is to be kept with each snapshot."""
        last = self._last
        told = dict.fromkeys(last, 0)
        for packed, spans in self._found.pairs():
            key = _Key.unpacked(packed)
            chain = self._chains[key.root_id]
            for at in sorted({number for span in spans for number in range(*span)}):
                id_ = chain.snapshots[at].id
                told[id_] += 1
                if told[id_] <= MOST_PROBLEMS:
                    yield id_, last[id_] + told[id_], key.path, 0, WHAT
        for id_, count in told.items():
            if count > MOST_PROBLEMS:
                what = f"lost: {count - MOST_PROBLEMS:,} more files"
                yield id_, last[id_] + MOST_PROBLEMS + 1, b"", 0, what
