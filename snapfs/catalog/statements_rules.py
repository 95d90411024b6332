"""The catalog's rules as statements that select what breaks them: nothing, if all is well.

Each gives at most ``:most`` rows, whose columns `verify.rules` puts into words.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, case, exists, func, literal, or_, select, union_all

from snapfs.catalog.schema import (
    attr,
    block,
    content,
    content_block,
    dirent,
    dirent_diff,
    inode,
    inode_diff,
    owner,
    pack,
    problem,
    root,
    run,
    segment,
    snapshot,
    snapshot_tag,
    xattr,
)
from snapfs.catalog.statements_rows import p
from snapfs.model.kinds import Kind, State

DIR = int(Kind.DIR)
FILE = int(Kind.FILE)
UNREAD = int(State.UNREAD)
SECOND = 1_000_000_000
LONGEST_NAME = 255
"""Bytes: what every filesystem of Linux has."""

_child = inode.alias("child")
_above = inode.alias("above")
_later = inode_diff.alias("later_inode")
_top = root.alias("top")


def _missing(column: Any, key: Any) -> Any:
    """``column`` names no row: ``key`` is the key of the table that it should be in."""
    return ~exists(select(1).where(key == column))


def _bad_values(source: Any) -> Any:
    """An inode whose parts do not fit: needs outer joins to attr, block and content."""
    known_size = func.coalesce(block.c.length, content.c.size, 0)
    return or_(
        attr.c.id.is_(None),
        source.c.kind < int(min(Kind)),
        source.c.kind > int(max(Kind)),
        source.c.state < int(min(State)),
        source.c.state > int(max(State)),
        ~source.c.mtime_nsec.between(0, SECOND - 1),
        and_(source.c.content_id.is_not(None), block.c.id.is_(None), content.c.id.is_(None)),
        and_(source.c.kind == FILE, source.c.state != UNREAD, source.c.size != known_size),
        and_(source.c.kind != FILE, source.c.content_id.is_not(None)),
        and_(source.c.kind != FILE, source.c.size != 0),
        and_(source.c.kind == DIR, func.coalesce(func.length(source.c.tree_digest), 0) != 32),
        and_(
            source.c.kind == int(Kind.SYMLINK),
            source.c.state != UNREAD,
            source.c.target.is_(None),
        ),
    )


def _with_parts(source: Any) -> Any:
    return (
        source.outerjoin(attr, attr.c.id == source.c.attr_id)
        .outerjoin(block, block.c.id == source.c.content_id)
        .outerjoin(content, content.c.id == source.c.content_id)
    )


def _not_in_a_chain(source: Any) -> Any:
    """A diff row of a snapshot that is not there, or that is the head of its root."""
    return or_(
        _missing(source.c.snapshot_id, snapshot.c.id),
        exists(select(1).where(root.c.head_id == source.c.snapshot_id)),
    )


def _unknown_at(id_: Any, snapshot_id: Any) -> Any:
    """No row says what the inode was in the snapshot."""
    return and_(
        _missing(id_, inode.c.id),
        ~exists(
            select(1).where(and_(_later.c.inode_id == id_, _later.c.snapshot_id >= snapshot_id))
        ),
    )


def _directories() -> Any:
    """All directories of the newest states that a root leads to."""
    reached = select(root.c.inode_id.label("id")).where(root.c.inode_id.is_not(None))
    tree = reached.cte("reached", recursive=True)
    return tree.union(
        select(dirent.c.inode_id)
        .select_from(
            tree.join(dirent, dirent.c.parent_id == tree.c.id).join(
                _child, _child.c.id == dirent.c.inode_id
            )
        )
        .where(_child.c.kind == DIR)
    )


_reached = _directories()

RULES: dict[str, Any] = {
    "RULE_DIRENT": select(dirent.c.parent_id, dirent.c.name, dirent.c.inode_id)
    .select_from(
        dirent.outerjoin(_child, _child.c.id == dirent.c.inode_id).outerjoin(
            _above, _above.c.id == dirent.c.parent_id
        )
    )
    .where(
        or_(
            _child.c.id.is_(None),
            _above.c.id.is_(None),
            _above.c.kind != DIR,
            _above.c.root_id != _child.c.root_id,
            ~func.length(dirent.c.name).between(1, LONGEST_NAME),
        )
    ),
    "RULE_NAMELESS": select(inode.c.id).where(
        and_(_missing(inode.c.id, dirent.c.inode_id), _missing(inode.c.id, root.c.inode_id))
    ),
    "RULE_DIRECTORY_NAMES": select(inode.c.id)
    .select_from(inode.join(dirent, dirent.c.inode_id == inode.c.id))
    .where(inode.c.kind == DIR)
    .group_by(inode.c.id)
    .having(
        or_(
            func.count() > 1,
            func.max(case((exists(select(1).where(_top.c.inode_id == inode.c.id)), 1), else_=0))
            > 0,
        )
    ),
    "RULE_UNREACHED": select(inode.c.id).where(
        and_(inode.c.kind == DIR, inode.c.id.not_in(select(_reached.c.id)))
    ),
    "RULE_INODE": select(inode.c.id)
    .select_from(_with_parts(inode).outerjoin(root, root.c.id == inode.c.root_id))
    .where(
        or_(
            _bad_values(inode),
            root.c.id.is_(None),
            inode.c.born > func.coalesce(root.c.head_id, 0),
        )
    ),
    "RULE_INODE_DIFF": select(inode_diff.c.inode_id, inode_diff.c.snapshot_id)
    .select_from(_with_parts(inode_diff))
    .where(
        or_(
            _bad_values(inode_diff),
            inode_diff.c.born > inode_diff.c.snapshot_id,
            _not_in_a_chain(inode_diff),
        )
    ),
    "RULE_DIRENT_DIFF": select(
        dirent_diff.c.parent_id, dirent_diff.c.name, dirent_diff.c.snapshot_id
    ).where(
        or_(
            _not_in_a_chain(dirent_diff),
            and_(
                dirent_diff.c.inode_id.is_not(None),
                or_(
                    _unknown_at(dirent_diff.c.inode_id, dirent_diff.c.snapshot_id),
                    _unknown_at(dirent_diff.c.parent_id, dirent_diff.c.snapshot_id),
                ),
            ),
        )
    ),
    "RULE_ROOT": select(root.c.id)
    .select_from(root.outerjoin(inode, inode.c.id == root.c.inode_id))
    .where(
        or_(
            func.coalesce(root.c.head_id, 0)
            != select(func.coalesce(func.max(snapshot.c.id), 0))
            .where(snapshot.c.root_id == root.c.id)
            .scalar_subquery(),
            root.c.head_id.is_(None) != root.c.inode_id.is_(None),
            and_(
                root.c.inode_id.is_not(None),
                or_(inode.c.id.is_(None), inode.c.kind != DIR, inode.c.root_id != root.c.id),
            ),
        )
    ),
    "RULE_SNAPSHOT": select(snapshot.c.id).where(
        or_(
            _missing(snapshot.c.root_id, root.c.id),
            func.length(snapshot.c.uid) != 16,
            func.length(snapshot.c.tree_digest) != 32,
        )
    ),
    "RULE_SNAPSHOT_PARTS": union_all(
        select(literal("tag"), snapshot_tag.c.snapshot_id).where(
            _missing(snapshot_tag.c.snapshot_id, snapshot.c.id)
        ),
        select(literal("problem"), problem.c.snapshot_id).where(
            _missing(problem.c.snapshot_id, snapshot.c.id)
        ),
        select(literal("owner"), owner.c.root_id).where(_missing(owner.c.root_id, root.c.id)),
    ),
    "RULE_BLOCK": select(block.c.id)
    .select_from(block.outerjoin(segment, segment.c.id == block.c.segment_id))
    .where(
        or_(
            segment.c.id.is_(None),
            block.c.offset < 0,
            block.c.length < 1,
            block.c.offset + block.c.length > segment.c.raw,
            func.length(block.c.digest) != 32,
        )
    ),
    "RULE_SEGMENT": select(segment.c.id)
    .select_from(segment.outerjoin(pack, pack.c.id == segment.c.pack_id))
    .where(or_(pack.c.id.is_(None), segment.c.offset + segment.c.stored > pack.c.size)),
    "RULE_CONTENT_BLOCK": select(content_block.c.content_id).where(
        _missing(content_block.c.content_id, content.c.id)
    ),
    "RULE_ATTR": select(attr.c.id).where(
        and_(attr.c.xattr_id != 0, _missing(attr.c.xattr_id, xattr.c.id))
    ),
}


def _highest(name: str, *columns: Any) -> Any:
    """The highest id that is in use, by the name of its counter."""
    # Without NULLs the index of a column that may hold some has the answer at its end.
    parts = [select(func.max(column).label("id")).where(column.is_not(None)) for column in columns]
    every = union_all(*parts).subquery()
    return select(literal(name), func.coalesce(func.max(every.c.id), 0))


COUNTERS: dict[str, Any] = {
    # Not a rule, but what a rule is about: the highest id of each kind in use.
    "HIGHEST_IDS": union_all(
        _highest("root", root.c.id),
        _highest("snapshot", snapshot.c.id),
        _highest("inode", inode.c.id, inode_diff.c.inode_id, dirent_diff.c.inode_id),
        _highest("content", content.c.id, block.c.id),
        _highest("segment", segment.c.id),
        _highest("pack", pack.c.id),
        _highest("attr", attr.c.id),
        _highest("xattr", xattr.c.id),
        _highest("run", run.c.id),
    ),
}

ALL: dict[str, Any] = {
    **{name: statement.limit(p("most")) for name, statement in RULES.items()},
    **COUNTERS,
}
