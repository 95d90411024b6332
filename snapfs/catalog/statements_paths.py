"""Statements that tell below which paths blocks lie, over the whole history (`catalog.usage`).

A name holds for a span of the chain, and so does a version of an inode: the snapshots after ``after`` up to
``until``. A version lies below a path in the snapshots that are in the spans of the version, of the name,
and of every directory's name above.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    LargeBinary,
    and_,
    case,
    cast,
    delete,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
    union,
    union_all,
)

from snapfs.catalog.schema import (
    block,
    content_block,
    dirent,
    dirent_diff,
    inode,
    inode_diff,
    root,
    segment,
    snapshot,
)
from snapfs.catalog.statements_reclaim import share
from snapfs.catalog.statements_rows import p
from snapfs.catalog.usage_schema import going, path_block, path_content, path_place, path_way, sole

DIR = 2
SLASH = b"/"
TOP = b""

_older_name = dirent_diff.alias("older_name")
_older = inode_diff.alias("older")
_elsewhere = path_block.alias("elsewhere")


def _latest(a: Any, b: Any) -> Any:
    return case((a > b, a), else_=b)


def _earliest(a: Any, b: Any) -> Any:
    return case((a < b, a), else_=b)


def _name_after(name: Any, *below: Any) -> Any:
    """The last snapshot before a name's span."""
    return func.coalesce(
        select(func.max(_older_name.c.snapshot_id))
        .where(
            and_(
                _older_name.c.parent_id == name.c.parent_id,
                _older_name.c.name == name.c.name,
                *below,
            )
        )
        .scalar_subquery(),
        0,
    )


def _version_after(id_: Any, *below: Any) -> Any:
    """The last snapshot before a version's span, as far as an older version says it."""
    return func.coalesce(
        select(func.max(_older.c.snapshot_id))
        .where(and_(_older.c.inode_id == id_, *below))
        .scalar_subquery(),
        0,
    )


_NAMES = (
    (dirent, _name_after(dirent), p("head")),
    (
        dirent_diff,
        _name_after(dirent_diff, _older_name.c.snapshot_id < dirent_diff.c.snapshot_id),
        dirent_diff.c.snapshot_id,
    ),
)
_VERSIONS = (
    (inode, inode.c.id, _version_after(inode.c.id), p("head")),
    (
        inode_diff,
        inode_diff.c.inode_id,
        _version_after(
            inode_diff.c.inode_id,
            _older.c.snapshot_id < inode_diff.c.snapshot_id,
        ),
        inode_diff.c.snapshot_id,
    ),
)


def _ways() -> Any:
    is_directory = or_(
        exists(select(1).where(and_(inode.c.id == dirent_diff.c.inode_id, inode.c.kind == DIR))),
        exists(
            select(1).where(
                and_(inode_diff.c.inode_id == dirent_diff.c.inode_id, inode_diff.c.kind == DIR)
            )
        ),
    )
    in_chain = dirent_diff.c.snapshot_id.in_(
        select(snapshot.c.id).where(snapshot.c.root_id == p("root"))
    )
    (_, current_after, head), (_, past_after, stamp) = _NAMES
    return union_all(
        select(dirent.c.parent_id, dirent.c.name, head, current_after, dirent.c.inode_id)
        .select_from(inode.join(dirent, dirent.c.inode_id == inode.c.id))
        .where(and_(inode.c.kind == DIR, inode.c.root_id == p("root"))),
        select(
            dirent_diff.c.parent_id, dirent_diff.c.name, stamp, past_after, dirent_diff.c.inode_id
        ).where(and_(in_chain, is_directory)),
    )


def _path_below(name: Any, above: Any) -> Any:
    """The path of a name: its own where there is depth left, else that of the path it lies below."""
    return case(
        (above.c.depth >= p("depth"), above.c.path),
        (above.c.depth == 0, name),
        else_=cast(above.c.path.op("||")(literal(SLASH)).op("||")(name), LargeBinary),
    )


def _places() -> Any:
    """From the root down. A catalog that has a directory below itself ends it: depth does not grow then."""
    top = (
        select(
            root.c.inode_id.label("inode"),
            p("head").label("until"),
            literal(0).label("after"),
            literal(TOP).label("path"),
            literal(0).label("depth"),
        )
        .where(and_(root.c.id == p("root"), root.c.inode_id.is_not(None)))
        .cte("down", recursive=True)
    )
    after = _latest(top.c.after, path_way.c.after)
    until = _earliest(top.c.until, path_way.c.until)
    down = top.union(
        select(
            path_way.c.inode,
            until,
            after,
            _path_below(path_way.c.name, top),
            case((top.c.depth < p("depth"), top.c.depth + 1), else_=top.c.depth),
        )
        .select_from(top.join(path_way, path_way.c.parent == top.c.inode))
        .where(after < until)
    )
    return select(*down.c)


def _contents() -> Any:
    """Each of the current and the past names of files with each of their current and past versions."""
    found = []
    for name, name_after, name_until in _NAMES:
        for version, id_, version_after, version_until in _VERSIONS:
            found.append(
                select(
                    version.c.content_id.label("content_id"),
                    _path_below(name.c.name, path_place).label("path"),
                    path_place.c.after.label("place_after"),
                    name_after.label("name_after"),
                    version_after.label("version_after"),
                    (version.c.born - 1).label("birth_after"),
                    path_place.c.until.label("place_until"),
                    name_until.label("name_until"),
                    version_until.label("version_until"),
                )
                .select_from(
                    path_place.join(name, name.c.parent_id == path_place.c.inode).join(
                        version, id_ == name.c.inode_id
                    )
                )
                .where(version.c.content_id.is_not(None))
            )
    held = union_all(*found).subquery("held")
    after = _latest(
        _latest(held.c.place_after, held.c.name_after),
        _latest(held.c.version_after, held.c.birth_after),
    )
    until = _earliest(_earliest(held.c.place_until, held.c.name_until), held.c.version_until)
    chosen = exists(select(1).where(and_(going.c.id > after, going.c.id <= until)))
    # Grouped and not distinct: sorted rows go into the table in its own order.
    return (
        select(held.c.content_id, held.c.path)
        .where(chosen)
        .group_by(held.c.content_id, held.c.path)
    )


_stored = func.sum(share())
_blocks = select(path_block.c.block_id).distinct().subquery("blocks")


def _placed(source: Any) -> Any:
    """Outer joins, because SQLite keeps their order: from the blocks, as they come, to where they lie."""
    return (
        source.outerjoin(block, block.c.id == source.c.block_id)
        .outerjoin(segment, segment.c.id == block.c.segment_id)
        .outerjoin(sole, sole.c.id == source.c.block_id)
    )


_elsewhere_too = exists(
    select(1).where(
        and_(
            _elsewhere.c.block_id == path_block.c.block_id,
            _elsewhere.c.path != path_block.c.path,
        )
    )
)
_lone = and_(sole.c.id.is_not(None), ~_elsewhere_too)

ALL: dict[str, Any] = {
    "PATH_WAY_CLEAR": delete(path_way),
    "PATH_WAY_PUT": insert(path_way).from_select(
        ["parent", "name", "until", "after", "inode"], _ways()
    ),
    "PATH_PLACE_CLEAR": delete(path_place),
    "PATH_PLACE_PUT": insert(path_place).from_select(
        ["inode", "until", "after", "path", "depth"], _places()
    ),
    "PATH_CONTENT_CLEAR": delete(path_content),
    "PATH_CONTENT_PUT": insert(path_content).from_select(["content_id", "path"], _contents()),
    "PATH_BLOCK_CLEAR": delete(path_block),
    # A content of one block is that block.
    "PATH_BLOCK_PUT": insert(path_block).from_select(
        ["block_id", "path"],
        union(
            select(path_content.c.content_id, path_content.c.path).where(
                path_content.c.content_id.in_(select(block.c.id))
            ),
            select(content_block.c.block_id, path_content.c.path)
            .select_from(
                path_content.outerjoin(
                    content_block, content_block.c.content_id == path_content.c.content_id
                )
            )
            .where(func.coalesce(content_block.c.block_id, 0) != 0),
        ),
    ),
    "PATH_TOTAL": select(
        func.coalesce(_stored, 0),
        func.coalesce(func.sum(case((sole.c.id.is_not(None), share()), else_=0)), 0),
    ).select_from(_placed(_blocks)),
    "PATH_SUMS": select(path_block.c.path, _stored, func.sum(case((_lone, share()), else_=0)))
    .select_from(_placed(path_block))
    .group_by(path_block.c.path)
    .order_by(_stored.desc(), path_block.c.path),
}
