"""The views that people query with ``snapfs sql`` (``snapfs-sql.7``), each as one SELECT.

Their names and columns are a contract; the tables below are not. No view has a WITH: what may read a
table is told by the name of what it stands in, and a WITH has names that a query could take as well.
SQLite does not tell it where of a table nothing but the row's number is asked for, which is why some
conditions (`asked`) name another column and are always true.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, case, exists, func, literal, literal_column, or_, select, union

from snapfs.catalog import statements_changes, statements_entries
from snapfs.catalog.dialect import as_hex, as_moment, as_text, with_blanks
from snapfs.catalog.schema import (
    block,
    content_block,
    inode,
    inode_diff,
    pack,
    root,
    run,
    segment,
    snapshot,
    snapshot_tag,
)
from snapfs.catalog.statements_entries import asked
from snapfs.catalog.statements_reclaim import share
from snapfs.model.moment import NS


def _seconds(ns: Any) -> Any:
    """Whole seconds; SQL cuts towards zero."""
    return (ns - (ns % NS + NS) % NS) // NS


def _roots() -> Any:
    s, head = snapshot.alias("s"), snapshot.alias("head")
    return select(
        root.c.label.label("root"),
        as_text(root.c.path).label("path"),
        root.c.host.label("host"),
        select(func.count()).where(s.c.root_id == root.c.id).scalar_subquery().label("snapshots"),
        select(head.c.name).where(head.c.id == root.c.head_id).scalar_subquery().label("latest"),
        as_moment(_seconds(root.c.created_ns)).label("created"),
        root.c.created_ns.label("created_ns"),
        root.c.id.label("id"),
    ).where(asked(root.c.label))


def _snapshots() -> Any:
    s, tags = snapshot.alias("s"), snapshot_tag.alias("t")
    sorted_tags = (
        select(tags.c.tag)
        .where(tags.c.snapshot_id == s.c.id)
        .order_by(tags.c.tag)
        .correlate(s)
        .subquery("tags")
    )
    return select(
        root.c.label.label("root"),
        s.c.name.label("name"),
        as_moment(_seconds(s.c.created_ns)).label("created"),
        s.c.message.label("message"),
        func.coalesce(select(with_blanks(sorted_tags.c.tag)).scalar_subquery(), literal("")).label(
            "tags"
        ),
        s.c.pinned.label("pinned"),
        s.c.complete.label("complete"),
        s.c.files.label("files"),
        s.c.dirs.label("dirs"),
        s.c.others.label("others"),
        s.c.logical_bytes.label("size"),
        s.c.stored_bytes.label("stored"),
        s.c.added.label("added"),
        s.c.modified.label("modified"),
        s.c.removed.label("removed"),
        s.c.id.label("id"),
        s.c.created_ns.label("created_ns"),
        s.c.finished_ns.label("finished_ns"),
        s.c.utc_offset_s.label("utc_offset_s"),
        as_hex(s.c.tree_digest).label("tree_digest"),
    ).select_from(root.join(s, and_(s.c.root_id == root.c.id, asked(root.c.label))))


def _usage() -> Any:
    s, older, before = snapshot.alias("s"), snapshot.alias("older"), snapshot.alias("before")
    previous = (
        select(before.c.logical_bytes)
        .where(and_(before.c.root_id == s.c.root_id, before.c.id < s.c.id))
        .order_by(before.c.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    total = (
        select(func.sum(older.c.stored_bytes))
        .where(and_(older.c.root_id == s.c.root_id, older.c.id <= s.c.id))
        .scalar_subquery()
    )
    return select(
        root.c.label.label("root"),
        s.c.name.label("snapshot"),
        s.c.files.label("files"),
        s.c.logical_bytes.label("logical"),
        (s.c.logical_bytes - func.coalesce(previous, 0)).label("grown"),
        s.c.read_bytes.label("read"),
        s.c.new_bytes.label("new"),
        s.c.stored_bytes.label("stored"),
        total.label("stored_so_far"),
        s.c.id.label("snapshot_id"),
    ).select_from(root.join(s, and_(s.c.root_id == root.c.id, asked(root.c.label))))


def _blocks() -> Any:
    b, g, k = block.alias("b"), segment.alias("g"), pack.alias("k")
    m = content_block.alias("m")
    parts = select(m.c.content_id).where(m.c.block_id == b.c.id).correlate(b)
    users: list[Any] = []
    for table in (inode, inode_diff):
        for whole in (True, False):
            t = table.alias(f"user{len(users)}")
            id_ = t.c.id if table is inode else t.c.inode_id
            uses = t.c.content_id == b.c.id if whole else t.c.content_id.in_(parts)
            users.append(select(id_).where(uses).correlate(b))
    of_one = or_(
        *(exists(select(1).where(t.c.content_id == b.c.id)) for t in
          (inode.alias("alone"), inode_diff.alias("alone_diff")))
    )  # fmt: skip
    return select(
        as_hex(b.c.digest).label("digest"),
        b.c.length.label("size"),
        share(b, g).label("stored"),
        k.c.name.label("pack"),
        (
            select(func.count()).where(m.c.block_id == b.c.id).scalar_subquery()
            + case((of_one, 1), else_=0)
        ).label("contents"),
        select(func.count())
        .select_from(union(*users).subquery("users"))
        .scalar_subquery()
        .label("files"),
        b.c.id.label("id"),
    ).select_from(
        b.join(g, and_(g.c.id == b.c.segment_id, asked(g.c.stored))).outerjoin(
            k, and_(k.c.id == g.c.pack_id, asked(k.c.name))
        )
    )


def _runs() -> Any:
    return select(
        as_moment(_seconds(run.c.started_ns)).label("started"),
        ((run.c.finished_ns - run.c.started_ns) / literal_column(f"{NS}.0")).label("seconds"),
        run.c.exit.label("exit"),
        run.c.uid.label("uid"),
        root.c.label.label("root"),
        run.c.command.label("command"),
        run.c.summary.label("summary"),
        run.c.started_ns.label("started_ns"),
        run.c.finished_ns.label("finished_ns"),
        run.c.id.label("id"),
    ).select_from(run.outerjoin(root, and_(root.c.id == run.c.root_id, asked(root.c.label))))


ALL: dict[str, Any] = {
    **statements_entries.ALL,
    **statements_changes.ALL,
    "VIEW_SNAPSHOTS": _snapshots(),
    "VIEW_BLOCKS": _blocks(),
    "VIEW_USAGE": _usage(),
    "VIEW_ROOTS": _roots(),
    "VIEW_RUNS": _runs(),
}
