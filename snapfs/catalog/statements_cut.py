"""Statements that take paths out of all snapshots: names, the inodes that lose their last one, texts."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    and_,
    case,
    delete,
    exists,
    func,
    insert,
    null,
    or_,
    select,
    tuple_,
    union,
    union_all,
    update,
)
from sqlalchemy.dialects.sqlite import insert as upsert

from snapfs.catalog.cut_schema import (
    cut_content,
    cut_directory,
    cut_inode,
    cut_name,
    cut_row,
    cut_value,
    cut_word,
)
from snapfs.catalog.schema import (
    attr,
    dirent,
    dirent_diff,
    inode,
    inode_diff,
    orphan,
    problem,
    run,
    snapshot,
    xattr,
)
from snapfs.catalog.statements_reclaim import is_named
from snapfs.catalog.statements_rows import p, put, put_new
from snapfs.model.kinds import Kind

DIR = int(Kind.DIR)
_VALUE = ("kind", "size", "rdev", "target", "content_id")

_later = dirent_diff.alias("later_name")
_dir = inode.alias("directory")
_old_dir = inode_diff.alias("old_directory")
_fresh = select(cut_name.c.parent, cut_name.c.name).where(cut_name.c.seq > p("low"))
_gone = select(cut_inode.c.id).where(cut_inode.c.kept == 0)
_named = or_(
    exists(select(1).where(dirent.c.inode_id == cut_name.c.inode)),
    exists(select(1).where(dirent_diff.c.inode_id == cut_name.c.inode)),
)
_words = cut_word.alias("words")
_births = union_all(
    select(inode.c.born).where(inode.c.id == p("inode")),
    select(inode_diff.c.born).where(inode_diff.c.inode_id == p("inode")),
).subquery()


def _orphans(source: Any, id_: Any) -> Any:
    return (
        upsert(orphan)
        .from_select(
            ["content_id"],
            select(source.c.content_id)
            .where(and_(source.c.content_id.is_not(None), id_.in_(_gone)))
            .distinct(),
        )
        .on_conflict_do_nothing()
    )


def _contents(source: Any) -> Any:
    return upsert(cut_content).from_select(["id"], source).on_conflict_do_nothing()


def _rows_of(inodes: Any) -> Any:
    """Inode, snapshot (None: the newest state), kind and size of every row."""
    return union_all(
        select(
            inode_diff.c.inode_id.label("inode"),
            inode_diff.c.snapshot_id.label("at"),
            inode_diff.c.kind,
            inode_diff.c.size,
        ).where(inode_diff.c.inode_id.in_(inodes)),
        select(inode.c.id, null(), inode.c.kind, inode.c.size).where(inode.c.id.in_(inodes)),
    ).order_by("inode")


NAMES: dict[str, Any] = {
    "BIRTH": select(func.min(_births.c.born)),
    # Every row of every name in a directory: old ones and (None) that of the newest state.
    "CUT_ROWS_OF_NAMES": union_all(
        select(dirent_diff.c.name, dirent_diff.c.snapshot_id, dirent_diff.c.inode_id).where(
            dirent_diff.c.parent_id == p("parent")
        ),
        select(dirent.c.name, null(), dirent.c.inode_id).where(dirent.c.parent_id == p("parent")),
    ).order_by("name"),
    "CUT_ROWS_OF_NAME": union_all(
        select(dirent_diff.c.name, dirent_diff.c.snapshot_id, dirent_diff.c.inode_id).where(
            and_(dirent_diff.c.parent_id == p("parent"), dirent_diff.c.name == p("name"))
        ),
        select(dirent.c.name, null(), dirent.c.inode_id).where(
            and_(dirent.c.parent_id == p("parent"), dirent.c.name == p("name"))
        ),
    ),
    "CUT_PUT_NAME": put(cut_name),
    "CUT_PUT_ROW": put(cut_row),
    "CUT_DIRECTORIES": select(cut_directory.c.inode, cut_directory.c.low, cut_directory.c.high)
    .where(cut_directory.c.seq > p("low"))
    .order_by(cut_directory.c.inode, cut_directory.c.low),
    "CUT_NEXT_DIRECTORIES": insert(cut_directory).from_select(
        ["seq", "inode", "low", "high"],
        select(cut_name.c.seq, cut_name.c.inode, cut_name.c.low, cut_name.c.high)
        .where(
            and_(
                cut_name.c.seq > p("low"),
                or_(
                    exists(
                        select(1).where(and_(_dir.c.id == cut_name.c.inode, _dir.c.kind == DIR))
                    ),
                    exists(
                        select(1).where(
                            and_(_old_dir.c.inode_id == cut_name.c.inode, _old_dir.c.kind == DIR)
                        )
                    ),
                ),
            )
        )
        .order_by(cut_name.c.seq),
    ),
    "CUT_DROP_NAMES": delete(dirent).where(tuple_(dirent.c.parent_id, dirent.c.name).in_(_fresh)),
    "CUT_DROP_OLD_NAMES": delete(dirent_diff).where(
        tuple_(dirent_diff.c.parent_id, dirent_diff.c.name).in_(_fresh)
    ),
    "CUT_PUT_NAMES": insert(dirent).from_select(
        ["parent_id", "name", "inode_id"],
        select(cut_row.c.parent, cut_row.c.name, cut_row.c.inode).where(
            cut_row.c.snapshot.is_(None)
        ),
    ),
    "CUT_PUT_OLD_NAMES": insert(dirent_diff).from_select(
        ["parent_id", "name", "snapshot_id", "inode_id"],
        select(cut_row.c.parent, cut_row.c.name, cut_row.c.snapshot, cut_row.c.inode).where(
            cut_row.c.snapshot.is_not(None)
        ),
    ),
    # That a name was nothing once and is nothing since needs no row: deleted snapshots leave such.
    "CUT_IDLE_NAMES": delete(dirent_diff).where(
        and_(
            dirent_diff.c.inode_id.is_(None),
            ~exists(
                select(1).where(
                    and_(
                        _later.c.parent_id == dirent_diff.c.parent_id,
                        _later.c.name == dirent_diff.c.name,
                        _later.c.inode_id.is_not(None),
                        _later.c.snapshot_id > dirent_diff.c.snapshot_id,
                    )
                )
            ),
            ~exists(
                select(1).where(
                    and_(
                        dirent.c.parent_id == dirent_diff.c.parent_id,
                        dirent.c.name == dirent_diff.c.name,
                    )
                )
            ),
        )
    ),
}

INODES: dict[str, Any] = {
    "CUT_INODES": insert(cut_inode).from_select(
        ["id", "kept"],
        select(cut_name.c.inode, case((_named, 1), else_=0)).distinct(),
    ),
    "CUT_SPANS_GONE": select(cut_name.c.inode, cut_name.c.low, cut_name.c.high)
    .where(cut_name.c.inode.in_(_gone))
    .order_by(cut_name.c.inode),
    "CUT_ROWS_GONE": _rows_of(_gone),
    "CUT_KEPT": select(cut_inode.c.id)
    .where(and_(cut_inode.c.kept == 1, cut_inode.c.id > p("after")))
    .order_by(cut_inode.c.id)
    .limit(p("most")),
    "CUT_SPANS_OF": select(cut_name.c.low, cut_name.c.high).where(cut_name.c.inode == p("inode")),
    "CUT_ROWS_OF": union_all(
        select(inode_diff.c.snapshot_id, *(inode_diff.c[name] for name in _VALUE)).where(
            inode_diff.c.inode_id == p("inode")
        ),
        select(null(), *(inode.c[name] for name in _VALUE)).where(inode.c.id == p("inode")),
    ),
    "CUT_ENTRIES": select(func.count()).select_from(
        select(cut_name.c.parent, cut_name.c.name).distinct().subquery()
    ),
    "CUT_ORPHANS": _orphans(inode, inode.c.id),
    "CUT_OLD_ORPHANS": _orphans(inode_diff, inode_diff.c.inode_id),
    "CUT_DROP_INODES": delete(inode).where(inode.c.id.in_(_gone)),
    "CUT_DROP_OLD_INODES": delete(inode_diff).where(inode_diff.c.inode_id.in_(_gone)),
    "CUT_ORPHAN_OF": upsert(orphan)
    .from_select(
        ["content_id"],
        union(
            select(inode.c.content_id).where(
                and_(inode.c.id == p("inode"), inode.c.content_id.is_not(None))
            ),
            select(inode_diff.c.content_id).where(
                and_(inode_diff.c.inode_id == p("inode"), inode_diff.c.content_id.is_not(None))
            ),
        ),
    )
    .on_conflict_do_nothing(),
    "CUT_DROP_INODE": delete(inode).where(inode.c.id == p("inode")),
    "CUT_DROP_OLD_INODE": delete(inode_diff).where(
        and_(inode_diff.c.inode_id == p("inode"), inode_diff.c.snapshot_id == p("at"))
    ),
    "CUT_BORN": update(inode).where(inode.c.id == p("inode")).values(born=p("new_born")),
    "CUT_OLD_BORN": update(inode_diff)
    .where(
        and_(
            inode_diff.c.inode_id == p("inode"),
            inode_diff.c.snapshot_id > p("low"),
            inode_diff.c.snapshot_id <= p("high"),
        )
    )
    .values(born=p("new_born")),
    "CUT_UNSURE": update(inode).where(inode.c.id == p("inode")).values(fingerprint=null()),
    "CUT_OLD_UNSURE": update(inode_diff)
    .where(
        and_(
            inode_diff.c.inode_id == p("inode"),
            inode_diff.c.snapshot_id > p("low"),
            inode_diff.c.snapshot_id <= p("high"),
        )
    )
    .values(fingerprint=null()),
    "CUT_PUT_VALUE": put(cut_value),
    "CUT_CONTENTS_GONE": _contents(
        union(
            select(inode.c.content_id).where(
                and_(inode.c.content_id.is_not(None), inode.c.id.in_(_gone))
            ),
            select(inode_diff.c.content_id).where(
                and_(inode_diff.c.content_id.is_not(None), inode_diff.c.inode_id.in_(_gone))
            ),
        )
    ),
    "CUT_CONTENTS_KEPT": _contents(
        select(cut_value.c.content_id).where(cut_value.c.content_id.is_not(None)).distinct()
    ),
    "CUT_SHARED": select(func.count()).select_from(cut_content).where(is_named(cut_content.c.id)),
    "CUT_COUNTS": update(snapshot)
    .where(snapshot.c.id == p("snapshot"))
    .values(
        files=snapshot.c.files - p("gone_files"),
        dirs=snapshot.c.dirs - p("gone_dirs"),
        others=snapshot.c.others - p("gone_others"),
        logical_bytes=snapshot.c.logical_bytes - p("gone_bytes"),
    ),
    "CUT_ATTR": delete(attr).where(
        attr.c.id.not_in(union(select(inode.c.attr_id), select(inode_diff.c.attr_id)))
    ),
    "CUT_XATTR": delete(xattr).where(xattr.c.id.not_in(select(attr.c.xattr_id))),
}

TEXTS: dict[str, Any] = {
    "CUT_PUT_WORD": put_new(cut_word),
    "CUT_WORDS": select(cut_word.c.word).where(
        and_(
            cut_word.c.word.in_(select(cut_name.c.name)),
            cut_word.c.word.not_in(
                union(
                    select(dirent.c.name).where(dirent.c.name.in_(select(_words.c.word))),
                    select(dirent_diff.c.name).where(dirent_diff.c.name.in_(select(_words.c.word))),
                )
            ),
        )
    ),
    "CUT_NAMES": select(cut_name.c.name).distinct(),
    "CUT_NAMED": union_all(
        select(dirent.c.inode_id).where(dirent.c.name == p("name")),
        select(dirent_diff.c.inode_id).where(dirent_diff.c.name == p("name")),
    ).limit(1),
    "CUT_RUNS": select(run.c.id, run.c.command, run.c.summary).order_by(run.c.id),
    "CUT_RUN": update(run)
    .where(run.c.id == p("run"))
    .values(command=p("new_command"), summary=p("new_summary")),
    "CUT_PROBLEMS": select(problem.c.snapshot_id, problem.c.seq, problem.c.path)
    .select_from(problem.join(snapshot, snapshot.c.id == problem.c.snapshot_id))
    .where(snapshot.c.root_id == p("root"))
    .order_by(problem.c.snapshot_id, problem.c.seq),
    "CUT_PROBLEM": delete(problem).where(
        and_(problem.c.snapshot_id == p("snapshot"), problem.c.seq == p("seq"))
    ),
    "CUT_COMPLETE": update(snapshot)
    .where(
        and_(
            snapshot.c.id == p("snapshot"),
            ~exists(
                select(1).where(
                    and_(
                        problem.c.snapshot_id == snapshot.c.id,
                        problem.c.what != "changed while read",
                    )
                )
            ),
        )
    )
    .values(complete=1),
    "CUT_TEXT": update(snapshot)
    .where(snapshot.c.id == p("snapshot"))
    .values(message=p("new_message"), rules=p("new_rules")),
}

ALL: dict[str, Any] = {
    **NAMES,
    **INODES,
    **TEXTS,
    **{
        f"CLEAR_{table.name.upper()}": delete(table)
        for table in (
            cut_directory,
            cut_name,
            cut_row,
            cut_inode,
            cut_value,
            cut_content,
            cut_word,
        )
    },
}
