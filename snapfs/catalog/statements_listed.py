"""Statements for a scan that looks at listed paths alone (`capture.listedscan`)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, bindparam, case, exists, func, select, union, update

from snapfs.catalog.schema import dirent, inode
from snapfs.catalog.stage_schema import lost
from snapfs.catalog.staged import DIR, RACY, linked, other, s, same_group
from snapfs.catalog.statements_read import ALL as READ
from snapfs.catalog.statements_rows import p
from snapfs.catalog.statements_settle import ALL as SETTLE

_ahead = SETTLE["LINK_AHEAD"].subquery("ahead")
# One subquery for each row: as a join it would begin with every file of the catalog that has several names.
_of_group = select(
    select(func.min(inode.c.id))
    .where(
        and_(
            inode.c.ino == s.c.ino,
            inode.c.nlink > 1,
            inode.c.kind != DIR,
            inode.c.kind == s.c.kind,
            inode.c.root_id == p("root"),
            case((inode.c.dev == p("old_dev"), p("new_dev")), else_=inode.c.dev) == s.c.dev,
        )
    )
    .scalar_subquery()
    .label("inode")
).where(and_(linked, s.c.inode < 0))
_partly_seen = union(select(_ahead.c.inode), _of_group).subquery("partly_seen")


def _named(most: int) -> Any:
    """Children of a directory by names, so many at once."""
    children = READ["SCAN_CHILDREN"]
    names: list[Any] = [bindparam(f"n{number:03}") for number in range(most)]
    return (
        select(*children.selected_columns)
        .select_from(*children.get_final_froms())
        .where(and_(dirent.c.parent_id == p("parent"), dirent.c.name.in_(names)))
    )


ALL: dict[str, Any] = {
    # As SCAN_CHILDREN, of some names.
    "SCAN_NAMED": _named(128),
    "SCAN_NAMED_FEW": _named(8),
    # Names that were not looked at, of files of which another name is not what it was, or is new.
    "LISTED_OTHER_NAMES": select(dirent.c.parent_id, dirent.c.name)
    .select_from(_partly_seen.join(dirent, dirent.c.inode_id == _partly_seen.c.inode))
    .where(
        and_(
            ~exists(
                select(1).where(
                    and_(lost.c.parent == dirent.c.parent_id, lost.c.name == dirent.c.name)
                )
            ),
            ~exists(
                select(1).where(
                    and_(other.c.parent == dirent.c.parent_id, other.c.name == dirent.c.name)
                )
            ),
        )
    ),
    # A file that has more names than were looked at: which others it goes with is only known when all are.
    "LISTED_UNSURE_LINKS": update(s)
    .where(
        and_(
            linked,
            s.c.state == 0,
            select(func.count()).where(same_group(s, other)).scalar_subquery() < s.c.nlink,
        )
    )
    .values(state=RACY),
}
