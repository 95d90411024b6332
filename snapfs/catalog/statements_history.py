"""Statements that read what names and inodes were at all times (`tree.history`).

Rows come with the snapshot that they are stamped with, NULL for those of the newest state: a row holds
from after the one before it up to its snapshot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import and_, bindparam, exists, literal, null, or_, select, union, union_all

from snapfs.catalog.dialect import place_of
from snapfs.catalog.schema import (
    attr,
    block,
    content,
    dirent,
    dirent_diff,
    inode,
    inode_diff,
    snapshot,
    xattr,
)
from snapfs.catalog.statements_read import (
    EMPTY,
    KNOWN_AT_ONCE,
    child_digest,
    entry_columns,
    p,
    with_content,
)


def _versions(table: Any, id_: Any, at: Any, first: int) -> Any:
    source = table.join(attr, attr.c.id == table.c.attr_id).outerjoin(
        xattr, xattr.c.id == attr.c.xattr_id
    )
    wanted: list[Any] = [bindparam(f"d{first + number:03}") for number in range(KNOWN_AT_ONCE)]
    return (
        select(at, child_digest(table), *entry_columns(literal(EMPTY), id_, table))
        .select_from(with_content(source, table))
        .where(id_.in_(wanted))
    )


def _names(condition: Callable[[Any], Any], *more: Callable[[Any], Any]) -> Any:
    """Rows of names, those of each together: parent, name, snapshot, inode."""
    arms = [
        select(
            table.c.parent_id, table.c.name, at.label("snapshot_id"), table.c.inode_id,
            *[column(table) for column in more],
        ).where(condition(table))
        for table, at in ((dirent_diff, dirent_diff.c.snapshot_id), (dirent, null()))
    ]  # fmt: skip
    return union_all(*arms).order_by("parent_id", "name")


def _often_named() -> Any:
    """All rows of the names that some inodes ever had."""
    wanted: list[list[Any]] = [
        [bindparam(f"d{first + number:03}") for number in range(KNOWN_AT_ONCE)]
        for first in (0, KNOWN_AT_ONCE)
    ]
    keys = union(
        *(
            select(table.c.parent_id, table.c.name).where(table.c.inode_id.in_(ids))
            for table, ids in zip((dirent, dirent_diff), wanted, strict=True)
        )
    ).cte("keys")
    arms = [
        select(
            keys.c.parent_id.label("parent_id"),
            keys.c.name.label("name"),
            at.label("snapshot_id"),
            table.c.inode_id,
        ).select_from(
            keys.join(
                table, and_(table.c.parent_id == keys.c.parent_id, table.c.name == keys.c.name)
            )
        )
        for table, at in ((dirent_diff, dirent_diff.c.snapshot_id), (dirent, null()))
    ]
    return union_all(*arms).order_by("parent_id", "name")


_child, _old_child = dirent.alias("child"), dirent_diff.alias("old_child")


def _has_children(table: Any) -> Any:
    """Whether something was ever below the inode, and so whether to look there."""
    return or_(
        exists(select(1).where(_child.c.parent_id == table.c.inode_id)),
        exists(select(1).where(_old_child.c.parent_id == table.c.inode_id)),
    ).label("has_children")


def _fitting(table: Any, id_: Any) -> Any:
    """Inodes by what can be told of one alone; what is not asked for is the whole range."""
    return select(id_.label("id")).where(
        and_(
            table.c.size >= p("least"),
            table.c.size <= p("most"),
            table.c.mtime_s >= p("since"),
            table.c.mtime_s <= p("until"),
        )
    )


ALL: dict[str, Any] = {
    # Rows of all names in which some bytes are found (none are in every name).
    "FIND_NAMES": _names(lambda table: place_of(table.c.name, p("part")) > 0),
    "HISTORY_CHILDREN": _names(lambda table: table.c.parent_id == p("parent"), _has_children),
    "HISTORY_NAMES": _often_named(),
    "FIND_INODES": union(_fitting(inode, inode.c.id), _fitting(inode_diff, inode_diff.c.inode_id)),
    "FIND_CONTENTS": union_all(
        *(
            select(table.c.id).where(and_(table.c.digest >= p("low"), table.c.digest <= p("high")))
            for table in (block, content)
        )
    ),
    "HISTORY_INODES": union_all(
        _versions(inode_diff, inode_diff.c.inode_id, inode_diff.c.snapshot_id, 0),
        _versions(inode, inode.c.id, null().label("snapshot_id"), KNOWN_AT_ONCE),
    ),
    "INODE_VALUES": union_all(
        select(inode_diff.c.snapshot_id, inode_diff.c.content_id).where(
            inode_diff.c.inode_id == p("inode")
        ),
        select(null(), inode.c.content_id).where(inode.c.id == p("inode")),
    ),
    "NAME_VALUES": union_all(
        select(dirent_diff.c.snapshot_id, dirent_diff.c.inode_id).where(
            and_(dirent_diff.c.parent_id == p("parent"), dirent_diff.c.name == p("name"))
        ),
        select(null(), dirent.c.inode_id).where(
            and_(dirent.c.parent_id == p("parent"), dirent.c.name == p("name"))
        ),
    ),
    "NAMES_EVER": union(
        select(dirent.c.parent_id, dirent.c.name).where(dirent.c.inode_id == p("inode")),
        select(dirent_diff.c.parent_id, dirent_diff.c.name).where(
            dirent_diff.c.inode_id == p("inode")
        ),
    ),
    "ROOT_OF_INODE": union_all(
        select(inode.c.root_id).where(inode.c.id == p("inode")),
        select(snapshot.c.root_id)
        .select_from(inode_diff.join(snapshot, snapshot.c.id == inode_diff.c.snapshot_id))
        .where(inode_diff.c.inode_id == p("inode")),
    ).limit(1),
}
