"""Statements of `verify` and of a rebuild: trees, contents, what damage touches, what is lost."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    and_,
    case,
    exists,
    func,
    literal,
    null,
    or_,
    select,
    union,
    union_all,
    update,
)

from snapfs.catalog.schema import (
    attr,
    block,
    content,
    content_block,
    dirent,
    dirent_diff,
    inode,
    inode_diff,
    pack,
    root,
    segment,
    snapshot,
    xattr,
)
from snapfs.catalog.statements_read import first_diff_at, names_at, no_diff_at
from snapfs.catalog.statements_reclaim import is_named
from snapfs.catalog.statements_rows import p
from snapfs.model.kinds import Kind, State

DIR = int(Kind.DIR)
FILE = int(Kind.FILE)
UNREAD = int(State.UNREAD)
EMPTY = b""

# --- a rebuild ------------------------------------------------------------------------------------

_using = content_block.alias("using_block")


def _used(id_: Any) -> Any:
    """Whether some snapshot needs the block."""
    return or_(
        is_named(id_),
        exists(select(1).where(_using.c.block_id == id_)),
    )


REBUILD: dict[str, Any] = {
    # Blocks without a digest are never taken for stored: who has their bytes stores them anew.
    "LOSE_PACK": update(block)
    .where(block.c.segment_id.in_(select(segment.c.id).where(segment.c.pack_id == p("pack"))))
    .values(digest=null()),
    "MISSING_SEGMENTS": select(
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
    "MISSING_BLOCKS": select(pack.c.name, func.count())
    .select_from(
        block.join(segment, segment.c.id == block.c.segment_id).join(
            pack, pack.c.id == segment.c.pack_id
        )
    )
    .where(and_(block.c.digest.is_(None), _used(block.c.id)))
    .group_by(pack.c.name)
    .order_by(pack.c.name),
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


# --- trees and contents ---------------------------------------------------------------------------


def _tree_columns(name: Any, source: Any) -> list[Any]:
    """The columns of ``blocks.treedigest.TreeChild``."""
    return [
        name.label("name"),
        source.c.kind,
        attr.c.mode,
        attr.c.uid,
        attr.c.gid,
        attr.c.flags,
        func.coalesce(xattr.c.value, literal(EMPTY)).label("xattr"),
        source.c.size,
        source.c.mtime_s,
        source.c.mtime_nsec,
        source.c.rdev,
        func.coalesce(source.c.target, literal(EMPTY)).label("target"),
        func.coalesce(
            case(
                (source.c.kind == DIR, source.c.tree_digest),
                else_=func.coalesce(block.c.digest, content.c.digest),
            ),
            literal(EMPTY),
        ).label("digest"),
        case((source.c.state == UNREAD, 1), else_=0).label("unread"),
    ]


def _attached(joined: Any, source: Any) -> Any:
    return (
        joined.join(attr, attr.c.id == source.c.attr_id)
        .outerjoin(xattr, xattr.c.id == attr.c.xattr_id)
        .outerjoin(block, block.c.id == source.c.content_id)
        .outerjoin(content, content.c.id == source.c.content_id)
    )


def _tree_at(names: Any) -> Any:
    at = p("at")
    head = select(*_tree_columns(names.c.name, inode)).select_from(
        _attached(names.join(inode, inode.c.id == names.c.inode_id), inode)
    )
    old = select(*_tree_columns(names.c.name, inode_diff)).select_from(
        _attached(
            names.join(
                inode_diff,
                and_(
                    inode_diff.c.inode_id == names.c.inode_id,
                    inode_diff.c.snapshot_id == first_diff_at(names.c.inode_id, at),
                ),
            ),
            inode_diff,
        )
    )
    return union_all(head.where(no_diff_at(names.c.inode_id, at)), old).order_by("name")


_names = names_at(
    dirent.c.parent_id == p("parent"), dirent_diff.c.parent_id == p("parent"), p("at")
).cte("names")
_alone = select(literal(EMPTY).label("name"), p("inode").label("inode_id")).cte("alone")

TREES: dict[str, Any] = {
    "VERIFY_DIRECTORIES": select(inode.c.id, inode.c.tree_digest)
    .where(inode.c.kind == DIR)
    .order_by(inode.c.id),
    "VERIFY_OLD_DIRECTORIES": select(
        inode_diff.c.inode_id, inode_diff.c.tree_digest, inode_diff.c.snapshot_id
    )
    .where(inode_diff.c.kind == DIR)
    .order_by(inode_diff.c.inode_id, inode_diff.c.snapshot_id),
    "VERIFY_CHILDREN": select(*_tree_columns(dirent.c.name, inode))
    .select_from(_attached(dirent.join(inode, inode.c.id == dirent.c.inode_id), inode))
    .where(dirent.c.parent_id == p("parent"))
    .order_by(dirent.c.name),
    "VERIFY_CHILDREN_AT": _tree_at(_names),
    "VERIFY_INODE_AT": _tree_at(_alone),
    "VERIFY_SNAPSHOTS": select(snapshot.c.id, snapshot.c.tree_digest, root.c.inode_id)
    .select_from(snapshot.join(root, root.c.id == snapshot.c.root_id))
    .order_by(snapshot.c.id),
    "VERIFY_COUNTS": select(inode.c.root_id, inode.c.kind, func.count())
    .select_from(dirent.join(inode, inode.c.id == dirent.c.inode_id))
    .group_by(inode.c.root_id, inode.c.kind),
    "VERIFY_BYTES": select(inode.c.root_id, func.sum(inode.c.size))
    .where(inode.c.kind == FILE)
    .group_by(inode.c.root_id),
    "VERIFY_CONTENTS": select(
        content.c.id, content.c.digest, content.c.size, content.c.extents
    ).order_by(content.c.id),
    "VERIFY_CONTENT_BLOCKS": select(
        content_block.c.seq, content_block.c.block_id, block.c.digest, block.c.length
    )
    .select_from(content_block.outerjoin(block, block.c.id == content_block.c.block_id))
    .where(content_block.c.content_id == p("content"))
    .order_by(content_block.c.seq),
    "VERIFY_BLOCKS": select(block.c.id, block.c.digest, block.c.offset, block.c.length)
    .where(block.c.segment_id == p("segment"))
    .order_by(block.c.offset),
}

# --- what a damage touches ------------------------------------------------------------------------

TOUCHED: dict[str, Any] = {
    "TOUCHED_CONTENTS": select(content_block.c.content_id).where(
        content_block.c.block_id == p("block")
    ),
    "TOUCHED_INODES": union(
        select(inode.c.id).where(inode.c.content_id == p("content")),
        select(inode_diff.c.inode_id).where(inode_diff.c.content_id == p("content")),
    ),
}

ALL: dict[str, Any] = {**REBUILD, **TREES, **TOUCHED}
