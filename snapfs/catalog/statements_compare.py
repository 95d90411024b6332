"""Statements that tell changes from bookkeeping once a stage is full, and count both."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    and_,
    case,
    exists,
    func,
    insert,
    literal,
    literal_column,
    or_,
    select,
    update,
)

from snapfs.catalog.schema import (
    attr,
    block,
    content,
    inode,
    xattr,
)
from snapfs.catalog.stage_schema import (
    stage_attr,
)
from snapfs.catalog.staged import (
    CHANGED,
    DIR,
    FILE,
    OLD_VALUE_KEPT,
    SAME_SIZE_AND_MTIME,
    UNREAD,
    s,
)
from snapfs.catalog.statements_rows import p

# --- which rows are real changes --------------------------------------------------------------


def _equal(a: Any, b: Any) -> Any:
    return a.is_not_distinct_from(b)


_attr_of_row = (
    select(stage_attr.c.final).where(stage_attr.c.id == s.c.attr).correlate(s).scalar_subquery()
)

# A row, or another name of the file that a row is of.
HAS_INODE: list[Any] = [literal_column("0"), literal_column("1")]
_kept_attr = select(inode.c.attr_id).where(inode.c.id == s.c.inode).scalar_subquery()

COMPARE: dict[str, Any] = {
    # Rows whose attributes were not read again keep the catalog's, under a local id of their own.
    "ATTR_KEEP": insert(stage_attr).from_select(
        ["id", "mode", "uid", "gid", "flags", "xattr", "xattr_final", "final"],
        select(
            p("kept") + attr.c.id,
            attr.c.mode,
            attr.c.uid,
            attr.c.gid,
            attr.c.flags,
            func.coalesce(xattr.c.value, literal(b"")),
            attr.c.xattr_id,
            attr.c.id,
        )
        .select_from(attr.outerjoin(xattr, xattr.c.id == attr.c.xattr_id))
        .where(
            attr.c.id.in_(
                select(inode.c.attr_id)
                .select_from(s.join(inode, inode.c.id == s.c.inode))
                .where(and_(s.c.attr.is_(None), s.c.nodes.in_(HAS_INODE), s.c.kind.is_not(None)))
            )
        ),
    ),
    "ATTR_POINT": update(s)
    .where(and_(s.c.attr.is_(None), s.c.nodes.in_(HAS_INODE), s.c.kind.is_not(None), s.c.inode > 0))
    .values(attr=p("kept") + _kept_attr),
    "ATTR_FIND_XATTR": update(stage_attr).values(
        xattr_final=case(
            (stage_attr.c.xattr == literal(b""), 0),
            else_=select(xattr.c.id).where(xattr.c.value == stage_attr.c.xattr).scalar_subquery(),
        )
    ),
    "ATTR_FIND": update(stage_attr).values(
        final=select(attr.c.id)
        .where(
            and_(
                attr.c.mode == stage_attr.c.mode,
                attr.c.uid == stage_attr.c.uid,
                attr.c.gid == stage_attr.c.gid,
                attr.c.flags == stage_attr.c.flags,
                attr.c.xattr_id == stage_attr.c.xattr_final,
            )
        )
        .scalar_subquery()
    ),
    # The id of bytes that the catalog knows already.
    "RESOLVE_CONTENT": update(s)
    .where(s.c.digest.is_not(None))
    .values(
        content=func.coalesce(
            select(block.c.id).where(block.c.digest == s.c.digest).scalar_subquery(),
            select(content.c.id).where(content.c.digest == s.c.digest).scalar_subquery(),
        )
    ),
    "MARK_BOOKKEEPING": update(s)
    .where(
        and_(
            s.c.nodes == 1,
            s.c.inode > 0,
            exists(
                select(1).where(
                    and_(
                        inode.c.id == s.c.inode,
                        *SAME_SIZE_AND_MTIME,
                        inode.c.rdev == s.c.rdev,
                        _equal(inode.c.target, s.c.target),
                        _equal(inode.c.content_id, s.c.content),
                        or_(s.c.digest.is_(None), s.c.content.is_not(None)),
                        (inode.c.state == UNREAD) == (s.c.state == UNREAD),
                        _equal(inode.c.tree_digest, s.c.tree_digest),
                        inode.c.attr_id == _attr_of_row,
                    )
                )
            ),
        )
    )
    .values(nodes=2),
    "COUNT_STAGE": select(
        func.coalesce(
            func.sum(
                case((and_(s.c.names == 1, s.c.inode.is_not(None), s.c.kind == FILE), 1), else_=0)
            ),
            0,
        ),
        func.coalesce(
            func.sum(
                case((and_(s.c.names == 1, s.c.inode.is_not(None), s.c.kind == DIR), 1), else_=0)
            ),
            0,
        ),
        func.coalesce(
            func.sum(case((and_(s.c.names == 1, s.c.inode.is_not(None)), 1), else_=0)), 0
        ),
        func.coalesce(func.sum(case((and_(s.c.names == 1, s.c.by_kind == FILE), 1), else_=0)), 0),
        func.coalesce(func.sum(case((and_(s.c.names == 1, s.c.by_kind == DIR), 1), else_=0)), 0),
        func.coalesce(
            func.sum(case((and_(s.c.names == 1, s.c.by_kind.is_not(None)), 1), else_=0)), 0
        ),
        func.coalesce(
            func.sum(case((and_(s.c.nodes.in_(CHANGED), s.c.kind == FILE), s.c.size), else_=0)), 0
        ),
        func.coalesce(
            func.sum(
                case(
                    (and_(s.c.names == 1, s.c.inode.is_not(None), s.c.by_name.is_(None)), 1),
                    else_=0,
                )
            ),
            0,
        ),
        func.coalesce(func.sum(case((and_(s.c.names == 1, s.c.inode.is_(None)), 1), else_=0)), 0),
        func.coalesce(
            func.sum(
                case(
                    (
                        or_(
                            and_(s.c.names == 1, s.c.inode.is_not(None), s.c.by_name.is_not(None)),
                            and_(
                                s.c.nodes == 1,
                                s.c.names == 0,
                                s.c.inode > 0,
                                # Of a directory its own time says little: it moves with each name.
                                or_(s.c.kind != DIR, _attr_of_row.is_distinct_from(_kept_attr)),
                            ),
                        ),
                        1,
                    ),
                    else_=0,
                )
            ),
            0,
        ),
        func.coalesce(
            func.sum(case((or_(s.c.names == 1, s.c.nodes.in_(OLD_VALUE_KEPT)), 1), else_=0)), 0
        ),
        func.coalesce(func.max(s.c.seq), 0),
    ),
    "COUNT_OLD_BYTES": select(func.coalesce(func.sum(inode.c.size), 0)).where(
        and_(
            inode.c.kind == FILE,
            inode.c.id.in_(select(s.c.inode).where(and_(s.c.nodes > 0, s.c.inode > 0))),
        )
    ),
}

ALL = COMPARE
