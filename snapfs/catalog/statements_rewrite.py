"""Statements that find packs with dead bytes, and move what lives in them to new packs."""

from __future__ import annotations

from typing import Any

from sqlalchemy import case, func, select, update

from snapfs.catalog.schema import block, pack, segment
from snapfs.catalog.statements_rows import p

_living = (
    select(block.c.segment_id, func.sum(block.c.length).label("living"))
    .group_by(block.c.segment_id)
    .subquery()
)

ALL: dict[str, Any] = {
    # Packs with bytes that no block names, whoever left them; and by how much they would shrink.
    "PACKS_WITH_DEAD": select(
        pack.c.id,
        pack.c.name,
        pack.c.size,
        func.sum(segment.c.raw),
        func.coalesce(func.sum(_living.c.living), 0),
        # A segment without dead blocks is copied as it is, one without living ones goes.
        func.sum(
            case(
                (_living.c.living.is_(None), 0),
                (_living.c.living == segment.c.raw, segment.c.stored),
                else_=segment.c.stored * _living.c.living // segment.c.raw,
            )
        ),
    )
    .select_from(
        pack.join(segment, segment.c.pack_id == pack.c.id).outerjoin(
            _living, _living.c.segment_id == segment.c.id
        )
    )
    .group_by(pack.c.id)
    .having(func.sum(segment.c.raw) != func.coalesce(func.sum(_living.c.living), 0))
    .order_by(pack.c.id),
    "MOVE_SEGMENT_BLOCKS": update(block)
    .where(block.c.segment_id == p("segment"))
    .values(segment_id=p("new_segment")),
    "MOVE_BLOCK": update(block)
    .where(block.c.id == p("block"))
    .values(segment_id=p("segment"), offset=p("new_offset")),
}
