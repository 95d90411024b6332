"""Statements that give every observed name its inode (``snapfs-design.7``, Identity).

Ids: positive ones are the catalog's, a negative one is local to the stage (``-seq`` of the row that
brings the inode).
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    and_,
    case,
    delete,
    exists,
    func,
    insert,
    literal,
    literal_column,
    null,
    or_,
    select,
    union,
    update,
)
from sqlalchemy.dialects.sqlite import insert as upsert

from snapfs.catalog.schema import (
    dirent,
    inode,
)
from snapfs.catalog.stage_schema import (
    lost,
    stage,
)
from snapfs.catalog.staged import (
    DIR,
    RACY,
    SAME_SIZE_AND_MTIME,
    SAME_STAT,
    UNREAD,
    kept_name,
    linked,
    named_still,
    other,
    s,
    same_group,
)
from snapfs.catalog.statements_rows import p


def _claimed(inode_id: Any) -> Any:
    return exists(select(1).where(other.c.inode == inode_id))


def _first_of_group() -> Any:
    """True of the row that speaks for its hard-link group (and of every row without one)."""
    return or_(
        ~linked,
        s.c.seq == select(func.min(other.c.seq)).where(same_group(s, other)).scalar_subquery(),
    )


def _with_all_below(top: Any) -> Any:
    """Directories (a recursive CTE of inodes) and all below them; ends also where a catalog that was
    tampered with leads in circles.
    """
    return top.union(
        select(dirent.c.inode_id)
        .select_from(
            top.join(dirent, dirent.c.parent_id == top.c.inode).join(
                inode, inode.c.id == dirent.c.inode_id
            )
        )
        .where(inode.c.kind == DIR)
    )


def _lost_closure() -> Any:
    top = (
        select(lost.c.inode.label("inode"))
        .where(and_(lost.c.kind == DIR, lost.c.done == 0))
        .cte("gone_below", recursive=True)
    )
    below = _with_all_below(top)
    rows = (
        select(
            dirent.c.parent_id,
            dirent.c.name,
            dirent.c.inode_id,
            inode.c.kind,
            case((inode.c.dev == p("old_dev"), p("new_dev")), else_=inode.c.dev),
            inode.c.ino,
            literal(1),
        )
        .select_from(
            below.join(dirent, dirent.c.parent_id == below.c.inode).join(
                inode, inode.c.id == dirent.c.inode_id
            )
        )
        .where(literal(1) == 1)
    )
    return upsert(lost).from_select([c.name for c in lost.c], rows).on_conflict_do_nothing()


def _keep_unread() -> Any:
    """Names below a directory that could not be read are not lost."""
    top = (
        select(s.c.inode.label("inode"))
        .where(and_(s.c.kind == DIR, s.c.state == UNREAD, s.c.inode > 0))
        .cte("unread_below", recursive=True)
    )
    below = _with_all_below(top)
    return delete(lost).where(lost.c.parent.in_(select(below.c.inode)))


# Inodes that lost a name: it is gone, or is another inode now. That may be one with the same inode number: what
# got a second name while it was captured is two inodes, until the next time.
_bereft = union(
    select(lost.c.inode.label("inode")),
    select(s.c.by_name).where(
        and_(s.c.by_name.is_not(None), or_(s.c.inode.is_(None), s.c.by_name != s.c.inode))
    ),
).subquery("bereft")

_parent = stage.alias("parent_row")
_GONE_OR_REPLACED: list[Any] = [literal_column("3"), literal_column("5")]

_current_by_name = (
    select(dirent.c.inode_id)
    .where(and_(dirent.c.parent_id == s.c.parent, dirent.c.name == s.c.name))
    .scalar_subquery()
)
_current_kind = (
    select(inode.c.kind)
    .select_from(dirent.join(inode, inode.c.id == dirent.c.inode_id))
    .where(and_(dirent.c.parent_id == s.c.parent, dirent.c.name == s.c.name))
    .scalar_subquery()
)


def _first_of_name() -> Any:
    """Of the open rows whose names were one file, only the first may go on being it."""
    return s.c.seq == (
        select(func.min(other.c.seq))
        .where(
            and_(
                other.c.by_name == s.c.by_name,
                other.c.inode.is_(None),
                other.c.kind == s.c.kind,
            )
        )
        .scalar_subquery()
    )


SETTLE: dict[str, Any] = {
    "LOST_CLOSURE": _lost_closure(),
    "LOST_KEEP_UNREAD": _keep_unread(),
    # Children of a directory whose identity is now known hang on that identity.
    "SETTLE_RELINK": update(s)
    .where(
        and_(
            s.c.parent < 0,
            exists(select(1).where(and_(_parent.c.seq == -s.c.parent, _parent.c.inode > 0))),
        )
    )
    .values(
        parent=select(_parent.c.inode).where(_parent.c.seq == -s.c.parent).scalar_subquery(),
    ),
    "SETTLE_BY_NAME": update(s)
    .where(and_(s.c.by_name.is_(None), s.c.parent > 0, s.c.kind.is_not(None)))
    .values(by_name=_current_by_name, by_kind=_current_kind),
    "SETTLE_SAME": update(s)
    .where(
        and_(
            s.c.inode.is_(None),
            s.c.by_kind == s.c.kind,
            exists(select(1).where(and_(inode.c.id == s.c.by_name, inode.c.ino == s.c.ino))),
            ~_claimed(s.c.by_name),
        )
    )
    .values(inode=s.c.by_name),
    "SETTLE_GROUP": update(s)
    .where(
        and_(
            linked,
            or_(s.c.inode.is_(None), s.c.inode > 0),
            exists(select(1).where(and_(same_group(s, other), other.c.inode > 0))),
        )
    )
    .values(
        inode=select(other.c.inode)
        .where(and_(same_group(s, other), other.c.inode > 0))
        .order_by(other.c.seq)
        .limit(1)
        .scalar_subquery()
    ),
    # A new name of a file whose other names have not changed since the head was taken (the link
    # counts of a head that was rolled back are newer than its names).
    "SETTLE_LINKED": update(s)
    .where(and_(s.c.inode.is_(None), linked))
    .values(
        inode=select(func.min(inode.c.id))
        .where(
            and_(
                inode.c.ino == s.c.ino,
                inode.c.nlink > 1,
                inode.c.kind != DIR,
                inode.c.kind == s.c.kind,
                inode.c.root_id == p("root"),
                case((inode.c.dev == p("old_dev"), p("new_dev")), else_=inode.c.dev) == s.c.dev,
                *SAME_STAT,
            )
        )
        .scalar_subquery()
    ),
    # A file that another one, with its size and times, was renamed over stays what it was: whose inode
    # number the new one got by chance says nothing.
    "SETTLE_LIKE": update(s)
    .where(
        and_(
            s.c.inode.is_(None),
            s.c.by_kind == s.c.kind,
            s.c.kind != DIR,
            ~linked,
            exists(
                select(1).where(
                    and_(
                        inode.c.id == s.c.by_name,
                        *SAME_SIZE_AND_MTIME,
                    )
                )
            ),
            ~_claimed(s.c.by_name),
            ~kept_name(s.c.by_name),
            _first_of_name(),
        )
    )
    .values(inode=s.c.by_name),
    "SETTLE_MOVED": update(s)
    .where(and_(s.c.inode.is_(None), s.c.kind.is_not(None), _first_of_group()))
    .values(
        inode=select(func.min(lost.c.inode))
        .where(
            and_(
                lost.c.ino == s.c.ino,
                lost.c.dev == s.c.dev,
                lost.c.kind == s.c.kind,
                ~_claimed(lost.c.inode),
                ~kept_name(lost.c.inode),
            )
        )
        .scalar_subquery()
    ),
    # A directory, or a file with one name, is one inode however often it was seen.
    "SETTLE_ONCE": update(s)
    .where(
        and_(
            s.c.inode > 0,
            or_(s.c.kind == DIR, s.c.nlink <= 1),
            exists(
                select(1).where(
                    and_(
                        other.c.inode == s.c.inode,
                        other.c.seq != s.c.seq,
                        case(
                            # A name that has been the inode's goes only before another such name: both
                            # were its names while it had several.
                            (
                                s.c.by_name == s.c.inode,
                                and_(
                                    s.c.need == 1,
                                    other.c.seq < s.c.seq,
                                    other.c.by_name == other.c.inode,
                                ),
                            ),
                            else_=or_(other.c.seq < s.c.seq, other.c.by_name == other.c.inode),
                        ),
                    )
                )
            ),
        )
    )
    .values(inode=null()),
    "SETTLE_NAME": update(s)
    .where(
        and_(
            s.c.inode.is_(None),
            s.c.by_kind == s.c.kind,
            _first_of_group(),
            ~_claimed(s.c.by_name),
            ~kept_name(s.c.by_name),
            _first_of_name(),
        )
    )
    .values(inode=s.c.by_name),
    "SETTLE_FRESH_GROUP": update(s)
    .where(and_(linked, or_(s.c.inode.is_(None), s.c.inode < 0)))
    .values(
        inode=-select(func.min(other.c.seq)).where(same_group(s, other)).scalar_subquery(),
    ),
    "SETTLE_FRESH": update(s)
    .where(and_(s.c.inode.is_(None), s.c.kind.is_not(None)))
    .values(inode=-s.c.seq),
    "SETTLE_SECONDARY": update(s)
    .where(
        and_(
            linked,
            s.c.seq > select(func.min(other.c.seq)).where(same_group(s, other)).scalar_subquery(),
        )
    )
    .values(nodes=0, need=0),
    # The same for names of one file of which the scan saw some when it had no others.
    "SETTLE_SECOND_NAME": update(s)
    .where(
        and_(
            s.c.inode > 0,
            s.c.kind != DIR,
            exists(
                select(1).where(
                    and_(
                        other.c.inode == s.c.inode,
                        other.c.seq < s.c.seq,
                        other.c.kind.is_not(None),
                    )
                )
            ),
        )
    )
    .values(nodes=0, need=0),
    "SETTLE_NAMES": update(s)
    .where(and_(s.c.parent.is_not(None), s.c.kind.is_not(None)))
    .values(names=case((s.c.by_name == s.c.inode, 0), else_=1)),
    # What keeps its bytes although it was seen under a new name or in a moved directory.
    "SETTLE_UNREAD": update(s)
    .where(
        and_(
            s.c.need == 1,
            s.c.inode > 0,
            exists(
                select(1).where(
                    and_(
                        inode.c.id == s.c.inode,
                        inode.c.state == 0,
                        s.c.state == 0,
                        inode.c.ino == s.c.ino,
                        *SAME_STAT,
                    )
                )
            ),
        )
    )
    .values(
        need=0,
        attr=null(),
        content=select(inode.c.content_id).where(inode.c.id == s.c.inode).scalar_subquery(),
    ),
    # The first name of a file was gone (need 3) when it was to be read, or was another file (need 5): the next
    # of its other names speaks for them.
    "LINK_HEIRS": select(s.c.seq, s.c.inode, func.min(other.c.seq).label("heir"))
    .select_from(
        s.join(
            other,
            and_(other.c.inode == s.c.inode, other.c.seq != s.c.seq, other.c.kind.is_not(None)),
        )
    )
    .where(and_(s.c.need.in_(_GONE_OR_REPLACED), s.c.nodes == 1))
    .group_by(s.c.seq),
    # One that speaks for itself already was seen when it was the last name; one without attributes keeps its
    # bytes (``SETTLE_UNREAD``).
    "LINK_INHERIT": update(s)
    .where(and_(s.c.seq == p("row"), s.c.nodes == 0))
    .values(nodes=1, need=case((s.c.attr.is_(None), 0), else_=1)),
    "LINK_GONE": update(s).where(and_(s.c.seq == p("row"), s.c.need == 3)).values(nodes=0),
    "LINK_APART": update(s)
    .where(and_(s.c.seq == p("row"), s.c.need == 5))
    .values(inode=-s.c.seq, names=1, need=2, nlink=1),
    "LINK_FOLLOW": update(s)
    .where(and_(s.c.inode == p("old"), s.c.kind.is_not(None)))
    .values(inode=p("new")),
    "LINK_ALONE": update(s).where(s.c.need == 5).values(need=2),
    # The scan saw other names of it before it changed: those stay what they were, this one is another file
    # until the next time.
    "LINK_AHEAD": select(s.c.inode, func.min(s.c.seq).label("first"))
    .select_from(s.join(inode, inode.c.id == s.c.inode))
    .where(
        and_(
            s.c.kind != DIR,
            s.c.nodes == 1,
            s.c.attr.is_not(None),
            ~and_(*SAME_STAT),
            named_still(s.c.inode),
        )
    )
    .group_by(s.c.inode),
    "LINK_SPLIT": update(s)
    .where(and_(s.c.inode == p("old"), s.c.kind.is_not(None)))
    .values(inode=p("new"), names=1, state=case((s.c.state == 0, RACY), else_=s.c.state)),
    "LOST_NAMES": insert(s).from_select(
        ["seq", "parent", "name", "names", "nodes", "by_name", "by_kind", "need"],
        select(
            p("next") + func.row_number().over(order_by=(lost.c.parent, lost.c.name)),
            lost.c.parent,
            lost.c.name,
            literal(1),
            literal(0),
            lost.c.inode,
            lost.c.kind,
            literal(0),
        ).where(
            ~exists(
                select(1).where(and_(other.c.parent == lost.c.parent, other.c.name == lost.c.name))
            )
        ),
    ),
    "LOST_INODES": insert(s).from_select(
        ["seq", "inode", "names", "nodes", "need"],
        select(
            p("next") + func.row_number().over(order_by=_bereft.c.inode),
            _bereft.c.inode,
            literal(0),
            literal(3),
            literal(0),
        ).where(and_(~_claimed(_bereft.c.inode), ~named_still(_bereft.c.inode))),
    ),
}

ALL = SETTLE
