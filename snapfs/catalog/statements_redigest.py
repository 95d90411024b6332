"""Statements that compute the tree digests of directories anew, in each of their states."""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, exists, func, null, select, union_all, update
from sqlalchemy.dialects.sqlite import insert as upsert

from snapfs.catalog.schema import ATTRIBUTES, inode, inode_diff, snapshot
from snapfs.catalog.statements_rows import p

_VALUES = ("born", *ATTRIBUTES)
_later = inode_diff.alias("later")
_row = inode_diff.alias("valid_row")
_first = (
    select(func.min(_later.c.snapshot_id))
    .where(and_(_later.c.inode_id == p("inode"), _later.c.snapshot_id >= p("at")))
    .scalar_subquery()
)

ALL: dict[str, Any] = {
    # Every row of an inode: old ones by snapshot, then (None) the newest.
    "INODE_STATES": union_all(
        select(inode_diff.c.snapshot_id, inode_diff.c.born, inode_diff.c.kind).where(
            inode_diff.c.inode_id == p("inode")
        ),
        select(null(), inode.c.born, inode.c.kind).where(inode.c.id == p("inode")),
    ),
    "TREE_DIGEST_HEAD": select(inode.c.tree_digest).where(inode.c.id == p("inode")),
    "TREE_DIGEST_DIFF": select(inode_diff.c.tree_digest).where(
        and_(inode_diff.c.inode_id == p("inode"), inode_diff.c.snapshot_id == p("at"))
    ),
    "REDIGEST_HEAD": update(inode).where(inode.c.id == p("inode")).values(tree_digest=p("digest")),
    "REDIGEST_DIFF": update(inode_diff)
    .where(and_(inode_diff.c.inode_id == p("inode"), inode_diff.c.snapshot_id == p("at")))
    .values(tree_digest=p("digest")),
    "REDIGEST_SNAPSHOTS": update(snapshot)
    .where(
        and_(
            snapshot.c.root_id == p("root"),
            snapshot.c.id > p("low"),
            snapshot.c.id <= p("high"),
        )
    )
    .values(tree_digest=p("digest")),
    # An inode's value at a snapshot, which it had by a later row, as a row of its own. Where it was not
    # born yet, or was away for a while, it had none.
    "SPLIT_INODE": upsert(inode_diff)
    .from_select(
        ["inode_id", "snapshot_id", *_VALUES],
        union_all(
            select(_row.c.inode_id, p("at"), *[_row.c[name] for name in _VALUES]).where(
                and_(
                    _row.c.inode_id == p("inode"),
                    _row.c.snapshot_id == _first,
                    _row.c.born <= p("at"),
                )
            ),
            select(inode.c.id, p("at"), *[inode.c[name] for name in _VALUES]).where(
                and_(
                    inode.c.id == p("inode"),
                    inode.c.born <= p("at"),
                    ~exists(
                        select(1).where(
                            and_(_later.c.inode_id == p("inode"), _later.c.snapshot_id >= p("at"))
                        )
                    ),
                )
            ),
        ),
    )
    .on_conflict_do_nothing(),
}
