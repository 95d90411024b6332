"""Statements that read the head with the stage laid over it: directories as they will be."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    and_,
    case,
    exists,
    func,
    literal,
    or_,
    select,
    union_all,
)

from snapfs.catalog.schema import (
    attr,
    block,
    content,
    dirent,
    inode,
    xattr,
)
from snapfs.catalog.stage_schema import (
    stage,
    stage_attr,
)
from snapfs.catalog.staged import (
    CHANGED,
    DIR,
    OLD_VALUE_KEPT,
    UNREAD,
    linked,
    other,
    s,
)
from snapfs.catalog.statements_rows import p

# --- children of a directory as they will be (columns of `blocks.treedigest`) -----------------

_staged_digest = func.coalesce(s.c.digest, block.c.digest, content.c.digest)
_staged_child = select(
    s.c.name.label("name"),
    s.c.kind,
    stage_attr.c.mode,
    stage_attr.c.uid,
    stage_attr.c.gid,
    stage_attr.c.flags,
    stage_attr.c.xattr,
    s.c.size,
    s.c.mtime_s,
    s.c.mtime_nsec,
    s.c.rdev,
    func.coalesce(s.c.target, literal(b"")).label("target"),
    func.coalesce(
        case((s.c.kind == DIR, s.c.tree_digest), else_=_staged_digest), literal(b"")
    ).label("digest"),
    case((s.c.state == UNREAD, 1), else_=0).label("unread"),
    s.c.seq,
).select_from(
    s.outerjoin(stage_attr, stage_attr.c.id == s.c.attr)
    .outerjoin(block, block.c.id == s.c.content)
    .outerjoin(content, content.c.id == s.c.content)
)
_row = stage.alias("row")
_overlaid = exists(select(1).where(and_(_row.c.inode == inode.c.id, _row.c.nodes.in_(CHANGED))))
_renamed = exists(
    select(1).where(and_(other.c.parent == dirent.c.parent_id, other.c.name == dirent.c.name))
)


def tree_child(*, xattr_value: Any = xattr.c.value) -> Any:
    """Children in the newest state with the columns of a tree digest."""
    return (
        select(
            dirent.c.name.label("name"),
            inode.c.kind,
            attr.c.mode,
            attr.c.uid,
            attr.c.gid,
            attr.c.flags,
            func.coalesce(xattr_value, literal(b"")).label("xattr"),
            inode.c.size,
            inode.c.mtime_s,
            inode.c.mtime_nsec,
            inode.c.rdev,
            func.coalesce(inode.c.target, literal(b"")).label("target"),
            func.coalesce(
                case(
                    (inode.c.kind == DIR, inode.c.tree_digest),
                    else_=func.coalesce(block.c.digest, content.c.digest),
                ),
                literal(b""),
            ).label("digest"),
            case((inode.c.state == UNREAD, 1), else_=0).label("unread"),
            literal(0).label("seq"),
        )
        .select_from(
            dirent.join(inode, inode.c.id == dirent.c.inode_id)
            .join(attr, attr.c.id == inode.c.attr_id)
            .outerjoin(xattr, xattr.c.id == attr.c.xattr_id)
            .outerjoin(block, block.c.id == inode.c.content_id)
            .outerjoin(content, content.c.id == inode.c.content_id)
        )
        .where(dirent.c.parent_id == p("parent"))
    )


# A hard link whose other name was scanned while this directory was not.
_link_of_staged = (
    _staged_child.with_only_columns(
        dirent.c.name.label("name"),
        *[c for c in _staged_child.selected_columns if c.key not in ("name", "seq")],
        literal(0).label("seq"),
        maintain_column_froms=True,
    )
    .join(dirent, dirent.c.inode_id == s.c.inode)
    .where(and_(dirent.c.parent_id == p("parent"), s.c.nodes.in_(CHANGED), ~_renamed))
)

TREE: dict[str, Any] = {
    # Rows of one directory stand together, because it is listed in one go.
    "STAGE_CHILDREN": _staged_child.where(
        and_(s.c.seq >= p("low"), s.c.seq <= p("high"), s.c.kind.is_not(None))
    ).order_by(s.c.name),
    # Names of the head in one directory whose inode is as it was, and hard links to staged ones.
    "STAGE_CHILDREN_KEPT": union_all(
        tree_child().where(and_(~_renamed, ~_overlaid)), _link_of_staged
    ).order_by("name"),
    # All staged names of one directory, also those that are gone (without a kind).
    "STAGE_CHILDREN_MOVED": _staged_child.where(s.c.parent == p("parent")).order_by(s.c.name),
    "STAGE_HAS_LINKS": select(1).select_from(s).where(linked).limit(1),
    "TREE_CHILDREN_HEAD": tree_child().order_by(dirent.c.name),
}

# --- the stage as an overlay over the head (`tree.state.StagedState`) -------------------------------

OVERLAY: dict[str, Any] = {
    "OVERLAY_INODE": select(
        s.c.nodes,
        literal(b"").label("name"),
        s.c.inode,
        s.c.kind,
        stage_attr.c.mode,
        stage_attr.c.uid,
        stage_attr.c.gid,
        stage_attr.c.flags,
        func.coalesce(stage_attr.c.xattr, literal(b"")),
        s.c.size,
        s.c.mtime_s,
        s.c.mtime_nsec,
        s.c.rdev,
        func.coalesce(s.c.target, literal(b"")),
        # Bytes that the catalog does not have differ from all that it has.
        func.coalesce(s.c.content, case((s.c.digest.is_not(None), -s.c.seq), else_=0)),
        s.c.state,
        s.c.tree_digest,
        s.c.ctime_s,
        s.c.ctime_nsec,
        s.c.dev,
        s.c.ino,
        s.c.nlink,
        s.c.fingerprint,
    )
    .select_from(s.outerjoin(stage_attr, stage_attr.c.id == s.c.attr))
    .where(and_(s.c.inode == p("inode"), s.c.nodes > 0)),
    "OVERLAY_NAME": select(s.c.inode).where(
        and_(
            s.c.parent == p("parent"),
            s.c.name == p("name"),
            or_(s.c.names == 1, s.c.inode.is_not(None)),
        )
    ),
    "OVERLAY_NAMES": select(s.c.parent, s.c.name).where(
        and_(s.c.inode == p("inode"), s.c.names == 1)
    ),
}

# Keys that the stage changes.
CHANGED_NAMES = select(s.c.parent, s.c.name).where(s.c.names == 1)
CHANGED_INODES = select(s.c.inode).where(
    and_(
        s.c.inode > 0,
        or_(s.c.nodes.in_(OLD_VALUE_KEPT), and_(s.c.nodes == 2, s.c.state == UNREAD)),
    )
)

ALL: dict[str, Any] = {**TREE, **OVERLAY}
