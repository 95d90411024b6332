"""Deleting snapshots: their diff rows fold into the snapshot before, in any order.

All statements here run inside one `Catalog.write`; the caller records the change in the journal.
"""

from __future__ import annotations

from snapfs.catalog import compiled as sql
from snapfs.catalog import rows
from snapfs.catalog.database import Catalog

PENDING = "pending"
"""A key of ``meta``, which is there while there is something to collect, until somebody can."""


def fold(catalog: Catalog, root_id: int, snapshot_id: int) -> None:
    """Make a snapshot's diffs part of its neighbours and remove it. O(rows folded)."""
    previous = rows.previous_id(catalog, root_id, snapshot_id)
    newest = rows.next_id(catalog, root_id, snapshot_id) is None
    if newest and previous is None:
        _drop_all(catalog, root_id)
    elif newest:
        assert previous is not None
        _roll_back(catalog, root_id, previous)
    elif previous is None:
        for statement in (sql.FOLD_ORPHANS, sql.FOLD_DROP_NAMES, sql.FOLD_DROP_INODES):
            catalog.execute(statement, {"gone": snapshot_id})
    else:
        params = {"gone": snapshot_id, "previous": previous}
        catalog.execute(sql.FOLD_ORPHANS, {"gone": snapshot_id})
        # Names first: whether their directory was born after `previous` is read from its rows.
        for statement in (
            sql.FOLD_NAMES_COVERED,
            sql.FOLD_NAMES_UNBORN,
            sql.FOLD_NAMES,
            sql.FOLD_INODES_COVERED,
            sql.FOLD_INODES,
        ):
            catalog.execute(statement, params)
    rows.drop_snapshot(catalog, snapshot_id)


def _roll_back(catalog: Catalog, root_id: int, previous: int) -> None:
    """The head goes: the current rows become those of the snapshot before."""
    params = {"previous": previous}
    catalog.execute(sql.DEAD_CLEAR)
    catalog.execute(sql.ROLL_DEAD, params)
    catalog.execute(sql.ROLL_ORPHANS, params)
    catalog.execute(sql.ROLL_NAMES_DEAD)
    catalog.execute(sql.ROLL_NAMES_NEW, params)
    catalog.execute(sql.ROLL_INODES_DEAD)
    catalog.execute(sql.ROLL_NAMES, params)
    catalog.execute(sql.ROLL_INODES, {**params, "root": root_id})
    catalog.execute(sql.ROLL_UNSURE, params)
    catalog.execute(sql.FOLD_DROP_NAMES, {"gone": previous})
    catalog.execute(sql.FOLD_DROP_INODES, {"gone": previous})
    found = rows.root(catalog, root_id)
    assert found is not None
    catalog.execute(sql.ROOT_SET_HEAD, {"root": root_id, "head": previous, "inode": found.inode_id})


def _drop_all(catalog: Catalog, root_id: int) -> None:
    """The last snapshot of a root goes, and with it the current state."""
    for statement in (sql.ROOT_ORPHANS, sql.ROOT_DROP_NAMES, sql.ROOT_DROP_INODES):
        catalog.execute(statement, {"root": root_id})
    catalog.execute(sql.ROOT_SET_HEAD, {"root": root_id, "head": None, "inode": None})


def leave_pending(catalog: Catalog) -> None:
    """Remember that what became free is not collected yet, because somebody reads blocks."""
    catalog.set_meta(PENDING, "1")


def is_pending(catalog: Catalog) -> bool:
    """Whether a delete left something for a later run to collect."""
    return bool(catalog.meta(PENDING))


def collect(catalog: Catalog) -> tuple[int, int, list[str]]:
    """Drop contents and blocks that nothing refers to, and the rows of packs without any block.

    Returns (bytes of the packs that go, stored bytes of dead blocks in packs that stay, names of the
    packs that go). The files are removed by the caller once this is committed: until then their
    names stand in ``doomed_pack``. Needs ``locks/gc`` exclusively.
    """
    for statement in (
        sql.DEAD_CLEAR,
        sql.COLLECT_BLOCK_CLEAR,
        sql.COLLECT_PACK_CLEAR,
        sql.COLLECT_DEAD,
        sql.COLLECT_BLOCKS,
        sql.COLLECT_CONTENT_BLOCK,
        sql.COLLECT_CONTENT,
        sql.COLLECT_KEEP,
    ):
        catalog.execute(statement)
    shares = dict(catalog.execute(sql.COLLECT_SHARES).fetchall())
    catalog.execute(sql.COLLECT_BLOCK)
    catalog.execute(sql.COLLECT_PACKS)
    doomed = catalog.execute(sql.COLLECT_DOOMED).fetchall()
    for statement in (
        sql.COLLECT_DOOM,
        sql.COLLECT_SEGMENT,
        sql.COLLECT_PACK,
        sql.COLLECT_DONE,
    ):
        catalog.execute(statement)
    if is_pending(catalog):
        catalog.drop_meta(PENDING)
    for pack_id, _, _ in doomed:
        shares.pop(pack_id, None)
    return sum(size for _, _, size in doomed), sum(shares.values()), [name for _, name, _ in doomed]
