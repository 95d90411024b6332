"""Statements that fold deleted snapshots into their neighbours and collect what nothing refers to."""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, delete, exists, func, insert, null, or_, select, tuple_, union, update
from sqlalchemy.dialects.sqlite import insert as upsert

from snapfs.catalog.schema import (
    ATTRIBUTES,
    block,
    content,
    content_block,
    dirent,
    dirent_diff,
    doomed_pack,
    inode,
    inode_diff,
    orphan,
    pack,
    segment,
)
from snapfs.catalog.stage_schema import (
    dead,
    dead_block,
    dead_pack,
)
from snapfs.catalog.statements_rows import p

_older_name = dirent_diff.alias("older_name")
_older_inode = inode_diff.alias("older_inode")
_parent_diff = inode_diff.alias("parent_diff")
_parent = inode.alias("parent")

_at_gone_name = dirent_diff.c.snapshot_id == p("gone")
_at_gone_inode = inode_diff.c.snapshot_id == p("gone")

FOLD: dict[str, Any] = {
    "FOLD_ORPHANS": upsert(orphan)
    .from_select(
        ["content_id"],
        select(inode_diff.c.content_id)
        .where(and_(_at_gone_inode, inode_diff.c.content_id.is_not(None)))
        .distinct(),
    )
    .on_conflict_do_nothing(),
    "FOLD_NAMES_COVERED": delete(dirent_diff).where(
        and_(
            _at_gone_name,
            exists(
                select(1).where(
                    and_(
                        _older_name.c.parent_id == dirent_diff.c.parent_id,
                        _older_name.c.name == dirent_diff.c.name,
                        _older_name.c.snapshot_id == p("previous"),
                    )
                )
            ),
        )
    ),
    # Entries of a directory that no earlier snapshot has: one that a purge has parted is born more than once.
    "FOLD_NAMES_UNBORN": delete(dirent_diff).where(
        and_(
            _at_gone_name,
            ~exists(
                select(1).where(
                    and_(_parent.c.id == dirent_diff.c.parent_id, _parent.c.born <= p("previous"))
                )
            ),
            ~exists(
                select(1).where(
                    and_(
                        _parent_diff.c.inode_id == dirent_diff.c.parent_id,
                        _parent_diff.c.born <= p("previous"),
                    )
                )
            ),
        )
    ),
    "FOLD_NAMES": update(dirent_diff).where(_at_gone_name).values(snapshot_id=p("previous")),
    "FOLD_INODES_COVERED": delete(inode_diff).where(
        and_(
            _at_gone_inode,
            or_(
                inode_diff.c.born > p("previous"),
                exists(
                    select(1).where(
                        and_(
                            _older_inode.c.inode_id == inode_diff.c.inode_id,
                            _older_inode.c.snapshot_id == p("previous"),
                        )
                    )
                ),
            ),
        )
    ),
    "FOLD_INODES": update(inode_diff).where(_at_gone_inode).values(snapshot_id=p("previous")),
    "FOLD_DROP_NAMES": delete(dirent_diff).where(_at_gone_name),
    "FOLD_DROP_INODES": delete(inode_diff).where(_at_gone_inode),
}

# --- the head goes: current state becomes that of the snapshot before ----------------------------


def _dead_inodes() -> Any:
    top = (
        select(inode.c.id.label("id"))
        .select_from(
            dirent_diff.join(
                dirent,
                and_(
                    dirent.c.parent_id == dirent_diff.c.parent_id,
                    dirent.c.name == dirent_diff.c.name,
                ),
            ).join(inode, inode.c.id == dirent.c.inode_id)
        )
        .where(and_(dirent_diff.c.snapshot_id == p("previous"), inode.c.born > p("previous")))
        .cte("unborn", recursive=True)
    )
    child = inode.alias("child")
    tree = top.union(
        select(child.c.id)
        .select_from(
            top.join(dirent, dirent.c.parent_id == top.c.id).join(
                child, child.c.id == dirent.c.inode_id
            )
        )
        .where(child.c.born > p("previous"))
    )
    return insert(dead).from_select(["id"], select(tree.c.id).distinct())


_put_dirent = upsert(dirent).from_select(
    ["parent_id", "name", "inode_id"],
    select(dirent_diff.c.parent_id, dirent_diff.c.name, dirent_diff.c.inode_id).where(
        and_(dirent_diff.c.snapshot_id == p("previous"), dirent_diff.c.inode_id.is_not(None))
    ),
)
_put_inode = upsert(inode).from_select(
    ["id", "root_id", "born", *ATTRIBUTES],
    select(
        inode_diff.c.inode_id,
        p("root"),
        inode_diff.c.born,
        *[inode_diff.c[name] for name in ATTRIBUTES],
    ).where(inode_diff.c.snapshot_id == p("previous")),
)

ROLL: dict[str, Any] = {
    "DEAD_CLEAR": delete(dead),
    "ROLL_DEAD": _dead_inodes(),
    "ROLL_ORPHANS": upsert(orphan)
    .from_select(
        ["content_id"],
        select(inode.c.content_id)
        .where(
            and_(
                inode.c.content_id.is_not(None),
                or_(
                    inode.c.id.in_(select(dead.c.id)),
                    inode.c.id.in_(
                        select(inode_diff.c.inode_id).where(
                            inode_diff.c.snapshot_id == p("previous")
                        )
                    ),
                ),
            )
        )
        .distinct(),
    )
    .on_conflict_do_nothing(),
    "ROLL_NAMES_DEAD": delete(dirent).where(dirent.c.parent_id.in_(select(dead.c.id))),
    "ROLL_NAMES_NEW": delete(dirent).where(
        tuple_(dirent.c.parent_id, dirent.c.name).in_(
            select(dirent_diff.c.parent_id, dirent_diff.c.name).where(
                and_(dirent_diff.c.snapshot_id == p("previous"), dirent_diff.c.inode_id.is_(None))
            )
        )
    ),
    "ROLL_INODES_DEAD": delete(inode).where(inode.c.id.in_(select(dead.c.id))),
    # Where a name goes back, the directory is no longer as its current fingerprint tells: where only the
    # links of a file changed it has no old row to get one from.
    "ROLL_UNSURE": update(inode)
    .where(
        inode.c.id.in_(
            select(dirent_diff.c.parent_id).where(dirent_diff.c.snapshot_id == p("previous"))
        )
    )
    .values(fingerprint=null()),
    "ROLL_NAMES": _put_dirent.on_conflict_do_update(
        index_elements=["parent_id", "name"], set_={"inode_id": _put_dirent.excluded.inode_id}
    ),
    "ROLL_INODES": _put_inode.on_conflict_do_update(
        index_elements=["id"], set_={name: _put_inode.excluded[name] for name in ATTRIBUTES}
    ),
    "ROOT_ORPHANS": upsert(orphan)
    .from_select(
        ["content_id"],
        select(inode.c.content_id)
        .where(and_(inode.c.root_id == p("root"), inode.c.content_id.is_not(None)))
        .distinct(),
    )
    .on_conflict_do_nothing(),
    "ROOT_DROP_NAMES": delete(dirent).where(
        dirent.c.parent_id.in_(select(inode.c.id).where(inode.c.root_id == p("root")))
    ),
    "ROOT_DROP_INODES": delete(inode).where(inode.c.root_id == p("root")),
}

# --- collecting -----------------------------------------------------------------------------------

_by_inode = inode.alias("by_inode")
_by_diff = inode_diff.alias("by_diff")
_by_content = content_block.alias("by_content")


def is_named(id_: Any) -> Any:
    """Whether a row of an inode, of any snapshot, names a content."""
    return or_(
        exists(select(1).where(_by_inode.c.content_id == id_)),
        exists(select(1).where(_by_diff.c.content_id == id_)),
    )


def share(b: Any = block, g: Any = segment) -> Any:
    """A block's part of its segment's stored bytes; the parts of a segment's blocks add up."""
    whole = func.nullif(g.c.raw, 0)
    end = (g.c.stored * (b.c.offset + b.c.length)).op("/")(whole)
    start = (g.c.stored * b.c.offset).op("/")(whole)
    return func.coalesce(end - start, 0)


COLLECT: dict[str, Any] = {
    "ORPHANS": select(func.count()).select_from(orphan),
    # Of blocks just stored, those that nothing came to use.
    "UNUSED_BLOCKS": select(block.c.id)
    .where(
        and_(
            block.c.id > p("low"),
            block.c.id <= p("high"),
            ~is_named(block.c.id),
            ~exists(select(1).where(_by_content.c.block_id == block.c.id)),
        )
    )
    .order_by(block.c.id),
    "ORPHAN_PUT": upsert(orphan).values(content_id=p("content_id")).on_conflict_do_nothing(),
    "COLLECT_DEAD": insert(dead).from_select(
        ["id"], select(orphan.c.content_id).where(~is_named(orphan.c.content_id))
    ),
    "COLLECT_BLOCK_CLEAR": delete(dead_block),
    "COLLECT_PACK_CLEAR": delete(dead_pack),
    "COLLECT_BLOCKS": insert(dead_block).from_select(
        ["id"],
        union(
            select(content_block.c.block_id).where(
                content_block.c.content_id.in_(select(dead.c.id))
            ),
            select(block.c.id).where(block.c.id.in_(select(dead.c.id))),
        ),
    ),
    "COLLECT_CONTENT_BLOCK": delete(content_block).where(
        content_block.c.content_id.in_(select(dead.c.id))
    ),
    "COLLECT_CONTENT": delete(content).where(content.c.id.in_(select(dead.c.id))),
    "COLLECT_KEEP": delete(dead_block).where(
        or_(
            is_named(dead_block.c.id),
            exists(select(1).where(_by_content.c.block_id == dead_block.c.id)),
        )
    ),
    "COLLECT_SHARES": select(segment.c.pack_id, func.sum(share()))
    .select_from(block.join(segment, segment.c.id == block.c.segment_id))
    .where(block.c.id.in_(select(dead_block.c.id)))
    .group_by(segment.c.pack_id),
    "COLLECT_BLOCK": delete(block).where(block.c.id.in_(select(dead_block.c.id))),
    "COLLECT_PACKS": insert(dead_pack).from_select(
        ["id"],
        select(pack.c.id).where(
            ~exists(
                select(1)
                .select_from(segment.join(block, block.c.segment_id == segment.c.id))
                .where(segment.c.pack_id == pack.c.id)
            )
        ),
    ),
    "COLLECT_DOOMED": select(pack.c.id, pack.c.name, pack.c.size).where(
        pack.c.id.in_(select(dead_pack.c.id))
    ),
    "COLLECT_DOOM": upsert(doomed_pack)
    .from_select(
        ["name", "size"],
        select(pack.c.name, pack.c.size).where(pack.c.id.in_(select(dead_pack.c.id))),
    )
    .on_conflict_do_nothing(),
    "COLLECT_SEGMENT": delete(segment).where(segment.c.pack_id.in_(select(dead_pack.c.id))),
    "COLLECT_PACK": delete(pack).where(pack.c.id.in_(select(dead_pack.c.id))),
    "COLLECT_DONE": delete(orphan),
    "DOOMED": select(doomed_pack.c.name, doomed_pack.c.size).order_by(doomed_pack.c.name),
    "DOOMED_DELETE": delete(doomed_pack).where(doomed_pack.c.name == p("name")),
    "RECLAIMABLE": select(
        select(func.coalesce(func.sum(segment.c.stored), 0)).scalar_subquery()
        - select(func.coalesce(func.sum(share()), 0))
        .select_from(block.join(segment, segment.c.id == block.c.segment_id))
        .scalar_subquery()
    ),
}

ALL: dict[str, Any] = {**FOLD, **ROLL, **COLLECT}
