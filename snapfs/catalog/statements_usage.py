"""Statements that tell what only some snapshots hold, without a change of anything (`catalog.usage`)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, delete, exists, func, insert, or_, select, union_all
from sqlalchemy.dialects.sqlite import insert as upsert

from snapfs.catalog.schema import (
    block,
    content_block,
    inode,
    inode_diff,
    orphan,
    pack,
    root,
    segment,
    snapshot,
)
from snapfs.catalog.statements_reclaim import is_named, share
from snapfs.catalog.statements_rows import p
from snapfs.catalog.usage_schema import going, sole, sole_pack

_older = inode_diff.alias("older")
_naming_inode = inode.alias("naming_inode")
_naming_diff = inode_diff.alias("naming_diff")
_other_use = content_block.alias("other_use")
_other = sole.alias("other")
_mine = sole.alias("mine")


def _older_row(inode_id: Any, below: Any) -> Any:
    """Whether an inode has a row from the floor on: then what follows it is of snapshots above the floor."""
    return exists(
        select(1).where(
            and_(_older.c.inode_id == inode_id, _older.c.snapshot_id >= going.c.floor, below)
        )
    )


# A row of an inode holds for the snapshots after the inode's row before it, or from its birth on, up to
# its own stamp: it goes with a party if all of these do, which is if none of them is the floor.
_diff_goes = or_(
    inode_diff.c.born > going.c.floor,
    _older_row(inode_diff.c.inode_id, _older.c.snapshot_id < inode_diff.c.snapshot_id),
)
_current_goes = or_(
    inode.c.born > going.c.floor, _older_row(inode.c.id, _older.c.snapshot_id < going.c.id)
)
_in_going = inode_diff.c.snapshot_id == going.c.id
# Outer joins, because SQLite keeps their order: of a few snapshots each row by its index, of many all rows as
# they lie. No index knows the rows of the current state by their root.
_diffs_of_few = going.outerjoin(inode_diff, _in_going)
_diffs_of_many = inode_diff.outerjoin(going, _in_going)
_heads = inode.outerjoin(root, root.c.id == inode.c.root_id).outerjoin(
    going, going.c.id == root.c.head_id
)


def _going_rows(source: Any, row: Any, goes: Any) -> Any:
    return (
        select(row.c.content_id.label("content_id"), going.c.party.label("party"))
        .select_from(source)
        .where(goes)
    )


def _naming_rows(id_: Any) -> Any:
    """Rows of all snapshots that name a content."""
    diffs = select(func.count()).where(_naming_diff.c.content_id == id_).scalar_subquery()
    current = select(func.count()).where(_naming_inode.c.content_id == id_).scalar_subquery()
    return diffs + current


def _put_sole(rows: Any) -> Any:
    """Contents of which every row that names them goes, and with one and the same party."""
    found = rows.subquery("found")
    return insert(sole).from_select(
        ["id", "party"],
        select(found.c.content_id, found.c.party)
        .group_by(found.c.content_id, found.c.party)
        .having(func.count() == _naming_rows(found.c.content_id)),
    )


def _used_otherwise(block_id: Any, party: Any) -> Any:
    """Whether a content of several blocks that does not go with the party uses a block. One that no row names
    uses nothing, though it may stand there until it is collected.
    """
    with_party = and_(_other.c.id == _other_use.c.content_id, _other.c.party == party)
    return exists(
        select(1)
        .select_from(_other_use.outerjoin(_other, with_party))
        .where(
            and_(
                _other_use.c.block_id == block_id,
                _other.c.id.is_(None),
                is_named(_other_use.c.content_id),
            )
        )
    )


def _marked(marks: str, id_: Any, how: str) -> Any:
    """Whether the byte of an id, in a parameter, is another parameter."""
    return func.substr(p(marks), id_ + 1, 1) == p(how)


# Outer joins again: from what is held to where it lies.
_held = _mine.outerjoin(block, block.c.id == _mine.c.id).outerjoin(
    segment, segment.c.id == block.c.segment_id
)

ALL: dict[str, Any] = {
    "GOING_CLEAR": delete(going),
    "GOING_PUT": insert(going).values(id=p("snapshot"), floor=p("floor"), party=p("party")),
    # Snapshots that stay, and roots whose newest goes.
    "GOING_COUNTS": select(
        select(func.count())
        .select_from(snapshot)
        .where(snapshot.c.id.not_in(select(going.c.id)))
        .scalar_subquery(),
        select(func.count())
        .select_from(root)
        .where(root.c.head_id.in_(select(going.c.id)))
        .scalar_subquery(),
    ),
    "SOLE_CLEAR": delete(sole),
    "SOLE_OF_FEW": _put_sole(_going_rows(_diffs_of_few, inode_diff, _diff_goes)),
    "SOLE_OF_MANY": _put_sole(_going_rows(_diffs_of_many, inode_diff, _diff_goes)),
    "SOLE_WITH_HEAD": _put_sole(
        union_all(
            _going_rows(_diffs_of_many, inode_diff, _diff_goes),
            _going_rows(_heads, inode, _current_goes),
        )
    ),
    # Of rows that hold for a snapshot that stays, the contents; 0 where there is none.
    "STAYING_IN_DIFFS": select(func.coalesce(inode_diff.c.content_id, 0))
    .select_from(_diffs_of_many)
    .where(or_(going.c.id.is_(None), ~_diff_goes)),
    # Inodes of roots whose newest goes that changed since the snapshot that stays.
    "CHANGED_IN_HEADS": select(inode_diff.c.inode_id).select_from(
        going.join(root, root.c.head_id == going.c.id)
        .join(snapshot, and_(snapshot.c.root_id == root.c.id, snapshot.c.id >= going.c.floor))
        .join(inode_diff, inode_diff.c.snapshot_id == snapshot.c.id)
    ),
    "STAYING_IN_HEADS": select(func.coalesce(inode.c.content_id, 0))
    .select_from(_heads)
    .where(
        or_(
            going.c.id.is_(None),
            and_(inode.c.born <= going.c.floor, _marked("changed", inode.c.id, "no")),
        )
    ),
    "STAYING_PARTS": select(content_block.c.block_id).where(
        _marked("stay", content_block.c.content_id, "yes")
    ),
    "UNMARKED_PACKS": insert(sole_pack).from_select(
        ["id", "size"],
        select(pack.c.id, pack.c.size).where(
            ~exists(
                select(1)
                .select_from(segment.join(block, block.c.segment_id == segment.c.id))
                .where(and_(segment.c.pack_id == pack.c.id, _marked("stay", block.c.id, "yes")))
            )
        ),
    ),
    "UNMARKED_BYTES": select(func.coalesce(func.sum(share()), 0))
    .select_from(block.outerjoin(segment, segment.c.id == block.c.segment_id))
    .where(
        and_(
            _marked("stay", block.c.id, "no"),
            segment.c.pack_id.not_in(select(sole_pack.c.id)),
        )
    ),
    # Where no snapshot stays, nothing does.
    "SOLE_ALL": insert(sole).from_select(
        ["id", "party"], select(block.c.id, p("party")).order_by(block.c.id)
    ),
    # What earlier deletes left to collect.
    "SOLE_ORPHANS": upsert(sole)
    .from_select(
        ["id", "party"],
        select(orphan.c.content_id, p("party")).where(~is_named(orphan.c.content_id)),
    )
    .on_conflict_do_nothing(),
    # A content of one block is that block, which larger contents may use as well.
    "SOLE_KEEP": delete(sole).where(_used_otherwise(sole.c.id, sole.c.party)),
    "SOLE_BLOCKS": upsert(sole)
    .from_select(
        ["id", "party"],
        select(content_block.c.block_id, _mine.c.party)
        .select_from(content_block.join(_mine, _mine.c.id == content_block.c.content_id))
        .where(
            and_(
                content_block.c.content_id.in_(select(sole.c.id)),
                ~_used_otherwise(content_block.c.block_id, _mine.c.party),
                ~is_named(content_block.c.block_id),
            )
        )
        .distinct(),
    )
    .on_conflict_do_nothing(),
    # As the collector takes them, also those that have no block at all.
    "SOLE_PACK_CLEAR": delete(sole_pack),
    "SOLE_PACK_PUT": insert(sole_pack).from_select(
        ["id", "size"],
        select(pack.c.id, pack.c.size).where(
            ~exists(
                select(1)
                .select_from(segment.join(block, block.c.segment_id == segment.c.id))
                .where(and_(segment.c.pack_id == pack.c.id, block.c.id.not_in(select(sole.c.id))))
            )
        ),
    ),
    "SOLE_PACK_SUM": select(func.coalesce(func.sum(sole_pack.c.size), 0), func.count()),
    "SOLE_STAYS": select(func.coalesce(func.sum(share()), 0))
    .select_from(_held)
    .where(segment.c.pack_id.not_in(select(sole_pack.c.id))),
    "SOLE_BYTES": select(_mine.c.party, func.sum(block.c.length), func.sum(share()))
    .select_from(_held)
    .where(func.coalesce(block.c.length, 0) != 0)
    .group_by(_mine.c.party),
}
