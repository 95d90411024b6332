"""The view ``entries``: every version of every path, with the snapshots that have it.

A name means an inode for a span of the chain, the inode holds a state for one, and the directory above is
at a path for one; a row is what the three have in common. Rows of the diff tables that say what the next
one says as well are passed over, so that no span ends without a reason.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import (
    and_,
    case,
    exists,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
    true,
    union_all,
)

from snapfs.catalog.dialect import as_hex, as_moment, as_octal, as_text, greatest, least
from snapfs.catalog.query_schema import NEWEST, chain, place
from snapfs.catalog.schema import (
    attr,
    block,
    content,
    dirent,
    dirent_diff,
    inode,
    inode_diff,
    root,
    snapshot,
    xattr,
)
from snapfs.catalog.statements_places import last_of_name, names_since, old_names_since
from snapfs.model.kinds import KIND_NAMES, Kind, State

FILE, UNREAD = int(Kind.FILE), int(State.UNREAD)
LINK, DEVICES = int(Kind.SYMLINK), (int(Kind.CHAR), int(Kind.BLOCK))
STATE = ("kind", "attr_id", "size", "mtime_s", "mtime_nsec", "rdev", "target", "content_id")
"""What an inode is, as far as it is restored."""


def kind_name(value: Any) -> Any:
    """The word for a kind."""
    return case(*((value == int(kind), name) for kind, name in KIND_NAMES.items()), else_="unknown")


def is_unread(value: Any) -> Any:
    """1 for a row whose content or children could not be read, else 0."""
    return case((value.c.state == UNREAD, 1), else_=0)


def same_state(one: Any, two: Any) -> Any:
    """Two rows hold the same restorable state."""
    return and_(
        *(one.c[name].is_not_distinct_from(two.c[name]) for name in STATE),
        is_unread(one) == is_unread(two),
    )


def asked(column: Any) -> Any:
    """True, for the column is never NULL; to say just that is left out when SQLite compiles it."""
    return column == column  # noqa: PLR0124


def digest_of(content_id: Any) -> Any:
    """The digest of a content, which is a block or consists of several."""
    a_block, a_content = block.alias("digest_block"), content.alias("digest_content")
    return func.coalesce(
        select(as_hex(a_block.c.digest)).where(a_block.c.id == content_id).scalar_subquery(),
        select(as_hex(a_content.c.digest)).where(a_content.c.id == content_id).scalar_subquery(),
    )


class _Rows(NamedTuple):
    """Rows of names or of inodes, each with the span that it holds for; ``last`` is None for the head."""

    table: Any
    after: Any
    last: Any | None
    holds: Any


def _names() -> list[_Rows]:
    now, old = dirent.alias("n"), dirent_diff.alias("n")
    return [
        _Rows(now, names_since(now), None, true()),
        _Rows(old, old_names_since(old), old.c.snapshot_id, last_of_name(old)),
    ]


def _inodes() -> list[_Rows]:
    now, old, other = inode.alias("v"), inode_diff.alias("v"), inode_diff.alias("other")
    later, first, following = (inode_diff.alias(name) for name in ("later", "first", "following"))
    current = inode.alias("following_now")

    def since(rows: Any, id_: Any, before: Any) -> Any:
        found = select(func.max(other.c.snapshot_id)).where(
            and_(other.c.inode_id == id_, before, ~same_state(other, rows))
        )
        return func.coalesce(found.correlate_except(other).scalar_subquery(), 0)

    is_later = and_(later.c.inode_id == old.c.inode_id, later.c.snapshot_id > old.c.snapshot_id)
    is_following = and_(
        following.c.inode_id == old.c.inode_id,
        following.c.snapshot_id
        == select(func.min(first.c.snapshot_id))
        .where(and_(first.c.inode_id == old.c.inode_id, first.c.snapshot_id > old.c.snapshot_id))
        .correlate_except(first)
        .scalar_subquery(),
        same_state(following, old),
    )
    is_current = and_(current.c.id == old.c.inode_id, same_state(current, old))
    goes_on = case(
        (
            exists(select(1).where(is_later).correlate_except(later)),
            exists(select(1).where(is_following).correlate_except(following)),
        ),
        else_=exists(select(1).where(is_current).correlate_except(current)),
    )
    return [
        _Rows(now, since(now, now.c.id, true()), None, true()),
        _Rows(
            old,
            since(old, old.c.inode_id, other.c.snapshot_id < old.c.snapshot_id),
            old.c.snapshot_id,
            ~goes_on,
        ),
    ]


def _extreme(choose: Any, values: list[Any]) -> Any:
    """``greatest`` or ``least`` of those that there are."""
    some = [value for value in values if value is not None]
    return some[0] if len(some) == 1 else choose(*some)


def _entry(names: _Rows | None, values: _Rows, id_: Any) -> Any:
    """Entries of these names with these values; without names, of the roots themselves."""
    p, a = place.alias("p"), attr.alias("a")
    first, last_one = chain.alias("first_one"), snapshot.alias("last_one")
    v = values.table
    if names is None:
        source = root.join(p, p.c.dir_id == root.c.inode_id).join(v, id_ == root.c.inode_id)
        afters, lasts, holds = [values.after], [p.c.last_id, values.last], values.holds
        name: Any = literal("")
        path: Any = literal("")
        above: tuple[Any, Any] = (null(), null())
    else:
        n = names.table
        source = (
            root.join(p, p.c.root_id == root.c.id)
            .join(n, n.c.parent_id == p.c.dir_id)
            .join(v, id_ == n.c.inode_id)
        )
        afters = [p.c.after_id, names.after, values.after]
        lasts = [p.c.last_id, names.last, values.last]
        holds = and_(names.holds, values.holds)
        name, path = as_text(n.c.name), p.c.prefix + as_text(n.c.name)
        above = (p.c.path, p.c.dir_id)
    after, last = _extreme(greatest, afters), _extreme(least, lasts)
    if last is p.c.last_id:
        # What lasts to the head is there: nothing needs to be asked about where it begins.
        some = or_(last == NEWEST, after < last)
        last_id: Any = case((last == NEWEST, root.c.head_id), else_=last)
        latest: Any = case((last == NEWEST, 1), else_=0)
    else:
        # A constant, so that who asks for the newest state does not read the old one.
        some, last_id, latest = after < last, last, literal(0)
    x = xattr.alias("x")
    return (
        select(
            root.c.label.label("root"),
            path.label("path"),
            kind_name(v.c.kind).label("kind"),
            case((v.c.kind == FILE, v.c.size), else_=0).label("size"),
            as_moment(v.c.mtime_s).label("mtime"),
            first.c.name.label("first"),
            select(last_one.c.name).where(last_one.c.id == last_id).scalar_subquery().label("last"),
            latest.label("latest"),
            as_octal(a.c.mode).label("mode"),
            a.c.uid.label("uid"),
            a.c.gid.label("gid"),
            case((v.c.kind == LINK, as_text(v.c.target)), else_=null()).label("target"),
            digest_of(v.c.content_id).label("digest"),
            is_unread(v).label("unread"),
            above[0].label("dir"),
            name.label("name"),
            first.c.id.label("first_id"),
            last_id.label("last_id"),
            id_.label("inode"),
            above[1].label("parent"),
            v.c.content_id.label("content"),
            v.c.mtime_s.label("mtime_s"),
            v.c.mtime_nsec.label("mtime_nsec"),
            a.c.flags.label("flags"),
            select(x.c.value).where(x.c.id == a.c.xattr_id).scalar_subquery().label("xattrs"),
            case(
                (v.c.kind.in_([literal_column(str(k)) for k in DEVICES]), v.c.rdev), else_=null()
            ).label("rdev"),
        )
        .select_from(
            source.outerjoin(a, and_(a.c.id == v.c.attr_id, asked(a.c.mode))).outerjoin(
                first, and_(first.c.root_id == root.c.id, first.c.previous_id == after)
            )
        )
        .where(and_(asked(root.c.label), asked(v.c.kind), holds, some))
    )


def _entries() -> Any:
    found = []
    for names in (*_names(), None):
        for values in _inodes():
            v = values.table
            found.append(_entry(names, values, v.c.id if v.element is inode else v.c.inode_id))
    return union_all(*found)


ALL: dict[str, Any] = {"VIEW_ENTRIES": _entries()}
