"""What the statements of the stage have in common: its columns by short names, and its rules."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    and_,
    exists,
    literal_column,
    select,
)

from snapfs.catalog.schema import (
    dirent,
    inode,
)
from snapfs.catalog.stage_schema import (
    lost,
    stage,
)
from snapfs.model.kinds import Kind, State

DIR = int(Kind.DIR)
FILE = int(Kind.FILE)
UNREAD = int(State.UNREAD)
RACY = int(State.RACY)

# Values of stage.nodes: 1 a change, 2 bookkeeping only, 3 the inode is gone.
CHANGED: list[Any] = [literal_column("1"), literal_column("2")]
OLD_VALUE_KEPT: list[Any] = [literal_column("1"), literal_column("3")]

# Of stage.need: the journal's row of it is encoded already (in stage_file).
ENCODED: Any = literal_column("4")

s = stage
other = stage.alias("other")
linked = and_(s.c.nlink > 1, s.c.kind != DIR)


# Of a join or correlation with the catalog's inode.
SAME_SIZE_AND_MTIME: list[Any] = [
    inode.c.size == s.c.size,
    inode.c.mtime_s == s.c.mtime_s,
    inode.c.mtime_nsec == s.c.mtime_nsec,
]
SAME_STAT: list[Any] = [
    *SAME_SIZE_AND_MTIME,
    inode.c.ctime_s == s.c.ctime_s,
    inode.c.ctime_nsec == s.c.ctime_nsec,
]


def kept_name(inode_id: Any, *more: Any) -> Any:
    """The inode has a name that the scan neither saw change nor missed; ``more`` is said of its dirent."""
    gone = lost.alias("gone")
    is_gone = and_(gone.c.parent == dirent.c.parent_id, gone.c.name == dirent.c.name)
    return exists(
        select(1).where(
            and_(dirent.c.inode_id == inode_id, ~exists(select(1).where(is_gone)), *more)
        )
    )


def named_still(inode_id: Any) -> Any:
    """The inode has a name that is neither lost nor staged."""
    is_staged = and_(other.c.parent == dirent.c.parent_id, other.c.name == dirent.c.name)
    return kept_name(inode_id, ~exists(select(1).where(is_staged)))


def same_group(a: Any, b: Any) -> Any:
    """Whether two staged rows are names of one file with several links."""
    return and_(
        b.c.ino == a.c.ino, b.c.dev == a.c.dev, b.c.nlink > 1, b.c.kind != DIR, b.c.kind == a.c.kind
    )
