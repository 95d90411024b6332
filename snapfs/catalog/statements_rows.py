"""Statements on whole rows: meta, counters, roots, snapshots, tags, runs."""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from snapfs.catalog import schema
from snapfs.catalog.schema import counter, meta, owner, problem, root, run, snapshot, snapshot_tag


def p(name: str) -> Any:
    """A parameter."""
    return bindparam(name)


def put(table: Any) -> Any:
    """INSERT of every column, in the table's order, each a parameter of the column's name."""
    return insert(table).values({column.name: bindparam(column.name) for column in table.c})


def put_new(table: Any) -> Any:
    """As `put`, doing nothing where the key is there already."""
    return (
        upsert(table)
        .values({column.name: bindparam(column.name) for column in table.c})
        .on_conflict_do_nothing()
    )


_put_owner = upsert(owner).values({column.name: bindparam(column.name) for column in owner.c})
_put_block = upsert(schema.block).values(
    {column.name: bindparam(column.name) for column in schema.block.c}
)
SNAPSHOTS = select(*snapshot.c).order_by(snapshot.c.id)

ALL: dict[str, Any] = {
    "META_DROP": delete(meta).where(meta.c.key == p("key")),
    "META_GET": select(meta.c.value).where(meta.c.key == p("key")),
    "META_SET": upsert(meta)
    .values(key=p("key"), value=p("value"))
    .on_conflict_do_update(index_elements=["key"], set_={"value": bindparam("value")}),
    "COUNTER_TAKE": update(counter)
    .where(counter.c.name == p("counter"))
    .values(next=counter.c.next + p("amount"))
    .returning(counter.c.next),
    "COUNTER_SET": upsert(counter)
    .values(name=p("counter"), next=p("value"))
    .on_conflict_do_update(
        index_elements=["name"], set_={"next": func.max(counter.c.next, bindparam("value"))}
    ),
    "COUNTERS": select(counter.c.name, counter.c.next),
    "ROOTS": select(*root.c).order_by(root.c.label),
    "ROOT_GET": select(*root.c).where(root.c.id == p("root")),
    "ROOT_SET_HEAD": update(root)
    .where(root.c.id == p("root"))
    .values(head_id=p("head"), inode_id=p("inode")),
    "ROOT_SET_LABEL": update(root).where(root.c.id == p("root")).values(label=p("new_label")),
    "ROOT_SET_PATH": update(root)
    .where(root.c.id == p("root"))
    .values(path=p("new_path"), host=p("new_host")),
    "ROOT_DELETE": delete(root).where(root.c.id == p("root")),
    "OWNERS": select(owner.c.kind, owner.c.id, owner.c.name).where(owner.c.root_id == p("root")),
    "OWNERS_DELETE": delete(owner).where(owner.c.root_id == p("root")),
    "OWNER_PUT": _put_owner.on_conflict_do_update(
        index_elements=["root_id", "kind", "id"], set_={"name": _put_owner.excluded.name}
    ),
    "SNAPSHOTS": SNAPSHOTS.where(snapshot.c.root_id == p("root")),
    "SNAPSHOT_GET": select(*snapshot.c).where(snapshot.c.id == p("snapshot")),
    "SNAPSHOT_BEFORE": select(func.max(snapshot.c.id)).where(
        and_(snapshot.c.root_id == p("root"), snapshot.c.id < p("snapshot"))
    ),
    "SNAPSHOT_AFTER": select(func.min(snapshot.c.id)).where(
        and_(snapshot.c.root_id == p("root"), snapshot.c.id > p("snapshot"))
    ),
    "SNAPSHOT_RENAME": update(snapshot)
    .where(snapshot.c.id == p("snapshot"))
    .values(name=p("new_name"), message=p("new_message")),
    "SNAPSHOT_PIN": update(snapshot)
    .where(snapshot.c.id == p("snapshot"))
    .values(pinned=p("new_pinned")),
    "SNAPSHOT_DELETE": delete(snapshot).where(snapshot.c.id == p("snapshot")),
    "TAGS": select(snapshot_tag.c.snapshot_id, snapshot_tag.c.tag)
    .select_from(snapshot_tag.join(snapshot, snapshot.c.id == snapshot_tag.c.snapshot_id))
    .where(snapshot.c.root_id == p("root"))
    .order_by(snapshot_tag.c.snapshot_id, snapshot_tag.c.tag),
    "TAG_PUT": put_new(snapshot_tag),
    "TAGS_DELETE": delete(snapshot_tag).where(snapshot_tag.c.snapshot_id == p("snapshot")),
    "PROBLEMS": select(problem.c.path, problem.c.errno, problem.c.what)
    .where(problem.c.snapshot_id == p("snapshot"))
    .order_by(problem.c.seq),
    "PROBLEMS_DELETE": delete(problem).where(problem.c.snapshot_id == p("snapshot")),
    "RUN_END": update(run)
    .where(run.c.id == p("run"))
    .values(
        root_id=p("root"),
        finished_ns=p("new_finished_ns"),
        exit=p("new_exit"),
        summary=p("new_summary"),
    ),
    "RUNS": select(*run.c)
    .where(
        and_(
            or_(p("root").is_(None), run.c.root_id == p("root")),
            or_(p("failed") == 0, run.c.exit.is_(None), run.c.exit != 0),
        )
    )
    .order_by(run.c.id.desc())
    .limit(p("most")),
    "TOTALS": select(
        select(func.count()).select_from(root).scalar_subquery(),
        select(func.count()).select_from(snapshot).scalar_subquery(),
        select(func.coalesce(func.sum(snapshot.c.logical_bytes), 0)).scalar_subquery(),
        select(func.count()).select_from(schema.pack).scalar_subquery(),
        select(func.coalesce(func.sum(schema.pack.c.size), 0)).scalar_subquery(),
        select(func.coalesce(func.sum(schema.block.c.length), 0)).scalar_subquery(),
        select(func.count()).select_from(schema.block).scalar_subquery(),
    ),
    **{f"PUT_{table.name.upper()}": put(table) for table in schema.metadata.sorted_tables},
    **{
        f"DUMP_{table.name.upper()}": select(*table.c).order_by(*table.primary_key.columns)
        for table in schema.metadata.sorted_tables
    },
    **{
        f"PUT_NEW_{table.name.upper()}": put_new(table)
        for table in (
            schema.attr,
            schema.xattr,
            schema.pack,
            schema.segment,
            schema.block,
            schema.content,
            schema.content_block,
        )
    },
    "PUT_PLACED_BLOCK": _put_block.on_conflict_do_update(
        index_elements=["id"],
        set_={
            "digest": func.coalesce(_put_block.excluded.digest, schema.block.c.digest),
            "segment_id": _put_block.excluded.segment_id,
            "offset": _put_block.excluded.offset,
        },
    ),
}
