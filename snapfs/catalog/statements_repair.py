"""Statements of a repair: which blocks are damaged, and what becomes of all that needs the lost ones."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    and_,
    delete,
    exists,
    func,
    insert,
    literal,
    null,
    or_,
    select,
    union,
    union_all,
    update,
)
from sqlalchemy.dialects.sqlite import insert as upsert

from snapfs.catalog.schema import (
    block,
    content,
    content_block,
    dirent,
    dirent_diff,
    inode,
    inode_diff,
    orphan,
    pack,
    problem,
    segment,
    snapshot,
)
from snapfs.catalog.stage_schema import (
    damaged_block,
    kept_digest,
    lost_content,
    lost_inode,
    named_block,
)
from snapfs.catalog.statements_rows import p
from snapfs.model.kinds import Kind, State

DIR = int(Kind.DIR)
UNREAD = int(State.UNREAD)

_lost_contents = select(lost_content.c.id)
_lost_inodes = select(lost_inode.c.id)
_using = content_block.alias("using_block")

# --- what is damaged ------------------------------------------------------------------------------

DAMAGED: dict[str, Any] = {
    "DAMAGED_CLEAR": delete(damaged_block),
    "DAMAGED_PUT": upsert(damaged_block)
    .values(id=p("block"), digest=p("digest"))
    .on_conflict_do_nothing(),
    "DAMAGED_FOUND": delete(damaged_block).where(damaged_block.c.digest == p("digest")),
    "DAMAGED_WANTED": select(damaged_block.c.id).where(damaged_block.c.digest == p("digest")),
    "DAMAGED_COUNTED": select(func.count()).select_from(damaged_block),
    "DAMAGED_KNOWN": select(func.count(damaged_block.c.digest)),
    "DAMAGED_ANY": select(damaged_block.c.id).where(damaged_block.c.digest.is_not(None)).limit(1),
    "DAMAGED_IDS": select(damaged_block.c.id).order_by(damaged_block.c.id),
    # Of a segment: its blocks in order, and which of them are parts of larger contents.
    "SEGMENT_BLOCKS": select(
        block.c.id,
        block.c.digest,
        block.c.offset,
        block.c.length,
        exists(select(1).where(_using.c.block_id == block.c.id)),
    )
    .where(block.c.segment_id == p("segment"))
    .order_by(block.c.offset),
    "SEGMENTS_UNUSED": delete(segment).where(
        and_(
            segment.c.pack_id == p("pack"),
            ~exists(select(1).where(block.c.segment_id == segment.c.id)),
        )
    ),
    "PACK_UNUSED": delete(pack).where(
        and_(pack.c.id == p("pack"), ~exists(select(1).where(segment.c.pack_id == pack.c.id)))
    ),
}

# --- blocks whose digests are not known -----------------------------------------------------------

_named = upsert(named_block).values(id=p("block"), digest=p("digest"), proved=p("proved"))

NAMED: dict[str, Any] = {
    "NAMED_CLEAR": delete(named_block),
    "NAMED_FORGET": delete(named_block).where(named_block.c.proved == 0),
    "NAMED_PUT": _named.on_conflict_do_nothing(),
    "NAMED_GET": select(named_block.c.digest).where(named_block.c.id == p("block")),
    "NAMED_PROVE": update(named_block).where(named_block.c.id == p("block")).values(proved=1),
    "NAMED_GUESSES": select(named_block.c.id).where(named_block.c.proved == 0),
    "NAMED_ALL": select(named_block.c.id, named_block.c.digest)
    .where(named_block.c.proved == 1)
    .order_by(named_block.c.id),
    "NAMELESS": select(block.c.id)
    .where(
        and_(
            block.c.digest.is_(None),
            block.c.id.not_in(select(named_block.c.id).where(named_block.c.proved == 1)),
        )
    )
    .order_by(block.c.id),
    "NAMELESS_IN": select(block.c.id, block.c.offset, block.c.length).where(
        and_(block.c.segment_id == p("segment"), block.c.digest.is_(None))
    ),
    "BLOCK_DIGEST": select(block.c.digest).where(block.c.id == p("block")),
    "BLOCK_LENGTH": select(block.c.length).where(block.c.id == p("block")),
    "BLOCK_SET_DIGEST": update(block).where(block.c.id == p("block")).values(digest=p("digest")),
    # One block for another of the same bytes.
    "MERGE_INODE": update(inode)
    .where(inode.c.content_id == p("gone"))
    .values(content_id=p("kept")),
    "MERGE_INODE_DIFF": update(inode_diff)
    .where(inode_diff.c.content_id == p("gone"))
    .values(content_id=p("kept")),
    "MERGE_EXTENTS": update(content)
    .where(content.c.id == p("content"))
    .values(extents=p("new_extents")),
    "MERGE_USERS": delete(content_block).where(content_block.c.content_id == p("content")),
    "MERGE_BLOCK": delete(block).where(block.c.id == p("gone")),
    "MERGE_ORPHAN": delete(orphan).where(orphan.c.content_id == p("gone")),
}

# --- what is lost ---------------------------------------------------------------------------------


def _parents(source: Any) -> Any:
    return select(source.c.parent_id).where(source.c.inode_id.in_(_lost_inodes))


def _is_lost(content_id: Any) -> Any:
    return exists(select(1).where(lost_content.c.id == content_id))


_ever_above = union(_parents(dirent), _parents(dirent_diff))

LOST: dict[str, Any] = {
    "LOST_CONTENT_CLEAR": delete(lost_content),
    "LOST_INODE_CLEAR": delete(lost_inode),
    "LOST_CONTENT_FILL": insert(lost_content).from_select(
        ["id"],
        union(
            select(damaged_block.c.id),
            select(content_block.c.content_id).where(
                content_block.c.block_id.in_(select(damaged_block.c.id))
            ),
        ),
    ),
    "LOST_INODE_FILL": insert(lost_inode).from_select(
        ["id"],
        union(
            select(inode.c.id).where(inode.c.content_id.in_(_lost_contents)),
            select(inode_diff.c.inode_id).where(inode_diff.c.content_id.in_(_lost_contents)),
        ),
    ),
    "LOST_DIRECTORIES": _ever_above,
    "LOST_INODES_EVER": select(lost_inode.c.id).order_by(lost_inode.c.id),
    # As INODE_VALUES: whether the inode needs what is lost.
    "LOST_VALUES": union_all(
        select(inode_diff.c.snapshot_id, _is_lost(inode_diff.c.content_id)).where(
            inode_diff.c.inode_id == p("inode")
        ),
        select(null(), _is_lost(inode.c.content_id)).where(inode.c.id == p("inode")),
    ),
    "LOSE_INODE": update(inode)
    .where(inode.c.content_id.in_(_lost_contents))
    .values(content_id=null(), state=UNREAD),
    "LOSE_INODE_DIFF": update(inode_diff)
    .where(inode_diff.c.content_id.in_(_lost_contents))
    .values(content_id=null(), state=UNREAD),
    # The next walk must look at what the files are now, also after the head is rolled back.
    "LOSE_FINGERPRINT": update(inode).where(inode.c.id.in_(_ever_above)).values(fingerprint=null()),
    "LOSE_FINGERPRINT_DIFF": update(inode_diff)
    .where(inode_diff.c.inode_id.in_(_ever_above))
    .values(fingerprint=null()),
    "LOSE_PARTS": upsert(orphan)
    .from_select(
        ["content_id"],
        select(content_block.c.block_id)
        .where(
            and_(
                content_block.c.content_id.in_(_lost_contents),
                content_block.c.block_id.not_in(select(damaged_block.c.id)),
            )
        )
        .distinct(),
    )
    .on_conflict_do_nothing(),
    "LOSE_CONTENT_BLOCK": delete(content_block).where(
        content_block.c.content_id.in_(_lost_contents)
    ),
    "LOSE_CONTENT": delete(content).where(content.c.id.in_(_lost_contents)),
    "LOSE_BLOCK": delete(block).where(block.c.id.in_(select(damaged_block.c.id))),
    "LOSE_ORPHAN": delete(orphan).where(orphan.c.content_id.in_(_lost_contents)),
    "SNAPSHOT_INCOMPLETE": update(snapshot)
    .where(snapshot.c.id == p("snapshot"))
    .values(complete=0),
    "PROBLEM_LAST": select(func.coalesce(func.max(problem.c.seq), 0)).where(
        problem.c.snapshot_id == p("snapshot")
    ),
}

# --- digests of directories -----------------------------------------------------------------------

_directories = union_all(
    select(inode.c.id.label("inode"), literal(0).label("snapshot"), inode.c.tree_digest).where(
        inode.c.kind == DIR
    ),
    select(inode_diff.c.inode_id, inode_diff.c.snapshot_id, inode_diff.c.tree_digest).where(
        inode_diff.c.kind == DIR
    ),
)
_now = _directories.subquery("now")

DIGESTS: dict[str, Any] = {
    "KEPT_DIGEST_CLEAR": delete(kept_digest),
    "KEPT_DIGEST_FILL": insert(kept_digest).from_select(
        ["inode", "snapshot", "digest"], _directories
    ),
    # Newest state first: a row that is new takes its other values from the one after it.
    "MOVED_DIGESTS": select(_now.c.inode, _now.c.snapshot, _now.c.tree_digest)
    .select_from(
        _now.outerjoin(
            kept_digest,
            and_(
                kept_digest.c.inode == _now.c.inode,
                kept_digest.c.snapshot == _now.c.snapshot,
            ),
        )
    )
    .where(or_(kept_digest.c.inode.is_(None), kept_digest.c.digest != _now.c.tree_digest))
    .order_by(_now.c.snapshot != 0, _now.c.snapshot.desc(), _now.c.inode),
    "REDIGEST_SNAPSHOT": update(snapshot)
    .where(snapshot.c.id == p("snapshot"))
    .values(tree_digest=p("digest")),
}

ALL: dict[str, Any] = {**DAMAGED, **NAMED, **LOST, **DIGESTS}
