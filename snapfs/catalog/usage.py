"""What only some snapshots hold: worked out from the rows as they are, without a change of any.

Snapshots are thought away in *parties*: one set that is to go together, or each snapshot for itself. A
row of an inode goes with a party if it holds for snapshots of the party alone, a content if every row that
names it does, in all roots, and a block if every content that uses it does. These are the contents and
blocks that `catalog.fold` would find dead, had it folded the party's snapshots.

Everything runs inside one `Catalog.read`, in temporary tables: it takes no lock and works where nothing
can be written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.catalog.staying import can_mark, mark_staying, unmarked

TOGETHER = 0
"""The party of a set that goes together, and of what earlier deletes left to collect."""


class Going(NamedTuple):
    """A snapshot that is thought away."""

    snapshot_id: int
    floor_id: int
    """the newest older one of its root that stays, 0 if none does"""
    party: int


def together(chain: Sequence[int], ids: Collection[int]) -> list[Going]:
    """Those of a root's snapshots (oldest first) that are among ``ids``, as one party."""
    found = []
    floor = 0
    for id_ in chain:
        if id_ in ids:
            found.append(Going(id_, floor, TOGETHER))
        else:
            floor = id_
    return found


def apart(chain: Sequence[int]) -> list[Going]:
    """A root's snapshots (oldest first), each as a party of its own."""
    return [Going(id_, floor, id_) for floor, id_ in pairwise((0, *chain))]


def find_sole(catalog: Catalog, going: Sequence[Going], *, orphans: bool) -> None:
    """Fill ``sole`` with the contents and blocks that only one of the parties ``going`` holds.

    ``orphans``: together with what earlier deletes left to collect.
    """
    stay, heads_go = _begin(catalog, going)
    if not stay and all(one.party == TOGETHER for one in going):
        catalog.execute(sql.SOLE_ALL, {"party": TOGETHER})
        return
    many = len(going) > stay
    catalog.execute(
        sql.SOLE_WITH_HEAD if heads_go else sql.SOLE_OF_MANY if many else sql.SOLE_OF_FEW
    )
    if orphans:
        catalog.execute(sql.SOLE_ORPHANS, {"party": TOGETHER})
    for statement in (sql.SOLE_KEEP, sql.SOLE_BLOCKS):
        catalog.execute(statement)


class Reclaimed(NamedTuple):
    """What collecting the party `TOGETHER` would do. Sizes in bytes."""

    freed_bytes: int
    """sizes of the packs that go"""
    reclaimable_bytes: int
    """stored sizes of dead blocks in packs that stay"""
    packs: int
    """packs that go"""


def reclaimed(catalog: Catalog, going: Sequence[Going]) -> Reclaimed:
    """What `catalog.fold.collect` would say, had the snapshots ``going``, one party, been folded."""
    stay, heads_go = _begin(catalog, going)
    # Where a root's newest goes, the rows of its current state are gone through in either way.
    many = len(going) * (2 if heads_go else 1) > stay
    if stay and many and can_mark(catalog):
        return Reclaimed(*unmarked(catalog, mark_staying(catalog, heads_go=heads_go > 0)))
    find_sole(catalog, going, orphans=True)
    catalog.execute(sql.SOLE_PACK_CLEAR)
    catalog.execute(sql.SOLE_PACK_PUT)
    freed, packs = catalog.one(sql.SOLE_PACK_SUM)
    return Reclaimed(freed, catalog.value(sql.SOLE_STAYS), packs)


def _begin(catalog: Catalog, going: Sequence[Going]) -> tuple[int, int]:
    """Fill ``going``; how many snapshots stay, and of how many roots the newest goes."""
    for statement in (*sql.CREATE_USAGE, sql.GOING_CLEAR, sql.SOLE_CLEAR):
        catalog.execute(statement)
    catalog.executemany(sql.GOING_PUT, going)
    stay, heads_go = catalog.one(sql.GOING_COUNTS)
    return stay, heads_go


def sole_bytes(catalog: Catalog) -> dict[int, tuple[int, int]]:
    """Size before compression and stored size of the blocks that only one party holds, by party."""
    return {party: (raw, stored) for party, raw, stored in catalog.execute(sql.SOLE_BYTES)}


class PathBytes(NamedTuple):
    """Stored sizes of the blocks that the versions below a path have."""

    path: bytes
    """from the root; empty for all together"""
    stored_bytes: int
    unique_bytes: int
    """of those that only this path has, in the snapshots of the party `TOGETHER` alone"""


def by_path(catalog: Catalog, root_id: int, head_id: int, depth: int) -> Iterator[PathBytes]:
    """All together, then each path of ``depth`` names (fewer where a file lies higher), the largest first.

    The snapshots are those that `find_sole` was called with, of this root alone.
    """
    span = {"root": root_id, "head": head_id}
    for statement in (
        sql.PATH_WAY_CLEAR,
        sql.PATH_PLACE_CLEAR,
        sql.PATH_CONTENT_CLEAR,
        sql.PATH_BLOCK_CLEAR,
    ):
        catalog.execute(statement)
    catalog.execute(sql.PATH_WAY_PUT, span)
    catalog.execute(sql.PATH_PLACE_PUT, {**span, "depth": depth})
    catalog.execute(sql.PATH_CONTENT_PUT, {"head": head_id, "depth": depth})
    catalog.execute(sql.PATH_BLOCK_PUT)
    yield PathBytes(b"", *catalog.one(sql.PATH_TOTAL))
    for row in catalog.execute(sql.PATH_SUMS):
        yield PathBytes(*row)
