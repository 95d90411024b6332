"""Statements for what may be too much to be held: directories slice by slice, keys of changes, counts."""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, func, or_, select, union, union_all

from snapfs.catalog.schema import block, content_block, dirent, dirent_diff, inode_diff
from snapfs.catalog.stage_schema import stage
from snapfs.catalog.statements_overlay import CHANGED_INODES, CHANGED_NAMES
from snapfs.catalog.statements_read import chain_range, entries_at, entries_head, names_at, p


def _children_after_head(*, digests: bool = False) -> Any:
    """Entries of a directory: of the names after ``:after`` the first ``:most``."""
    within = and_(dirent.c.parent_id == p("parent"), dirent.c.name > p("after"))
    return entries_head(digests=digests).where(within).order_by(dirent.c.name).limit(p("most"))


def _children_after_at(*, digests: bool = False) -> Any:
    """The same at ``:at``, of all names up to ``:until``.

    No count ends them: one of which a part is lost would be missing from it.
    """
    within, within_diff = (
        and_(
            table.c.parent_id == p("parent"),
            table.c.name > p("after"),
            table.c.name <= p("until"),
        )
        for table in (dirent, dirent_diff)
    )
    names = names_at(within, within_diff, p("at")).cte("names")
    return entries_at(names, p("at"), digests=digests).order_by("name")


def _name_ahead() -> Any:
    """The name that is ``:most`` after the first one after ``:after``, of all times."""
    both = union(
        *(
            select(table.c.name).where(
                and_(table.c.parent_id == p("parent"), table.c.name > p("after"))
            )
            for table in (dirent, dirent_diff)
        )
    )
    return both.order_by("name").limit(1).offset(p("most"))


def _names_counted_at(inode_id: Any) -> Any:
    """How many names an inode has at ``:at``."""
    both = names_at(dirent.c.inode_id == inode_id, dirent_diff.c.inode_id == inode_id, p("at"))
    counts = [
        select(func.count()).select_from(*one.get_final_froms()).where(one.whereclause)
        for one in both.selects
    ]
    return counts[0].scalar_subquery() + counts[1].scalar_subquery()


def _named(*, at: bool) -> Any:
    """The inode behind a name."""
    head, old = (
        and_(table.c.parent_id == p("parent"), table.c.name == p("name"))
        for table in (dirent, dirent_diff)
    )
    if not at:
        return select(dirent.c.inode_id).where(head)
    arms = names_at(head, old, p("at")).selects
    return union_all(*(one.with_only_columns(one.selected_columns.inode_id) for one in arms))


_all_names = union_all(
    select(dirent.c.inode_id),
    select(dirent_diff.c.inode_id).where(dirent_diff.c.inode_id.is_not(None)),
).subquery()
# Inodes that have, or had at some time, several names: link groups and a few more.
_often_named = (
    select(_all_names.c.inode_id)
    .group_by(_all_names.c.inode_id)
    .having(func.count() > 1)
    .subquery("often_named")
)

ALL: dict[str, Any] = {
    "CHILDREN_AFTER_HEAD": _children_after_head(),
    "CHILDREN_AFTER_AT": _children_after_at(),
    "GUARDED_AFTER_HEAD": _children_after_head(digests=True),
    "GUARDED_AFTER_AT": _children_after_at(digests=True),
    "NAME_AHEAD": _name_ahead(),
    "NAMED_HEAD": _named(at=False),
    "NAMED_AT": _named(at=True),
    # What the stage changes in a directory (`catalog.statements_overlay`).
    "OVERLAY_CHILDREN_AFTER": select(stage.c.name, stage.c.inode)
    .where(
        and_(
            stage.c.parent == p("parent"),
            stage.c.name > p("after"),
            or_(stage.c.names == 1, stage.c.inode.is_not(None)),
        )
    )
    .order_by(stage.c.name)
    .limit(p("most")),
    # Inodes that have several names, and how many one has.
    "LINKED_HEAD": select(dirent.c.inode_id).group_by(dirent.c.inode_id).having(func.count() > 1),
    "LINKED_AT": select(_often_named.c.inode_id).where(
        _names_counted_at(_often_named.c.inode_id) > 1
    ),
    "NAMES_COUNTED_HEAD": select(func.count())
    .select_from(dirent)
    .where(dirent.c.inode_id == p("inode")),
    "NAMES_COUNTED_AT": select(_names_counted_at(p("inode"))),
    # As CHANGED_INODES and CHANGED_NAMES, with what the stage changes.
    "CHANGED_INODES_LIVE": union(
        select(inode_diff.c.inode_id).where(chain_range(inode_diff.c.snapshot_id)),
        CHANGED_INODES,
    ),
    "CHANGED_NAMES_LIVE": union(
        select(dirent_diff.c.parent_id, dirent_diff.c.name).where(
            chain_range(dirent_diff.c.snapshot_id)
        ),
        CHANGED_NAMES,
    ),
    # One block among the first of a content, and how many different ones it has.
    "VERIFY_CONTENT_BLOCK": select(block.c.digest, block.c.length)
    .select_from(content_block.outerjoin(block, block.c.id == content_block.c.block_id))
    .where(
        and_(
            content_block.c.block_id == p("block"),
            content_block.c.content_id == p("content"),
            content_block.c.seq < p("before"),
        )
    )
    .limit(1),
    "VERIFY_CONTENT_COUNT": select(func.count(content_block.c.block_id.distinct())).where(
        content_block.c.content_id == p("content")
    ),
}
