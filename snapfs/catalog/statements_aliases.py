"""Statements that tell under which other names stays what a purge took out, and where links lead."""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, case, exists, null, or_, select, union, union_all

from snapfs.catalog.cut_schema import cut_directory, cut_inode, cut_name, cut_value
from snapfs.catalog.schema import dirent, dirent_diff, inode, inode_diff
from snapfs.catalog.statements_rows import p
from snapfs.model.kinds import Kind

DIR, SYMLINK = int(Kind.DIR), int(Kind.SYMLINK)

_elsewhere = or_(
    exists(
        select(1).where(
            and_(
                dirent.c.inode_id == cut_inode.c.id,
                dirent.c.parent_id.not_in(select(cut_directory.c.inode)),
            )
        )
    ),
    exists(
        select(1).where(
            and_(
                dirent_diff.c.inode_id == cut_inode.c.id,
                dirent_diff.c.parent_id.not_in(select(cut_directory.c.inode)),
            )
        )
    ),
)


def _is_same(row: Any, id_: Any) -> Any:
    """Whether a row that stays says what its inode also was under a name that went: numbers are reused.

    A directory is the same if a name in it went that is in it still, or if it was and is empty.
    """
    # Each condition names a column of the select around it: one further out would be joined, not meant.
    is_old = dirent_diff.c.inode_id.is_not(None)
    has_common = exists(
        select(1).where(
            and_(
                cut_name.c.parent == cut_value.c.inode,
                or_(
                    exists(
                        select(1).where(
                            and_(
                                dirent.c.parent_id == cut_name.c.parent,
                                dirent.c.name == cut_name.c.name,
                            )
                        )
                    ),
                    exists(
                        select(1).where(
                            and_(
                                dirent_diff.c.parent_id == cut_name.c.parent,
                                dirent_diff.c.name == cut_name.c.name,
                                is_old,
                            )
                        )
                    ),
                ),
            )
        )
    )
    is_empty = and_(
        ~exists(select(1).where(cut_name.c.parent == cut_value.c.inode)),
        ~exists(select(1).where(dirent.c.parent_id == cut_value.c.inode)),
        ~exists(select(1).where(and_(dirent_diff.c.parent_id == cut_value.c.inode, is_old))),
    )
    return exists(
        select(1).where(
            and_(
                cut_value.c.inode == id_,
                cut_value.c.kind == row.c.kind,
                case(
                    (row.c.kind == DIR, or_(has_common, is_empty)),
                    else_=and_(
                        cut_value.c.size == row.c.size,
                        cut_value.c.rdev == row.c.rdev,
                        cut_value.c.target.is_not_distinct_from(row.c.target),
                        cut_value.c.content_id.is_not_distinct_from(row.c.content_id),
                    ),
                ),
            )
        )
    )


ALL: dict[str, Any] = {
    # Those whose other names lie in a directory that stays: not what moved along with one that goes. And
    # only what it was under the purged path: a number that was reused is no other name.
    "CUT_ALIASES": select(cut_inode.c.id)
    .where(
        and_(
            cut_inode.c.kept == 1,
            _elsewhere,
            or_(
                exists(
                    select(1).where(and_(inode.c.id == cut_inode.c.id, _is_same(inode, inode.c.id)))
                ),
                exists(
                    select(1).where(
                        and_(
                            inode_diff.c.inode_id == cut_inode.c.id,
                            _is_same(inode_diff, inode_diff.c.inode_id),
                        )
                    )
                ),
            ),
        )
    )
    .order_by(cut_inode.c.id)
    .limit(p("most")),
    # Where symbolic links lead, in any snapshot.
    "CUT_TARGETS": union(
        select(inode.c.id, inode.c.target).where(inode.c.kind == SYMLINK),
        select(inode_diff.c.inode_id, inode_diff.c.target).where(inode_diff.c.kind == SYMLINK),
    ).order_by("id"),
    "CUT_SAME": union_all(
        select(
            inode_diff.c.snapshot_id, case((_is_same(inode_diff, p("inode")), 1), else_=0)
        ).where(inode_diff.c.inode_id == p("inode")),
        select(null(), case((_is_same(inode, p("inode")), 1), else_=0)).where(
            inode.c.id == p("inode")
        ),
    ),
}
