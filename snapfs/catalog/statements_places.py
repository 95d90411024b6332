"""Statements that fill the temporary tables behind the views: where every directory was, and when.

Directories are few beside files, and each is found by its own index: the work follows the number of
directories and of their renames. Level by level, so that no depth of a tree is too much and a catalog in
which a directory is below itself comes to an end.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, case, delete, exists, func, insert, literal, select, update

from snapfs.catalog.dialect import as_text, greatest, least
from snapfs.catalog.query_schema import NEWEST, chain, folder, folder_name, place
from snapfs.catalog.schema import dirent, dirent_diff, root, snapshot
from snapfs.catalog.statements_rows import p


def name_at(parent: Any, name: Any, at: Any) -> Any:
    """The inode that a name means in snapshot ``at``, NULL for none."""
    later, first, now = (
        dirent_diff.alias("later_name"),
        dirent_diff.alias("first_name"),
        dirent.alias("now_name"),
    )

    def from_at(rows: Any) -> Any:
        return and_(rows.c.parent_id == parent, rows.c.name == name, rows.c.snapshot_id >= at)

    return case(
        (
            exists(select(1).where(from_at(later)).correlate_except(later)),
            select(first.c.inode_id)
            .where(from_at(first))
            .order_by(first.c.snapshot_id)
            .limit(1)
            .correlate_except(first)
            .scalar_subquery(),
        ),
        else_=select(now.c.inode_id)
        .where(and_(now.c.parent_id == parent, now.c.name == name))
        .correlate_except(now)
        .scalar_subquery(),
    )


def names_since(names: Any, *conditions: Any) -> Any:
    """After which snapshot a name means what it means in a row of ``names``, 0 for always.

    Rows between that say the same (a delete may leave such) are passed over.
    """
    other = dirent_diff.alias("other_name")
    return func.coalesce(
        select(func.max(other.c.snapshot_id))
        .where(
            and_(
                other.c.parent_id == names.c.parent_id,
                other.c.name == names.c.name,
                other.c.inode_id.is_distinct_from(names.c.inode_id),
                *(condition(other) for condition in conditions),
            )
        )
        .correlate_except(other)
        .scalar_subquery(),
        0,
    )


def old_names_since(old: Any) -> Any:
    """`names_since` of a row that is not the current one."""
    return names_since(old, lambda other: other.c.snapshot_id < old.c.snapshot_id)


def last_of_name(old: Any) -> Any:
    """The row is the last that says so: the next one means something else, or nothing."""
    following = name_at(old.c.parent_id, old.c.name, old.c.snapshot_id + 1)
    return and_(old.c.inode_id.is_not(None), old.c.inode_id.is_distinct_from(following))


def _parents(names: Any) -> Any:
    """Every parent once, from one to the next: not by reading the names of each."""
    after = names.alias("after")
    step = select(func.min(names.c.parent_id).label("id")).cte("step", recursive=True)
    following = (
        select(func.min(after.c.parent_id)).where(after.c.parent_id > step.c.id).scalar_subquery()
    )
    step = step.union_all(select(following).where(step.c.id.is_not(None)))
    return select(step.c.id).where(
        and_(step.c.id.is_not(None), ~exists(select(1).where(folder.c.id == step.c.id)))
    )


def _names(names: Any, after: Any, last: Any, *conditions: Any) -> Any:
    return insert(folder_name).from_select(
        ["parent_id", "name", "after_id", "last_id", "inode_id"],
        select(names.c.parent_id, names.c.name, after, last, names.c.inode_id).where(
            and_(names.c.inode_id.in_(select(folder.c.id)), *conditions)
        ),
    )


_above, _below = place.alias("above"), folder_name.alias("below")
_after = greatest(_above.c.after_id, _below.c.after_id)
_last = least(_above.c.last_id, _below.c.last_id)
_path = _above.c.prefix + as_text(_below.c.name)

_following, _whole = place.alias("following"), place.alias("whole")
_goes_on = and_(
    _following.c.dir_id == place.c.dir_id,
    _following.c.after_id == place.c.last_id,
    _following.c.path == place.c.path,
)

ALL: dict[str, Any] = {
    "QUERY_CHAIN": insert(chain).from_select(
        ["root_id", "previous_id", "id", "name"],
        select(
            snapshot.c.root_id,
            func.lag(snapshot.c.id, 1, 0).over(
                partition_by=snapshot.c.root_id, order_by=snapshot.c.id
            ),
            snapshot.c.id,
            snapshot.c.name,
        ),
    ),
    "QUERY_FOLDERS": insert(folder).from_select(["id"], _parents(dirent)),
    "QUERY_OLD_FOLDERS": insert(folder).from_select(["id"], _parents(dirent_diff)),
    "QUERY_NAMES": _names(dirent, names_since(dirent), literal(NEWEST)),
    "QUERY_OLD_NAMES": _names(
        dirent_diff,
        old_names_since(dirent_diff),
        dirent_diff.c.snapshot_id,
        last_of_name(dirent_diff),
    ),
    "QUERY_TOPS": insert(place).from_select(
        ["dir_id", "after_id", "last_id", "root_id", "depth", "path", "prefix"],
        select(
            root.c.inode_id,
            literal(0),
            literal(NEWEST),
            root.c.id,
            literal(0),
            literal(""),
            literal(""),
        ).where(root.c.inode_id.is_not(None)),
    ),
    "QUERY_LEVEL": insert(place).from_select(
        ["dir_id", "after_id", "last_id", "root_id", "depth", "path", "prefix"],
        select(
            _below.c.inode_id,
            _after,
            _last,
            _above.c.root_id,
            _above.c.depth + 1,
            _path,
            _path + "/",
        )
        .select_from(_above.join(_below, _below.c.parent_id == _above.c.dir_id))
        .where(and_(_above.c.depth == p("depth"), _after < _last)),
    ),
    # A directory that went from one parent to another which took the first one's path stayed where it was.
    # Repeated until nothing is left to join; then what another place covers goes.
    "QUERY_JOIN_PLACES": update(place)
    .where(exists(select(1).where(_goes_on)))
    .values(last_id=select(_following.c.last_id).where(_goes_on).scalar_subquery()),
    "QUERY_DROP_PLACES": delete(place).where(
        exists(
            select(1).where(
                and_(
                    _whole.c.dir_id == place.c.dir_id,
                    _whole.c.path == place.c.path,
                    _whole.c.after_id < place.c.after_id,
                    _whole.c.last_id >= place.c.last_id,
                )
            )
        )
    ),
}
