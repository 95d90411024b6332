"""Statements of the stage: settling identities after a scan, and making its changes the new head.

The rules are those of ``snapfs-design.7``, IDENTITY. Ids: positive ones are the catalog's, a negative
one is local to the stage (``-seq`` of the row that brings the inode; ``-id`` of a staged content).
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    literal,
    literal_column,
    null,
    or_,
    select,
    tuple_,
    union,
    union_all,
    update,
)
from sqlalchemy.dialects.sqlite import insert as upsert

from snapfs.catalog import schema
from snapfs.catalog.schema import (
    ATTRIBUTES,
    attr,
    block,
    content,
    dirent,
    dirent_diff,
    inode,
    inode_diff,
    lost,
    pack,
    problem,
    root,
    scan_path,
    segment,
    stage,
    stage_attr,
    stage_block,
    stage_content,
    stage_pack,
    stage_problem,
    stage_segment,
    xattr,
)
from snapfs.catalog.statements_rows import p, put_new
from snapfs.model.kinds import Kind, State

DIR = int(Kind.DIR)
FILE = int(Kind.FILE)
UNREAD = int(State.UNREAD)

# Values of stage.nodes: 1 a change, 2 bookkeeping only, 3 the inode is gone.
CHANGED: list[Any] = [literal_column("1"), literal_column("2")]
OLD_VALUE_KEPT: list[Any] = [literal_column("1"), literal_column("3")]

s = stage
other = stage.alias("other")
linked = and_(s.c.nlink > 1, s.c.kind != DIR)


def _same_group(a: Any, b: Any) -> Any:
    return and_(
        b.c.ino == a.c.ino, b.c.dev == a.c.dev, b.c.nlink > 1, b.c.kind != DIR, b.c.kind == a.c.kind
    )


def _claimed(inode_id: Any) -> Any:
    return exists(select(1).where(other.c.inode == inode_id))


def _kept_name(inode_id: Any) -> Any:
    """The inode has a name that the scan neither saw change nor missed."""
    gone = lost.alias("gone")
    return exists(
        select(1).where(
            and_(
                dirent.c.inode_id == inode_id,
                ~exists(
                    select(1).where(
                        and_(gone.c.parent == dirent.c.parent_id, gone.c.name == dirent.c.name)
                    )
                ),
            )
        )
    )


def _first_of_group() -> Any:
    """True of the row that speaks for its hard-link group (and of every row without one)."""
    return or_(
        ~linked,
        s.c.seq == select(func.min(other.c.seq)).where(_same_group(s, other)).scalar_subquery(),
    )


def _lost_closure() -> Any:
    top = (
        select(lost.c.inode.label("inode"))
        .where(and_(lost.c.kind == DIR, lost.c.done == 0))
        .cte("gone_below", recursive=True)
    )
    below = top.union_all(
        select(dirent.c.inode_id)
        .select_from(
            top.join(dirent, dirent.c.parent_id == top.c.inode).join(
                inode, inode.c.id == dirent.c.inode_id
            )
        )
        .where(inode.c.kind == DIR)
    )
    rows = (
        select(
            dirent.c.parent_id,
            dirent.c.name,
            dirent.c.inode_id,
            inode.c.kind,
            case((inode.c.dev == p("old_dev"), p("new_dev")), else_=inode.c.dev),
            inode.c.ino,
            literal(1),
        )
        .select_from(
            below.join(dirent, dirent.c.parent_id == below.c.inode).join(
                inode, inode.c.id == dirent.c.inode_id
            )
        )
        .where(literal(1) == 1)
    )
    return upsert(lost).from_select([c.name for c in lost.c], rows).on_conflict_do_nothing()


def _keep_unread() -> Any:
    """Names below a directory that could not be read are not lost."""
    top = (
        select(s.c.inode.label("inode"))
        .where(and_(s.c.kind == DIR, s.c.state == UNREAD, s.c.inode > 0))
        .cte("unread_below", recursive=True)
    )
    below = top.union_all(
        select(dirent.c.inode_id)
        .select_from(
            top.join(dirent, dirent.c.parent_id == top.c.inode).join(
                inode, inode.c.id == dirent.c.inode_id
            )
        )
        .where(inode.c.kind == DIR)
    )
    return delete(lost).where(lost.c.parent.in_(select(below.c.inode)))


_parent = stage.alias("parent_row")

_current_by_name = (
    select(dirent.c.inode_id)
    .where(and_(dirent.c.parent_id == s.c.parent, dirent.c.name == s.c.name))
    .scalar_subquery()
)
_current_kind = (
    select(inode.c.kind)
    .select_from(dirent.join(inode, inode.c.id == dirent.c.inode_id))
    .where(and_(dirent.c.parent_id == s.c.parent, dirent.c.name == s.c.name))
    .scalar_subquery()
)

SETTLE: dict[str, Any] = {
    "LOST_CLOSURE": _lost_closure(),
    "LOST_KEEP_UNREAD": _keep_unread(),
    # Children of a directory whose identity is now known hang on that identity.
    "SETTLE_RELINK": update(s)
    .where(
        and_(
            s.c.parent < 0,
            exists(select(1).where(and_(_parent.c.seq == -s.c.parent, _parent.c.inode > 0))),
        )
    )
    .values(
        parent=select(_parent.c.inode).where(_parent.c.seq == -s.c.parent).scalar_subquery(),
    ),
    "SETTLE_BY_NAME": update(s)
    .where(and_(s.c.by_name.is_(None), s.c.parent > 0, s.c.kind.is_not(None)))
    .values(by_name=_current_by_name, by_kind=_current_kind),
    "SETTLE_SAME": update(s)
    .where(
        and_(
            s.c.inode.is_(None),
            s.c.by_kind == s.c.kind,
            exists(select(1).where(and_(inode.c.id == s.c.by_name, inode.c.ino == s.c.ino))),
            ~_claimed(s.c.by_name),
        )
    )
    .values(inode=s.c.by_name),
    "SETTLE_GROUP": update(s)
    .where(
        and_(
            linked,
            or_(s.c.inode.is_(None), s.c.inode > 0),
            exists(select(1).where(and_(_same_group(s, other), other.c.inode > 0))),
        )
    )
    .values(
        inode=select(other.c.inode)
        .where(and_(_same_group(s, other), other.c.inode > 0))
        .order_by(other.c.seq)
        .limit(1)
        .scalar_subquery()
    ),
    "SETTLE_MOVED": update(s)
    .where(and_(s.c.inode.is_(None), s.c.kind.is_not(None), _first_of_group()))
    .values(
        inode=select(func.min(lost.c.inode))
        .where(
            and_(
                lost.c.ino == s.c.ino,
                lost.c.dev == s.c.dev,
                lost.c.kind == s.c.kind,
                ~_claimed(lost.c.inode),
                ~_kept_name(lost.c.inode),
            )
        )
        .scalar_subquery()
    ),
    # A directory, or a file with one name, is one inode however often it was seen.
    "SETTLE_ONCE": update(s)
    .where(
        and_(
            s.c.inode > 0,
            or_(s.c.kind == DIR, s.c.nlink <= 1),
            or_(s.c.by_name.is_(None), s.c.by_name != s.c.inode),
            exists(
                select(1).where(
                    and_(
                        other.c.inode == s.c.inode,
                        other.c.seq != s.c.seq,
                        or_(other.c.seq < s.c.seq, other.c.by_name == other.c.inode),
                    )
                )
            ),
        )
    )
    .values(inode=null()),
    "SETTLE_NAME": update(s)
    .where(
        and_(
            s.c.inode.is_(None),
            s.c.by_kind == s.c.kind,
            _first_of_group(),
            ~_claimed(s.c.by_name),
            ~_kept_name(s.c.by_name),
            s.c.seq
            == select(func.min(other.c.seq))
            .where(
                and_(
                    other.c.by_name == s.c.by_name,
                    other.c.inode.is_(None),
                    other.c.kind == s.c.kind,
                )
            )
            .scalar_subquery(),
        )
    )
    .values(inode=s.c.by_name),
    "SETTLE_FRESH_GROUP": update(s)
    .where(and_(linked, or_(s.c.inode.is_(None), s.c.inode < 0)))
    .values(
        inode=-select(func.min(other.c.seq)).where(_same_group(s, other)).scalar_subquery(),
    ),
    "SETTLE_FRESH": update(s)
    .where(and_(s.c.inode.is_(None), s.c.kind.is_not(None)))
    .values(inode=-s.c.seq),
    "SETTLE_SECONDARY": update(s)
    .where(
        and_(
            linked,
            s.c.seq > select(func.min(other.c.seq)).where(_same_group(s, other)).scalar_subquery(),
        )
    )
    .values(nodes=0, need=0),
    "SETTLE_NAMES": update(s)
    .where(and_(s.c.parent.is_not(None), s.c.kind.is_not(None)))
    .values(names=case((s.c.by_name == s.c.inode, 0), else_=1)),
    # What keeps its bytes although it was seen under a new name or in a moved directory.
    "SETTLE_UNREAD": update(s)
    .where(
        and_(
            s.c.need == 1,
            s.c.inode > 0,
            exists(
                select(1).where(
                    and_(
                        inode.c.id == s.c.inode,
                        inode.c.state == 0,
                        s.c.state == 0,
                        inode.c.ino == s.c.ino,
                        inode.c.size == s.c.size,
                        inode.c.mtime_s == s.c.mtime_s,
                        inode.c.mtime_nsec == s.c.mtime_nsec,
                        inode.c.ctime_s == s.c.ctime_s,
                        inode.c.ctime_nsec == s.c.ctime_nsec,
                    )
                )
            ),
        )
    )
    .values(
        need=0,
        attr=null(),
        content=select(inode.c.content_id).where(inode.c.id == s.c.inode).scalar_subquery(),
    ),
    "LOST_NAMES": insert(s).from_select(
        ["seq", "parent", "name", "names", "nodes", "by_name", "by_kind", "need"],
        select(
            p("next") + func.row_number().over(order_by=(lost.c.parent, lost.c.name)),
            lost.c.parent,
            lost.c.name,
            literal(1),
            literal(0),
            lost.c.inode,
            lost.c.kind,
            literal(0),
        ).where(
            ~exists(
                select(1).where(and_(other.c.parent == lost.c.parent, other.c.name == lost.c.name))
            )
        ),
    ),
    "LOST_INODES": insert(s).from_select(
        ["seq", "inode", "names", "nodes", "need"],
        select(
            p("next") + func.row_number().over(order_by=lost.c.inode),
            lost.c.inode,
            literal(0),
            literal(3),
            literal(0),
        )
        .where(and_(~_claimed(lost.c.inode), ~_kept_name(lost.c.inode)))
        .group_by(lost.c.inode),
    ),
}

# --- which rows are real changes --------------------------------------------------------------


def _equal(a: Any, b: Any) -> Any:
    return a.is_not_distinct_from(b)


_attr_of_row = (
    select(stage_attr.c.final).where(stage_attr.c.id == s.c.attr).correlate(s).scalar_subquery()
)

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
                .where(and_(s.c.attr.is_(None), s.c.nodes == 1))
            )
        ),
    ),
    "ATTR_POINT": update(s)
    .where(and_(s.c.attr.is_(None), s.c.nodes == 1, s.c.inode > 0))
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
                        inode.c.size == s.c.size,
                        inode.c.mtime_s == s.c.mtime_s,
                        inode.c.mtime_nsec == s.c.mtime_nsec,
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
                            and_(s.c.nodes == 1, s.c.names == 0, s.c.inode > 0, s.c.kind != DIR),
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

# --- commit -----------------------------------------------------------------------------------

_final_inode = case((s.c.inode < 0, p("base") - s.c.inode), else_=s.c.inode)
_final_parent = case((s.c.parent < 0, p("base") - s.c.parent), else_=s.c.parent)
_final_content = func.coalesce(
    s.c.content,
    select(block.c.id).where(block.c.digest == s.c.digest).scalar_subquery(),
    select(content.c.id).where(content.c.digest == s.c.digest).scalar_subquery(),
)
_with_attr = s.outerjoin(stage_attr, stage_attr.c.id == s.c.attr)

_new_values = {
    "kind": s.c.kind,
    "attr_id": func.coalesce(
        stage_attr.c.final,
        select(inode.c.attr_id).where(inode.c.id == s.c.inode).scalar_subquery(),
    ),
    "size": s.c.size,
    "mtime_s": s.c.mtime_s,
    "mtime_nsec": s.c.mtime_nsec,
    "rdev": s.c.rdev,
    "target": s.c.target,
    "content_id": _final_content,
    "state": s.c.state,
    "tree_digest": s.c.tree_digest,
    "ctime_s": s.c.ctime_s,
    "ctime_nsec": s.c.ctime_nsec,
    "dev": s.c.dev,
    "ino": s.c.ino,
    "nlink": s.c.nlink,
    "fingerprint": s.c.fingerprint,
}
_put_inode = upsert(inode).from_select(
    ["id", "root_id", "born", *ATTRIBUTES],
    select(_final_inode, p("root"), p("snapshot"), *[_new_values[name] for name in ATTRIBUTES])
    .select_from(_with_attr)
    .where(s.c.nodes.in_(CHANGED))
    .order_by(s.c.seq),
)
_put_dirent = upsert(dirent).from_select(
    ["parent_id", "name", "inode_id"],
    select(_final_parent, s.c.name, _final_inode)
    .where(and_(s.c.names == 1, s.c.inode.is_not(None)))
    .order_by(s.c.seq),
)

COMMIT: dict[str, Any] = {
    "COMMIT_XATTR": upsert(xattr)
    .from_select(
        ["id", "value"],
        select(p("base") + func.min(stage_attr.c.id), stage_attr.c.xattr)
        .where(stage_attr.c.xattr != literal(b""))
        .group_by(stage_attr.c.xattr),
    )
    .on_conflict_do_nothing(),
    "COMMIT_ATTR": upsert(attr)
    .from_select(
        ["id", "mode", "uid", "gid", "flags", "xattr_id"],
        select(
            p("base") + stage_attr.c.id,
            stage_attr.c.mode,
            stage_attr.c.uid,
            stage_attr.c.gid,
            stage_attr.c.flags,
            stage_attr.c.xattr_final,
        ).where(literal(1) == 1),
    )
    .on_conflict_do_nothing(),
    "COMMIT_PACK_IDS": update(stage_pack).values(final=p("base") + stage_pack.c.id),
    "COMMIT_PACK": upsert(pack)
    .from_select(
        ["id", "name", "size"],
        select(stage_pack.c.final, stage_pack.c.name, stage_pack.c.size).where(literal(1) == 1),
    )
    .on_conflict_do_nothing(),
    # A pack that another process has adopted keeps the adopter's rows: ours then map to its blocks.
    "COMMIT_PACK_ADOPTED": update(stage_pack)
    .where(~exists(select(1).where(pack.c.id == stage_pack.c.final)))
    .values(final=null()),
    "COMMIT_SEGMENT_IDS": update(stage_segment).values(
        final=case(
            (
                exists(
                    select(1).where(
                        and_(
                            stage_pack.c.id == stage_segment.c.pack, stage_pack.c.final.is_not(None)
                        )
                    )
                ),
                p("base") + stage_segment.c.id,
            )
        )
    ),
    "COMMIT_SEGMENT": insert(segment).from_select(
        ["id", "pack_id", "offset", "stored", "raw", "checksum"],
        select(
            stage_segment.c.final,
            stage_pack.c.final,
            stage_segment.c.offset,
            stage_segment.c.stored,
            stage_segment.c.raw,
            stage_segment.c.checksum,
        )
        .select_from(stage_segment.join(stage_pack, stage_pack.c.id == stage_segment.c.pack))
        .where(stage_segment.c.final.is_not(None)),
    ),
    "COMMIT_BLOCK": upsert(block)
    .from_select(
        ["id", "digest", "segment_id", "offset", "length"],
        select(
            p("base") + stage_block.c.id,
            stage_block.c.digest,
            stage_segment.c.final,
            stage_block.c.offset,
            stage_block.c.length,
        )
        .select_from(stage_block.join(stage_segment, stage_segment.c.id == stage_block.c.segment))
        .where(stage_segment.c.final.is_not(None))
        .order_by(stage_block.c.digest),
    )
    .on_conflict_do_nothing(),
    "NEW_CONTENTS": select(
        stage_content.c.digest, stage_content.c.size, stage_content.c.extents
    ).where(~exists(select(1).where(content.c.digest == stage_content.c.digest))),
    "COMMIT_INODE_DIFF": insert(inode_diff).from_select(
        ["inode_id", "snapshot_id", "born", *ATTRIBUTES],
        select(inode.c.id, p("previous"), inode.c.born, *[inode.c[name] for name in ATTRIBUTES])
        .select_from(s.join(inode, inode.c.id == s.c.inode))
        .where(s.c.nodes.in_(OLD_VALUE_KEPT))
        .order_by(s.c.inode),
    ),
    "COMMIT_DIRENT_DIFF": insert(dirent_diff).from_select(
        ["parent_id", "name", "snapshot_id", "inode_id"],
        select(_final_parent, s.c.name, p("previous"), s.c.by_name)
        .where(s.c.names == 1)
        .order_by(s.c.seq),
    ),
    "COMMIT_DELETE_DIRENT": delete(dirent).where(
        tuple_(dirent.c.parent_id, dirent.c.name).in_(
            select(s.c.parent, s.c.name).where(and_(s.c.names == 1, s.c.inode.is_(None)))
        )
    ),
    "COMMIT_DELETE_INODE": delete(inode).where(
        inode.c.id.in_(select(s.c.inode).where(s.c.nodes == 3))
    ),
    "COMMIT_INODE": _put_inode.on_conflict_do_update(
        index_elements=["id"], set_={name: _put_inode.excluded[name] for name in ATTRIBUTES}
    ),
    "COMMIT_DIRENT": _put_dirent.on_conflict_do_update(
        index_elements=["parent_id", "name"], set_={"inode_id": _put_dirent.excluded.inode_id}
    ),
    "COMMIT_PROBLEM": insert(problem).from_select(
        ["snapshot_id", "seq", "path", "errno", "what"],
        select(
            p("snapshot"),
            stage_problem.c.seq,
            stage_problem.c.path,
            stage_problem.c.errno,
            stage_problem.c.what,
        ),
    ),
    # What the journal says of new attributes and blocks; 0 stands for a block that another
    # pack has already.
    "STAGE_NEW_ATTRS": select(
        stage_attr.c.final,
        stage_attr.c.mode,
        stage_attr.c.uid,
        stage_attr.c.gid,
        stage_attr.c.flags,
        stage_attr.c.xattr_final,
        stage_attr.c.xattr,
    ).order_by(stage_attr.c.id),
    "STAGE_NEW_PACKS": select(stage_pack.c.final, stage_pack.c.name, stage_pack.c.size)
    .where(stage_pack.c.final.is_not(None))
    .order_by(stage_pack.c.id),
    "STAGE_NEW_SEGMENTS": select(
        stage_segment.c.final,
        stage_pack.c.final.label("pack"),
        stage_segment.c.offset,
        stage_segment.c.stored,
        stage_segment.c.raw,
        stage_segment.c.checksum,
        select(func.count())
        .select_from(stage_block)
        .where(stage_block.c.segment == stage_segment.c.id)
        .scalar_subquery(),
    )
    .select_from(stage_segment.join(stage_pack, stage_pack.c.id == stage_segment.c.pack))
    .where(stage_segment.c.final.is_not(None))
    .order_by(stage_segment.c.id),
    "STAGE_NEW_BLOCKS": select(func.coalesce(block.c.id, 0), stage_block.c.length)
    .select_from(
        stage_block.join(stage_segment, stage_segment.c.id == stage_block.c.segment).outerjoin(
            block,
            and_(
                block.c.id == p("base") + stage_block.c.id, block.c.digest == stage_block.c.digest
            ),
        )
    )
    .where(stage_segment.c.final.is_not(None))
    .order_by(stage_block.c.id),
    "STAGE_NEW_CONTENTS": select(
        content.c.id, content.c.digest, content.c.size, content.c.extents
    ).select_from(stage_content.join(content, content.c.digest == stage_content.c.digest)),
    "STAGE_MAX": select(
        select(func.coalesce(func.max(s.c.seq), 0)).scalar_subquery(),
        select(func.coalesce(func.max(stage_pack.c.id), 0)).scalar_subquery(),
        select(func.coalesce(func.max(stage_segment.c.id), 0)).scalar_subquery(),
        select(func.coalesce(func.max(stage_block.c.id), 0)).scalar_subquery(),
        select(func.count()).select_from(stage_content).scalar_subquery(),
    ),
    "STAGE_ROOT_INODE": select(_final_inode)
    .where(and_(s.c.parent.is_(None), s.c.nodes.in_(CHANGED)))
    .order_by(s.c.seq)
    .limit(1),
    "ROOT_INODE": select(root.c.inode_id, root.c.head_id).where(root.c.id == p("root")),
    # What the journal keeps of a create: the same rows with the ids they got.
    "STAGE_FINAL": select(
        s.c.seq,
        _final_parent,
        s.c.name,
        _final_inode,
        s.c.names,
        s.c.nodes,
        s.c.by_name,
        s.c.by_kind,
        inode.c.kind,
        inode.c.attr_id,
        inode.c.size,
        inode.c.mtime_s,
        inode.c.mtime_nsec,
        inode.c.rdev,
        inode.c.target,
        inode.c.content_id,
        inode.c.state,
        inode.c.tree_digest,
        inode.c.ctime_s,
        inode.c.ctime_nsec,
        inode.c.dev,
        inode.c.ino,
        inode.c.nlink,
        inode.c.fingerprint,
    )
    .select_from(s.outerjoin(inode, and_(inode.c.id == _final_inode, s.c.nodes.in_(CHANGED))))
    .where(or_(s.c.names == 1, s.c.nodes > 0))
    .order_by(s.c.seq),
}

# --- filling and reading the stage ------------------------------------------------------------

_scan_columns = (
    "seq",
    "above",
    "parent",
    "name",
    "inode",
    "names",
    "nodes",
    "by_name",
    "by_kind",
    "post",
    "low",
    "high",
    "need",
    "kind",
    "attr",
    "size",
    "mtime_s",
    "mtime_nsec",
    "rdev",
    "target",
    "content",
    "state",
    "ctime_s",
    "ctime_nsec",
    "dev",
    "ino",
    "nlink",
    "fingerprint",
)

_file_columns = (
    "seq",
    "above",
    "parent",
    "name",
    "inode",
    "attr",
    "size",
    "mtime_s",
    "mtime_nsec",
    "state",
    "ctime_s",
    "ctime_nsec",
    "dev",
    "ino",
    "nlink",
)
_read_values = (
    "attr",
    "size",
    "mtime_s",
    "mtime_nsec",
    "content",
    "digest",
    "state",
    "ctime_s",
    "ctime_nsec",
)

FILL: dict[str, Any] = {
    "STAGE_SCAN": insert(s).values({name: bindparam(name) for name in _scan_columns}),
    "STAGE_FILE": insert(s).values(
        {name: bindparam(name) for name in _file_columns}
        | {
            "names": literal_column("1"),
            "nodes": literal_column("1"),
            "need": literal_column("1"),
            "kind": literal_column(str(FILE)),
            "rdev": literal_column("0"),
        }
    ),
    "STAGE_REPLAY": insert(s).values(
        {"need": 0}
        | {
            name: bindparam(name)
            for name in (
                "seq",
                "parent",
                "name",
                "inode",
                "names",
                "nodes",
                "by_name",
                "by_kind",
                "kind",
                "attr",
                "size",
                "mtime_s",
                "mtime_nsec",
                "rdev",
                "target",
                "content",
                "state",
                "tree_digest",
                "ctime_s",
                "ctime_nsec",
                "dev",
                "ino",
                "nlink",
                "fingerprint",
            )
        }
    ),
    **{
        f"STAGE_PUT_{table.name.removeprefix('stage_').upper()}": put_new(table)
        for table in (
            lost,
            scan_path,
            stage_attr,
            stage_pack,
            stage_segment,
            stage_block,
            stage_content,
            stage_problem,
        )
    },
    **{
        f"STAGE_CLEAR_{table.name.upper()}": delete(table)
        for table in schema.stage_metadata.sorted_tables
    },
    "STAGE_SET_READ": update(s).where(s.c.seq == p("row")).values(digest=p("new_digest"), need=2),
    "STAGE_SET_READ_ALL": update(s)
    .where(s.c.seq == p("row"))
    .values(
        digest=p("new_digest"),
        need=2,
        state=p("new_state"),
        attr=p("new_attr"),
        size=p("new_size"),
        mtime_s=p("new_mtime_s"),
        mtime_nsec=p("new_mtime_nsec"),
        ctime_s=p("new_ctime_s"),
        ctime_nsec=p("new_ctime_nsec"),
    ),
    "STAGE_SET_DIGEST": update(s)
    .where(s.c.seq == p("row"))
    .values(tree_digest=p("new_digest"), fingerprint=p("new_fingerprint")),
    "STAGE_SET_VANISHED": update(s).where(s.c.seq == p("row")).values(need=3, kind=null()),
    # A file that vanished before it was read: its inode goes, and its name if the head had it.
    "VANISHED_INODES": insert(s).from_select(
        ["seq", "inode", "names", "nodes", "need"],
        select(
            p("next") + func.row_number().over(order_by=s.c.seq),
            s.c.inode,
            literal(0),
            literal(3),
            literal(0),
        ).where(and_(s.c.need == 3, s.c.inode > 0)),
    ),
    "VANISHED_NAMES": update(s)
    .where(s.c.need == 3)
    .values(inode=null(), nodes=0, names=case((s.c.by_name.is_(None), 0), else_=1), need=0),
    # Not every child was read for certain: the directory has to be looked into next time.
    "UNSURE_FINGERPRINTS": update(s)
    .where(
        and_(
            s.c.kind == DIR,
            s.c.fingerprint.is_not(None),
            exists(
                select(1).where(
                    and_(
                        other.c.parent == case((s.c.inode > 0, s.c.inode), else_=-s.c.seq),
                        other.c.state != 0,
                        other.c.kind != DIR,
                    )
                )
            ),
        )
    )
    .values(fingerprint=null()),
    # What was read through one name of a file holds for its other names.
    "SPREAD_LINKS": update(s)
    .where(
        and_(
            s.c.nodes == 0, s.c.kind.is_not(None), linked, _same_group(s, other), other.c.nodes == 1
        )
    )
    .values({name: other.c[name] for name in _read_values}),
    "STAGE_ROOT": select(s.c.seq).where(and_(s.c.parent.is_(None), s.c.kind == DIR)),
    "STAGE_ATTR": select(stage_attr.c.mode, stage_attr.c.uid, stage_attr.c.gid).where(
        stage_attr.c.id == p("attr")
    ),
    "STAGE_ATTRS_NEW": select(func.coalesce(func.max(stage_attr.c.id), 0)).where(
        stage_attr.c.final.is_(None)
    ),
    "STAGE_PROBLEMS": select(
        stage_problem.c.seq, stage_problem.c.path, stage_problem.c.errno, stage_problem.c.what
    ).order_by(stage_problem.c.seq),
    "STAGE_LAST": select(func.coalesce(func.max(s.c.seq), 0)),
    "STAGE_OWNERS": union(
        select(literal("uid"), stage_attr.c.uid), select(literal("gid"), stage_attr.c.gid)
    ),
    "STAGE_DIRS": select(s.c.seq, s.c.inode, s.c.low, s.c.high, s.c.fingerprint, s.c.state)
    .where(s.c.kind == DIR)
    .order_by(s.c.post),
    "STAGE_TO_READ": select(
        s.c.seq,
        scan_path.c.path,
        s.c.name,
        s.c.size,
        s.c.mtime_s,
        s.c.mtime_nsec,
        s.c.ctime_s,
        s.c.ctime_nsec,
        s.c.dev,
        s.c.ino,
        s.c.nlink,
        s.c.attr,
    )
    .select_from(s.join(scan_path, scan_path.c.key == s.c.above))
    .where(
        and_(
            s.c.need == 1,
            s.c.kind == FILE,
            s.c.seq > p("after"),
            or_(p("linked") == 1, s.c.nlink <= 1),
        )
    )
    .order_by(s.c.seq)
    .limit(p("most")),
}

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
    "STAGE_CHILDREN_KEPT": union_all(
        tree_child().where(and_(~_renamed, ~_overlaid)), _link_of_staged
    ),
    "STAGE_CHILDREN_MOVED": _staged_child.where(
        and_(s.c.parent == p("parent"), s.c.kind.is_not(None))
    ),
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
    "OVERLAY_CHILDREN": select(s.c.name, s.c.inode).where(
        and_(s.c.parent == p("parent"), or_(s.c.names == 1, s.c.inode.is_not(None)))
    ),
    "OVERLAY_NAMES": select(s.c.parent, s.c.name).where(
        and_(s.c.inode == p("inode"), s.c.names == 1)
    ),
    "OVERLAY_CHANGED_NAMES": select(s.c.parent, s.c.name).where(s.c.names == 1),
    "OVERLAY_CHANGED_INODES": select(s.c.inode).where(
        and_(
            s.c.inode > 0,
            or_(s.c.nodes.in_(OLD_VALUE_KEPT), and_(s.c.nodes == 2, s.c.state == UNREAD)),
        )
    ),
}

ALL: dict[str, Any] = {**OVERLAY, **SETTLE, **COMPARE, **COMMIT, **FILL, **TREE}
