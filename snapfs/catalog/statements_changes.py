"""The view ``changes``: the paths in which a snapshot differs from the one before it.

Whatever two neighbours differ in has a row stamped with the older one, or lies in a directory whose path
begins there. Each such name is looked up by its path on both sides.
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
    union_all,
)

from snapfs.catalog.dialect import as_text
from snapfs.catalog.query_schema import chain, place
from snapfs.catalog.schema import attr, dirent, dirent_diff, inode, inode_diff, root, snapshot
from snapfs.catalog.statements_entries import FILE, STATE, UNREAD, asked, kind_name
from snapfs.catalog.statements_places import name_at


def _keys() -> Any:
    """Names that may mean something else in a snapshot than in the one before, or lie elsewhere; each once.

    What has a row stamped with the one before comes first; of the others, whose meaning stays, those whose
    inode has such a row; of the rest those in a directory whose path begins. (Where a directory is gone,
    all its names have such rows.)
    """
    c, x, v, q = chain.alias("c"), dirent_diff.alias("x"), inode_diff.alias("v"), place.alias("q")
    stamped, changed = dirent_diff.alias("stamped"), inode_diff.alias("changed")
    before = dirent_diff.alias("before")
    found = []

    def key(source: Any, names: Any, *conditions: Any) -> None:
        found.append(
            select(
                c.c.root_id, c.c.previous_id, c.c.id, c.c.name.label("snapshot"),
                names.c.parent_id, names.c.name,
            )
            .select_from(source)
            .where(and_(c.c.previous_id > 0, *conditions))
        )  # fmt: skip

    def none(rows: Any, *conditions: Any) -> Any:
        return ~exists(select(1).where(and_(*conditions)).correlate_except(rows))

    key(c.join(x, x.c.snapshot_id == c.c.previous_id), x)
    for table in (dirent, dirent_diff):
        n = table.alias("n")

        def same_name(rows: Any, n: Any = n) -> Any:
            return and_(rows.c.parent_id == n.c.parent_id, rows.c.name == n.c.name)

        if table is dirent:
            stays = none(stamped, same_name(stamped), stamped.c.snapshot_id >= c.c.previous_id)
        else:
            # The first row from the snapshot on, and the one before has none.
            stays = and_(
                n.c.snapshot_id > c.c.previous_id,
                n.c.inode_id.is_not(None),
                none(
                    before, same_name(before),
                    before.c.snapshot_id >= c.c.previous_id,
                    before.c.snapshot_id < n.c.snapshot_id,
                ),
            )  # fmt: skip
        inodes = c.join(v, v.c.snapshot_id == c.c.previous_id)
        key(inodes.join(n, n.c.inode_id == v.c.inode_id), n, stays)
        moved = c.join(q, and_(q.c.after_id == c.c.previous_id, q.c.root_id == c.c.root_id))
        unchanged = none(
            changed, changed.c.inode_id == n.c.inode_id, changed.c.snapshot_id == c.c.previous_id
        )
        key(moved.join(n, n.c.parent_id == q.c.dir_id), n, stays, unchanged)
    return union_all(*found).subquery("k")


def _lies(q: Any, at: Any) -> Any:
    return and_(q.c.after_id < at, q.c.last_id >= at)


def _looked_up(root_id: Any, path: Any, name: Any, at: Any) -> Any:
    """The inode at a name in the directory that was at ``path``."""
    z = place.alias("z")
    return (
        select(name_at(z.c.dir_id, name, at))
        .where(and_(z.c.path == path, z.c.root_id == root_id, _lies(z, at)))
        .correlate_except(z)
        .scalar_subquery()
    )


def _pairs() -> Any:
    """Paths with the inodes that they meant before and after."""

    def found(k: Any, source: Any, path: Any, name: Any, old: Any, new: Any, kept: Any) -> Any:
        return (
            select(
                k.c.root_id, k.c.previous_id, k.c.id, k.c[snapshot_column(k)].label("snapshot"),
                path[0].label("dir"), path[1].label("path"), name.label("name"),
                old.label("old_inode"), new.label("new_inode"),
            )
            .select_from(source)
            .where(kept)
        )  # fmt: skip

    def snapshot_column(k: Any) -> str:
        return "snapshot" if "snapshot" in k.c else "name"

    k, q = _keys(), place.alias("q")
    name = as_text(k.c.name)
    path = (q.c.path, q.c.prefix + name)
    lies = k.join(q, q.c.dir_id == k.c.parent_id)
    now = name_at(k.c.parent_id, k.c.name, k.c.id)
    before = name_at(k.c.parent_id, k.c.name, k.c.previous_id)
    known = found(
        k, lies, path, name,
        _looked_up(k.c.root_id, q.c.path, k.c.name, k.c.previous_id), now,
        and_(_lies(q, k.c.id), now.is_not(None)),
    )  # fmt: skip
    gone = found(
        k, lies, path, name, before, literal_column("NULL"),
        and_(
            _lies(q, k.c.previous_id),
            before.is_not(None),
            _looked_up(k.c.root_id, q.c.path, k.c.name, k.c.id).is_(None),
        ),
    )  # fmt: skip
    c, v = chain.alias("c"), inode_diff.alias("v")
    tops = c.join(root, and_(root.c.id == c.c.root_id, asked(root.c.label))).join(
        v, and_(v.c.snapshot_id == c.c.previous_id, v.c.inode_id == root.c.inode_id)
    )
    top = found(
        c, tops, (literal_column("NULL"), literal("")), literal(""),
        root.c.inode_id, root.c.inode_id, c.c.previous_id > 0,
    )  # fmt: skip
    return union_all(known, gone, top).subquery("pairs")


class _Was(NamedTuple):
    """What an inode was in a snapshot: from the diff table, else from the current one."""

    old: Any
    now: Any

    def __call__(self, name: str) -> Any:
        return case((self.old.c.inode_id.is_not(None), self.old.c[name]), else_=self.now.c[name])

    @property
    def unread(self) -> Any:
        return case((self("state") == UNREAD, 1), else_=0)


def _was(source: Any, prefix: str, id_: Any, at: Any) -> tuple[Any, _Was]:
    old, now = inode_diff.alias(f"{prefix}_diff"), inode.alias(f"{prefix}_inode")
    first = inode_diff.alias(f"{prefix}_first")
    found = (
        select(func.min(first.c.snapshot_id))
        .where(and_(first.c.inode_id == id_, first.c.snapshot_id >= at))
        .correlate_except(first)
        .scalar_subquery()
    )
    joined = source.outerjoin(
        old, and_(old.c.inode_id == id_, old.c.snapshot_id == found)
    ).outerjoin(now, and_(now.c.id == id_, asked(now.c.kind)))
    return joined, _Was(old, now)


def _words(both: Any, *pairs: tuple[str, Any]) -> Any:
    """Words for what differs, with commas between."""
    text: Any = literal("")
    for word, differs in pairs:
        text = text + case((differs, f",{word}"), else_="")
    return case((both, func.substr(text, 2)), else_=null())


def _changes() -> Any:
    k = _pairs()
    source, was = _was(k, "old", k.c.old_inode, k.c.previous_id)
    source, is_ = _was(source, "new", k.c.new_inode, k.c.id)
    a, b = attr.alias("old_attr"), attr.alias("new_attr")
    source = (
        source.join(root, root.c.id == k.c.root_id)
        .outerjoin(a, and_(a.c.id == was("attr_id"), asked(a.c.mode)))
        .outerjoin(b, and_(b.c.id == is_("attr_id"), asked(b.c.mode)))
    )
    both = and_(k.c.old_inode.is_not(None), k.c.new_inode.is_not(None))
    alike = and_(
        *(was(name).is_not_distinct_from(is_(name)) for name in STATE), was.unread == is_.unread
    )
    gone = k.c.new_inode.is_(None)

    def differs(name: str) -> Any:
        return was(name).is_distinct_from(is_(name))

    def size(value: _Was) -> Any:
        return case((value("kind") == FILE, value("size")), else_=0)

    typed = was("kind") != is_("kind")
    what = _words(
        both,
        ("type", typed),
        *(
            (word, and_(~typed, differing))
            for word, differing in (
                ("content", or_(differs("size"), differs("content_id"))),
                ("target", differs("target")),
                ("device", differs("rdev")),
                ("mode", a.c.mode != b.c.mode),
                ("owner", a.c.uid != b.c.uid),
                ("group", a.c.gid != b.c.gid),
                ("mtime", or_(differs("mtime_s"), differs("mtime_nsec"))),
                ("xattr", a.c.xattr_id != b.c.xattr_id),
                ("flags", a.c.flags != b.c.flags),
            )
        ),
    )
    before = snapshot.alias("before")
    return (
        select(
            root.c.label.label("root"),
            k.c.snapshot.label("snapshot"),
            case((gone, "-"), (is_.unread == 1, "!"), (both, "M"), else_="+").label("letter"),
            k.c.path.label("path"),
            what.label("what"),
            kind_name(case((gone, was("kind")), else_=is_("kind"))).label("kind"),
            case((gone, null()), else_=size(is_)).label("size"),
            case((k.c.old_inode.is_(None), null()), else_=size(was)).label("old_size"),
            k.c.dir.label("dir"),
            k.c.name.label("name"),
            k.c.id.label("snapshot_id"),
            select(before.c.name)
            .where(before.c.id == k.c.previous_id)
            .scalar_subquery()
            .label("previous"),
            k.c.previous_id.label("previous_id"),
            k.c.new_inode.label("inode"),
            k.c.old_inode.label("old_inode"),
        )
        .select_from(source)
        .where(and_(asked(root.c.label), or_(~both, ~alike)))
    )


ALL: dict[str, Any] = {"VIEW_CHANGES": _changes()}
