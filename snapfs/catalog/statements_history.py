"""Statements that read what names and inodes were at all times (`tree.history`).

Rows come with the snapshot that they are stamped with, NULL for those of the newest state: a row holds
from after the one before it up to its snapshot.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, bindparam, literal, null, select, union, union_all

from snapfs.catalog.schema import attr, dirent, dirent_diff, inode, inode_diff, snapshot, xattr
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


ALL: dict[str, Any] = {
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
