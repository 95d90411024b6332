"""Statements that hold the catalog against its own rules, and that mend what a rebuild finds lost."""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, exists, func, null, or_, select, update

from snapfs.catalog.schema import block, content_block, inode, inode_diff, pack, segment
from snapfs.catalog.statements_rows import p

_user = content_block.alias("user")


def _used(id_: Any) -> Any:
    """Whether some snapshot needs the block."""
    return or_(
        exists(select(1).where(inode.c.content_id == id_)),
        exists(select(1).where(inode_diff.c.content_id == id_)),
        exists(select(1).where(_user.c.block_id == id_)),
    )


REBUILD: dict[str, Any] = {
    # Blocks without a digest are never taken for stored: who has their bytes stores them anew.
    "LOSE_PACK": update(block)
    .where(block.c.segment_id.in_(select(segment.c.id).where(segment.c.pack_id == p("pack"))))
    .values(digest=null()),
    "LOST_SEGMENTS": select(
        segment.c.id,
        segment.c.pack_id,
        segment.c.offset,
        segment.c.stored,
        segment.c.raw,
        segment.c.checksum,
        pack.c.name,
    )
    .select_from(segment.join(pack, pack.c.id == segment.c.pack_id))
    .where(segment.c.id.in_(select(block.c.segment_id).where(block.c.digest.is_(None))))
    .order_by(pack.c.id, segment.c.offset),
    "LOST_BLOCKS": select(func.count())
    .select_from(block)
    .where(and_(block.c.digest.is_(None), _used(block.c.id))),
    "SET_BLOCK_DIGEST": update(block)
    .where(
        and_(
            block.c.segment_id == p("segment"),
            block.c.offset == p("at"),
            block.c.digest.is_(None),
        )
    )
    .values(digest=p("new_digest")),
}

ALL: dict[str, Any] = {**REBUILD}
