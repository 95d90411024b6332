"""Statements that read a snapshot: directories, names, inodes, changes, the places of bytes."""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, bindparam, case, exists, func, literal, select, union_all

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
    segment,
    snapshot,
    xattr,
)
from snapfs.model.kinds import Kind

EMPTY = b""
DIR = int(Kind.DIR)
KNOWN_AT_ONCE = 128


def p(name: str) -> Any:
    """A parameter."""
    return bindparam(name)


def entry_columns(name: Any, id_: Any, source: Any) -> list[Any]:
    """The columns of `model.entry.Entry`, in its order."""
    return [
        name.label("name"),
        id_.label("inode"),
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
        func.coalesce(source.c.content_id, 0).label("content"),
        source.c.state,
        source.c.tree_digest,
        source.c.ctime_s,
        source.c.ctime_nsec,
        source.c.dev,
        source.c.ino,
        source.c.nlink,
        source.c.fingerprint,
    ]


def first_diff_at(inode_id: Any, at: Any) -> Any:
    """The smallest snapshot >= ``at`` for which ``inode_diff`` has a row of this inode."""
    other = inode_diff.alias("later")
    return (
        select(func.min(other.c.snapshot_id))
        .where(and_(other.c.inode_id == inode_id, other.c.snapshot_id >= at))
        .scalar_subquery()
    )


def no_diff_at(inode_id: Any, at: Any) -> Any:
    """No diff row says how the inode was at ``at``: the current row does."""
    other = inode_diff.alias("later")
    return ~exists(select(1).where(and_(other.c.inode_id == inode_id, other.c.snapshot_id >= at)))


def names_at(condition_head: Any, condition_diff: Any, at: Any) -> Any:
    """(parent_id, name, inode_id) of the names that ``at`` has among those selected."""
    hidden = dirent_diff.alias("hidden")
    later = dirent_diff.alias("later_name")
    head = select(dirent.c.parent_id, dirent.c.name, dirent.c.inode_id).where(
        and_(
            condition_head,
            ~exists(
                select(1).where(
                    and_(
                        hidden.c.parent_id == dirent.c.parent_id,
                        hidden.c.name == dirent.c.name,
                        hidden.c.snapshot_id >= at,
                    )
                )
            ),
        )
    )
    old = select(dirent_diff.c.parent_id, dirent_diff.c.name, dirent_diff.c.inode_id).where(
        and_(
            condition_diff,
            dirent_diff.c.inode_id.is_not(None),
            dirent_diff.c.snapshot_id >= at,
            dirent_diff.c.snapshot_id
            == select(func.min(later.c.snapshot_id))
            .where(
                and_(
                    later.c.parent_id == dirent_diff.c.parent_id,
                    later.c.name == dirent_diff.c.name,
                    later.c.snapshot_id >= at,
                )
            )
            .scalar_subquery(),
        )
    )
    return union_all(head, old)


def child_digest(source: Any) -> Any:
    """The digest that the parent's tree digest covers: of the subtree, or of the content."""
    return func.coalesce(
        case(
            (source.c.kind == DIR, source.c.tree_digest),
            else_=func.coalesce(block.c.digest, content.c.digest),
        ),
        literal(EMPTY),
    ).label("digest")


def with_content(source: Any, table: Any) -> Any:
    """Join what holds the digest of a content."""
    return source.outerjoin(block, block.c.id == table.c.content_id).outerjoin(
        content, content.c.id == table.c.content_id
    )


def _entries(names: Any, table: Any, condition: Any, *, digests: bool) -> Any:
    """Entries of ``names`` with the inode from ``table``."""
    columns = entry_columns(names.c.name, names.c.inode_id, table)
    source = (
        names.join(table, condition)
        .join(attr, attr.c.id == table.c.attr_id)
        .outerjoin(xattr, xattr.c.id == attr.c.xattr_id)
    )
    if digests:
        columns.append(child_digest(table))
        source = with_content(source, table)
    return select(*columns).select_from(source)


def entries_at(names: Any, at: Any, *, digests: bool = False) -> Any:
    """Entries for a CTE of names: the inode as it was at ``at``."""
    head = _entries(names, inode, inode.c.id == names.c.inode_id, digests=digests).where(
        no_diff_at(names.c.inode_id, at)
    )
    first = and_(
        inode_diff.c.inode_id == names.c.inode_id,
        inode_diff.c.snapshot_id == first_diff_at(names.c.inode_id, at),
    )
    return union_all(head, _entries(names, inode_diff, first, digests=digests))


def _child_at() -> Any:
    head, old = (
        and_(table.c.parent_id == p("parent"), table.c.name == p("name"))
        for table in (dirent, dirent_diff)
    )
    return entries_at(names_at(head, old, p("at")).cte("names"), p("at"))


def entries_head(*, digests: bool = False) -> Any:
    """All entries of the newest state."""
    source = (
        dirent.join(inode, inode.c.id == dirent.c.inode_id)
        .join(attr, attr.c.id == inode.c.attr_id)
        .outerjoin(xattr, xattr.c.id == attr.c.xattr_id)
    )
    columns = entry_columns(dirent.c.name, dirent.c.inode_id, inode)
    if digests:
        source = with_content(source, inode)
        columns.append(child_digest(inode))
    return select(*columns).select_from(source)


def _inode_head() -> Any:
    return (
        select(*entry_columns(literal(EMPTY), inode.c.id, inode))
        .select_from(
            inode.join(attr, attr.c.id == inode.c.attr_id).outerjoin(
                xattr, xattr.c.id == attr.c.xattr_id
            )
        )
        .where(inode.c.id == p("inode"))
    )


def _inode_at() -> Any:
    head = _inode_head().where(no_diff_at(inode.c.id, p("at")))
    old = (
        select(*entry_columns(literal(EMPTY), inode_diff.c.inode_id, inode_diff))
        .select_from(
            inode_diff.join(attr, attr.c.id == inode_diff.c.attr_id).outerjoin(
                xattr, xattr.c.id == attr.c.xattr_id
            )
        )
        .where(
            and_(
                inode_diff.c.inode_id == p("inode"),
                inode_diff.c.snapshot_id == first_diff_at(p("inode"), p("at")),
            )
        )
    )
    return union_all(head, old)


def chain_range(column: Any) -> Any:
    """``column`` is a snapshot of the root in [from, until)."""
    return column.in_(
        select(snapshot.c.id).where(
            and_(
                snapshot.c.root_id == p("root"),
                snapshot.c.id >= p("from"),
                snapshot.c.id < p("until"),
            )
        )
    )


def _names_of(at: bool) -> Any:
    if not at:
        return select(dirent.c.parent_id, dirent.c.name, dirent.c.inode_id).where(
            dirent.c.inode_id == p("inode")
        )
    return names_at(dirent.c.inode_id == p("inode"), dirent_diff.c.inode_id == p("inode"), p("at"))


place_columns = [
    block.c.digest,
    block.c.length,
    block.c.offset,
    segment.c.offset.label("segment_offset"),
    segment.c.stored,
    pack.c.name.label("pack"),
]

placed = block.join(segment, segment.c.id == block.c.segment_id).join(
    pack, pack.c.id == segment.c.pack_id
)

top = inode.alias("top")
ALL: dict[str, Any] = {
    "CHILD_HEAD": entries_head().where(
        and_(dirent.c.parent_id == p("parent"), dirent.c.name == p("name"))
    ),
    "CHILD_AT": _child_at(),
    # What a scan compares: `capture.scan.Known`.
    "SCAN_CHILDREN": select(
        dirent.c.name,
        dirent.c.inode_id,
        inode.c.kind,
        attr.c.mode,
        attr.c.uid,
        attr.c.gid,
        inode.c.size,
        inode.c.mtime_s,
        inode.c.mtime_nsec,
        inode.c.ctime_s,
        inode.c.ctime_nsec,
        inode.c.ino,
        inode.c.nlink,
        inode.c.rdev,
        inode.c.state,
        inode.c.content_id,
        inode.c.dev,
        inode.c.fingerprint,
        inode.c.tree_digest,
    )
    .select_from(
        dirent.join(inode, inode.c.id == dirent.c.inode_id).join(attr, attr.c.id == inode.c.attr_id)
    )
    .where(and_(dirent.c.parent_id == p("parent"), dirent.c.name > p("after")))
    .order_by(dirent.c.name)
    .limit(p("most")),
    "SCAN_DIR": select(dirent.c.inode_id, inode.c.fingerprint, inode.c.state)
    .select_from(dirent.join(inode, inode.c.id == dirent.c.inode_id))
    .where(and_(dirent.c.parent_id == p("parent"), dirent.c.name == p("name"))),
    "SCAN_DIRS": select(
        dirent.c.parent_id, dirent.c.name, inode.c.id, inode.c.fingerprint, inode.c.state
    )
    .select_from(inode.join(dirent, dirent.c.inode_id == inode.c.id))
    .where(
        and_(
            inode.c.kind == DIR,
            inode.c.root_id
            == select(top.c.root_id).where(top.c.id == p("root_inode")).scalar_subquery(),
        )
    )
    .limit(p("most")),
    "INODE_HEAD": _inode_head(),
    "INODE_AT": _inode_at(),
    "NAMES_OF_HEAD": _names_of(at=False),
    "NAMES_OF_AT": _names_of(at=True),
    "CHANGED_INODES": select(inode_diff.c.inode_id)
    .where(chain_range(inode_diff.c.snapshot_id))
    .distinct(),
    "CHANGED_NAMES": select(dirent_diff.c.parent_id, dirent_diff.c.name)
    .where(chain_range(dirent_diff.c.snapshot_id))
    .distinct(),
    # The id of bytes: of the one block that they are, or of a content of several extents.
    "CONTENT_BY_DIGEST": select(
        func.coalesce(
            select(block.c.id).where(block.c.digest == p("digest")).scalar_subquery(),
            select(content.c.id).where(content.c.digest == p("digest")).scalar_subquery(),
        )
    ),
    "BLOCK_BY_DIGEST": select(block.c.id).where(block.c.digest == p("digest")),
    "BLOCK_PLACE": select(*place_columns).select_from(placed).where(block.c.id == p("block")),
    "BLOCKS_PLACES": select(block.c.id, *place_columns)
    .select_from(placed)
    .where(block.c.id.in_([bindparam(f"d{number:03}") for number in range(KNOWN_AT_ONCE)])),
    "BLOCKS_KNOWN": select(block.c.digest).where(
        block.c.digest.in_([bindparam(f"d{number:03}") for number in range(KNOWN_AT_ONCE)])
    ),
    # In the order in which a reader decodes each segment once.
    "BLOCKS_KNOWN_PLACES": select(*place_columns)
    .select_from(placed)
    .where(block.c.digest.in_([bindparam(f"d{number:03}") for number in range(KNOWN_AT_ONCE)]))
    .order_by(pack.c.name, segment.c.offset),
    "CONTENT_GET": select(content.c.digest, content.c.size, content.c.extents).where(
        content.c.id == p("content")
    ),
    "CONTENT_PLACES": select(block.c.id, *place_columns)
    .select_from(content_block.join(placed, block.c.id == content_block.c.block_id))
    .where(content_block.c.content_id == p("content"))
    .order_by(content_block.c.seq),
    "SEGMENTS_OF_PACK": select(
        segment.c.id, segment.c.offset, segment.c.stored, segment.c.raw, segment.c.checksum
    )
    .where(segment.c.pack_id == p("pack"))
    .order_by(segment.c.offset),
    "SEGMENTS_COUNTED": select(func.count()).select_from(segment),
    "PACKS": select(pack.c.id, pack.c.name, pack.c.size).order_by(pack.c.name),
    "PACK_USED": select(block.c.id)
    .select_from(
        pack.join(segment, segment.c.pack_id == pack.c.id).join(
            block, block.c.segment_id == segment.c.id
        )
    )
    .where(pack.c.name == p("pack"))
    .limit(1),
}
