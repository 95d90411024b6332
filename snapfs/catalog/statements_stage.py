"""Statements that fill the stage and read it back."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    literal,
    literal_column,
    null,
    select,
    union,
    update,
)

from snapfs.catalog import stage_schema
from snapfs.catalog.schema import inode
from snapfs.catalog.stage_schema import (
    lost,
    scan_path,
    stage_attr,
    stage_block,
    stage_content,
    stage_file,
    stage_pack,
    stage_problem,
    stage_segment,
)
from snapfs.catalog.staged import (
    DIR,
    FILE,
    UNREAD,
    linked,
    named_still,
    other,
    s,
    same_group,
)
from snapfs.catalog.statements_rows import p, put_new

# --- filling and reading the stage ------------------------------------------------------------

_scan_columns = (
    "seq",
    "above",
    "parent",
    "name",
    "inode",
    "names",
    "nodes",
    "by_name",
    "by_kind",
    "post",
    "low",
    "high",
    "need",
    "kind",
    "attr",
    "size",
    "mtime_s",
    "mtime_nsec",
    "rdev",
    "target",
    "content",
    "state",
    "tree_digest",
    "ctime_s",
    "ctime_nsec",
    "dev",
    "ino",
    "nlink",
    "fingerprint",
)

_file_columns = (
    "seq",
    "above",
    "parent",
    "name",
    "inode",
    "attr",
    "size",
    "mtime_s",
    "mtime_nsec",
    "state",
    "ctime_s",
    "ctime_nsec",
    "dev",
    "ino",
    "nlink",
)
_read_values = (
    "attr",
    "size",
    "mtime_s",
    "mtime_nsec",
    "target",
    "content",
    "digest",
    "state",
    "ctime_s",
    "ctime_nsec",
)

FILL: dict[str, Any] = {
    "STAGE_SCAN": insert(s).values({name: bindparam(name) for name in _scan_columns}),
    "STAGE_FILE": insert(s).values(
        {name: bindparam(name) for name in _file_columns}
        | {
            "names": literal_column("1"),
            "nodes": literal_column("1"),
            "need": literal_column("1"),
            "kind": literal_column(str(FILE)),
            "rdev": literal_column("0"),
        }
    ),
    # The same, read already and encoded for the journal.
    "STAGE_FILE_READ": insert(s).values(
        {name: bindparam(name) for name in (*_file_columns, "digest")}
        | {
            "names": literal_column("1"),
            "nodes": literal_column("1"),
            "need": literal_column("4"),
            "kind": literal_column(str(FILE)),
            "rdev": literal_column("0"),
        }
    ),
    "STAGE_REPLAY": insert(s).values(
        {"need": 0}
        | {
            name: bindparam(name)
            for name in (
                "seq",
                "parent",
                "name",
                "inode",
                "names",
                "nodes",
                "by_name",
                "by_kind",
                "kind",
                "attr",
                "size",
                "mtime_s",
                "mtime_nsec",
                "rdev",
                "target",
                "content",
                "state",
                "tree_digest",
                "ctime_s",
                "ctime_nsec",
                "dev",
                "ino",
                "nlink",
                "fingerprint",
            )
        }
    ),
    **{
        f"STAGE_PUT_{table.name.removeprefix('stage_').upper()}": put_new(table)
        for table in (
            lost,
            scan_path,
            stage_attr,
            stage_pack,
            stage_segment,
            stage_block,
            stage_content,
            stage_file,
            stage_problem,
        )
    },
    **{
        f"STAGE_CLEAR_{table.name.upper()}": delete(table)
        for table in stage_schema.stage_metadata.sorted_tables
    },
    "STAGE_SET_READ": update(s).where(s.c.seq == p("row")).values(digest=p("new_digest"), need=2),
    "STAGE_SET_READ_ALL": update(s)
    .where(s.c.seq == p("row"))
    .values(
        digest=p("new_digest"),
        need=2,
        # What the walk took for racy stays so, however quiet it was when it was read.
        state=func.coalesce(p("new_state"), s.c.state),
        attr=p("new_attr"),
        size=p("new_size"),
        mtime_s=p("new_mtime_s"),
        mtime_nsec=p("new_mtime_nsec"),
        ctime_s=p("new_ctime_s"),
        ctime_nsec=p("new_ctime_nsec"),
    ),
    "STAGE_SET_DIGEST": update(s)
    .where(s.c.seq == p("row"))
    .values(tree_digest=p("new_digest"), fingerprint=p("new_fingerprint")),
    "STAGE_SET_UNSOUND": update(s).where(s.c.seq == p("row")).values(fingerprint=null()),
    "STAGE_SET_UNREAD": update(s)
    .where(s.c.seq == p("row"))
    .values(state=UNREAD, fingerprint=null()),
    "STAGE_SET_REPLACED": update(s).where(s.c.seq == p("row")).values(need=5),
    "STAGE_SET_VANISHED": update(s).where(s.c.seq == p("row")).values(need=3, kind=null()),
    # A file that vanished before it was read: its inode goes, and its name if the head had it.
    "VANISHED_INODES": insert(s).from_select(
        ["seq", "inode", "names", "nodes", "need"],
        select(
            p("next") + func.row_number().over(order_by=s.c.inode),
            s.c.inode,
            literal(0),
            literal(3),
            literal(0),
        )
        .where(and_(s.c.need == 3, s.c.nodes == 1, s.c.inode > 0, ~named_still(s.c.inode)))
        .group_by(s.c.inode),
    ),
    "VANISHED_NAMES": update(s)
    .where(s.c.need == 3)
    .values(inode=null(), nodes=0, names=case((s.c.by_name.is_(None), 0), else_=1), need=0),
    # Not every child was read for certain: the directory has to be looked into next time.
    "UNSURE_FINGERPRINTS": update(s)
    .where(
        and_(
            s.c.kind == DIR,
            s.c.fingerprint.is_not(None),
            exists(
                select(1).where(
                    and_(
                        other.c.parent == case((s.c.inode > 0, s.c.inode), else_=-s.c.seq),
                        other.c.state != 0,
                        other.c.kind != DIR,
                    )
                )
            ),
        )
    )
    .values(fingerprint=null()),
    # What was read through one name of a file holds for its other names.
    "SPREAD_LINKS": update(s)
    .where(
        and_(
            s.c.nodes == 0, s.c.kind.is_not(None), linked, same_group(s, other), other.c.nodes == 1
        )
    )
    .values({name: other.c[name] for name in _read_values}),
    # The same where the head knows the file, whatever link counts the scan saw.
    "SPREAD_NAMES": update(s)
    .where(
        and_(
            s.c.nodes == 0,
            s.c.kind.is_not(None),
            s.c.kind != DIR,
            other.c.inode == s.c.inode,
            other.c.kind == s.c.kind,
            other.c.nodes == 1,
        )
    )
    .values({name: other.c[name] for name in _read_values}),
    "STAGE_ROOT": select(s.c.seq).where(and_(s.c.parent.is_(None), s.c.kind == DIR)),
    "STAGE_ATTR": select(stage_attr.c.mode, stage_attr.c.uid, stage_attr.c.gid).where(
        stage_attr.c.id == p("attr")
    ),
    "STAGE_ATTRS_NEW": select(func.coalesce(func.max(stage_attr.c.id), 0)).where(
        stage_attr.c.final.is_(None)
    ),
    "STAGE_PROBLEMS": select(
        stage_problem.c.seq, stage_problem.c.path, stage_problem.c.errno, stage_problem.c.what
    ).order_by(stage_problem.c.seq),
    "STAGE_LAST": select(func.coalesce(func.max(s.c.seq), 0)),
    "STAGE_OWNERS": union(
        select(literal("uid"), stage_attr.c.uid), select(literal("gid"), stage_attr.c.gid)
    ),
    "STAGE_DIRS": select(
        s.c.seq, s.c.inode, s.c.low, s.c.high, s.c.fingerprint, inode.c.tree_digest
    )
    .select_from(s.outerjoin(inode, inode.c.id == s.c.inode))
    .where(and_(s.c.kind == DIR, s.c.tree_digest.is_(None)))
    .order_by(s.c.post),
    "STAGE_TO_READ": select(
        s.c.seq,
        scan_path.c.path,
        s.c.name,
        s.c.size,
        s.c.mtime_s,
        s.c.mtime_nsec,
        s.c.ctime_s,
        s.c.ctime_nsec,
        s.c.dev,
        s.c.ino,
        s.c.nlink,
        s.c.attr,
    )
    .select_from(s.join(scan_path, scan_path.c.key == s.c.above))
    .where(
        and_(
            s.c.need == 1,
            s.c.kind == FILE,
            s.c.seq > p("after"),
        )
    )
    .order_by(s.c.seq)
    .limit(p("most")),
}

ALL = FILL
