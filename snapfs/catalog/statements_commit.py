"""Statements that make the stage the new head, and tell the journal what they did."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    and_,
    case,
    delete,
    exists,
    func,
    insert,
    literal,
    null,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.sqlite import insert as upsert

from snapfs.catalog.schema import (
    ATTRIBUTES,
    attr,
    block,
    content,
    dirent,
    dirent_diff,
    inode,
    inode_diff,
    pack,
    problem,
    root,
    segment,
    xattr,
)
from snapfs.catalog.stage_schema import (
    stage_attr,
    stage_block,
    stage_content,
    stage_file,
    stage_pack,
    stage_problem,
    stage_segment,
)
from snapfs.catalog.staged import (
    CHANGED,
    ENCODED,
    OLD_VALUE_KEPT,
    s,
)
from snapfs.catalog.statements_rows import p

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
_inserted = block.alias("inserted")
_blocks_in_segments = stage_block.join(stage_segment, stage_segment.c.id == stage_block.c.segment)


def _put_blocks(order: Any) -> Any:
    """Insert a slice of the staged blocks, except those that are there already."""
    return (
        upsert(block)
        .from_select(
            ["id", "digest", "segment_id", "offset", "length"],
            select(
                p("base") + stage_block.c.id,
                stage_block.c.digest,
                stage_segment.c.final,
                stage_block.c.offset,
                stage_block.c.length,
            )
            .select_from(_blocks_in_segments)
            .where(
                and_(
                    stage_segment.c.final.is_not(None),
                    stage_block.c.id >= p("low"),
                    stage_block.c.id < p("high"),
                )
            )
            .order_by(order),
        )
        .on_conflict_do_nothing()
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
    "COMMIT_BLOCK": _put_blocks(stage_block.c.id),
    "COMMIT_BLOCK_BY_DIGEST": _put_blocks(stage_block.c.digest),
    "BLOCK_LAST": select(func.coalesce(func.max(block.c.id), 0)),
    # A block that was known and is stored again could not be read where it was.
    "COMMIT_BLOCK_MOVED": update(block)
    .where(
        and_(
            block.c.digest == stage_block.c.digest,
            block.c.id < p("base"),
            ~exists(select(1).where(_inserted.c.id == p("base") + stage_block.c.id)),
            stage_segment.c.id == stage_block.c.segment,
            stage_segment.c.final.is_not(None),
        )
    )
    .values(segment_id=stage_segment.c.final, offset=stage_block.c.offset),
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
        stage_attr.c.id,
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
    "STAGE_NEW_BLOCKS": select(
        func.coalesce(
            select(block.c.id).where(block.c.id == p("base") + stage_block.c.id).scalar_subquery(),
            select(block.c.id)
            .where(
                and_(
                    block.c.digest == stage_block.c.digest,
                    block.c.segment_id == stage_segment.c.final,
                    block.c.offset == stage_block.c.offset,
                )
            )
            .scalar_subquery(),
            0,
        ),
        stage_block.c.length,
    )
    .select_from(_blocks_in_segments)
    .where(stage_segment.c.final.is_not(None))
    .order_by(stage_block.c.id),
    # The same where each of them was new.
    "STAGE_ALL_BLOCKS": select(p("base") + stage_block.c.id, stage_block.c.length).order_by(
        stage_block.c.id
    ),
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
    .where(and_(or_(s.c.names == 1, s.c.nodes > 0), s.c.need != ENCODED))
    .order_by(s.c.seq),
    "STAGE_ENCODED_FILES": select(stage_file.c.low, stage_file.c.high, stage_file.c.rows).order_by(
        stage_file.c.low
    ),
    "STAGE_ENCODED_CONTENTS": select(inode.c.content_id)
    .select_from(s.join(inode, inode.c.id == p("base") + s.c.seq))
    .where(and_(s.c.seq >= p("low"), s.c.seq <= p("high"), s.c.need == ENCODED))
    .order_by(s.c.seq),
}

ALL = COMMIT
