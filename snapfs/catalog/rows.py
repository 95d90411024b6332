"""Roots, snapshots, tags and runs as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.errors import DamageError
from snapfs.model.snapshot import Root, Snapshot


@dataclass(frozen=True, slots=True)
class RootRow:
    """A registered root with what the catalog keeps beside it."""

    root: Root
    options: str
    inode_id: int | None
    head_id: int | None


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """Every column of a snapshot, as the journal repeats it."""

    id: int
    uid: bytes
    root_id: int
    name: str
    created_ns: int
    finished_ns: int
    utc_offset_s: int
    message: str
    pinned: int
    complete: int
    rules: str
    tree_digest: bytes
    files: int
    dirs: int
    others: int
    logical_bytes: int
    added: int
    removed: int
    modified: int
    read_bytes: int
    new_bytes: int
    stored_bytes: int

    def values(self) -> tuple[object, ...]:
        """The row in the table's order."""
        return tuple(getattr(self, name) for name in self.__slots__)


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """An entry that could not be captured whole."""

    path: bytes
    """path from the root"""
    errno: int
    """number of the system's error, 0 if none"""
    what: str
    """what went wrong"""


Columns = tuple[tuple[str, str], ...]
"""Names of columns and the names of the Python types that they may hold."""

_SNAPSHOT: Columns = tuple((one.name, str(one.type)) for one in fields(SnapshotRow))
_ROOT: Columns = (
    ("id", "int"), ("host", "str"), ("path", "bytes | NoneType"), ("label", "str"),
    ("created_ns", "int"), ("options", "str"), ("inode_id", "int | NoneType"),
    ("head_id", "int | NoneType"),
)  # fmt: skip
_TAG: Columns = (("snapshot", "int"), ("tag", "str"))
_PROBLEM: Columns = tuple((one.name, str(one.type)) for one in fields(ProblemRow))
_OWNER: Columns = (("kind", "str"), ("id", "int"), ("name", "str"))


def checked(
    catalog: Catalog, what: str, columns: Columns, statement: str, params: Mapping[str, Any]
) -> Iterator[Any]:
    """Rows of a table that people read. SQLite keeps whatever it is given, whatever a column is
    declared to hold: DamageError if that is of the wrong kind.
    """
    for row in catalog.execute(statement, dict(params)):
        for (name, kinds), value in zip(columns, row, strict=True):
            if type(value).__name__ not in kinds:
                raise _damage(catalog, f"{name} of {what} {row[0]!r} is of the wrong kind")
        yield row


def _damage(catalog: Catalog, what: str) -> DamageError:
    return DamageError(
        f"{catalog.name} is damaged ({what})",
        subject=catalog.name,
        hint="run snapfs rebuild-catalog",
    )


def roots(catalog: Catalog) -> list[RootRow]:
    """All roots, by label. DamageError if a value is of the wrong kind, also below."""
    found = checked(catalog, "root", _ROOT, sql.ROOTS, {})
    return [_root_row(catalog, row) for row in found]


def root(catalog: Catalog, root_id: int) -> RootRow | None:
    """One root, None if it is gone."""
    row = next(checked(catalog, "root", _ROOT, sql.ROOT_GET, {"root": root_id}), None)
    return None if row is None else _root_row(catalog, row)


def _root_row(catalog: Catalog, row: Sequence[Any]) -> RootRow:
    path = row[2]
    if path is not None and (not path.startswith(b"/") or b"\0" in path):
        raise _damage(catalog, f"path of root {row[0]} is none")
    return RootRow(Root(row[0], row[1], row[2], row[3], row[4]), row[5], row[6], row[7])


def put_root(catalog: Catalog, made: Root, options: str = "{}") -> None:
    """Register a root that has no snapshot yet."""
    catalog.execute(
        sql.PUT_ROOT,
        (made.id, made.host, made.path, made.label, made.created_ns, options, None, None),
    )


def snapshot_rows(catalog: Catalog, root_id: int) -> list[SnapshotRow]:
    """The chain of a root, oldest first."""
    found = checked(catalog, "snapshot", _SNAPSHOT, sql.SNAPSHOTS, {"root": root_id})
    return [SnapshotRow(*row) for row in found]


def snapshot_row(catalog: Catalog, snapshot_id: int) -> SnapshotRow | None:
    """Every column of a snapshot, None if it is gone."""
    params = {"snapshot": snapshot_id}
    row = next(checked(catalog, "snapshot", _SNAPSHOT, sql.SNAPSHOT_GET, params), None)
    return None if row is None else SnapshotRow(*row)


def snapshots(catalog: Catalog, root_id: int) -> tuple[Snapshot, ...]:
    """The chain of a root as the command line speaks of it, oldest first."""
    tags: dict[int, list[str]] = {}
    for snapshot_id, tag in checked(catalog, "tag of", _TAG, sql.TAGS, {"root": root_id}):
        tags.setdefault(snapshot_id, []).append(tag)
    return tuple(
        to_snapshot(row, tuple(tags.get(row.id, ())), position)
        for position, row in enumerate(snapshot_rows(catalog, root_id))
    )


def to_snapshot(row: SnapshotRow, tags: tuple[str, ...], position: int) -> Snapshot:
    """The row as the command line speaks of it."""
    return Snapshot(
        id=row.id,
        root_id=row.root_id,
        name=row.name,
        created_ns=row.created_ns,
        finished_ns=row.finished_ns,
        utc_offset_s=row.utc_offset_s,
        message=row.message,
        tags=tuple(sorted(tags)),
        pinned=bool(row.pinned),
        complete=bool(row.complete),
        files=row.files,
        dirs=row.dirs,
        others=row.others,
        total_bytes=row.logical_bytes,
        stored_bytes=row.stored_bytes,
        position=position,
    )


def snapshot(catalog: Catalog, snapshot_id: int) -> Snapshot | None:
    """One snapshot with its place in the chain."""
    row = snapshot_row(catalog, snapshot_id)
    if row is None:
        return None
    for found in snapshots(catalog, row.root_id):
        if found.id == snapshot_id:
            return found
    return None


def previous_id(catalog: Catalog, root_id: int, snapshot_id: int) -> int | None:
    """The next older snapshot of the chain."""
    found = catalog.value(sql.SNAPSHOT_BEFORE, {"root": root_id, "snapshot": snapshot_id})
    return None if found is None else int(found)


def next_id(catalog: Catalog, root_id: int, snapshot_id: int) -> int | None:
    """The next newer snapshot of the chain."""
    found = catalog.value(sql.SNAPSHOT_AFTER, {"root": root_id, "snapshot": snapshot_id})
    return None if found is None else int(found)


def problems(catalog: Catalog, snapshot_id: int) -> tuple[ProblemRow, ...]:
    """What a snapshot could not capture whole."""
    params = {"snapshot": snapshot_id}
    found = checked(catalog, "problem of", _PROBLEM, sql.PROBLEMS, params)
    return tuple(ProblemRow(*row) for row in found)


def owners(catalog: Catalog, root_id: int) -> tuple[dict[int, str], dict[int, str]]:
    """Names of user and group ids as they were where the root was captured."""
    users: dict[int, str] = {}
    groups: dict[int, str] = {}
    for kind, number, name in checked(catalog, "owner of", _OWNER, sql.OWNERS, {"root": root_id}):
        (users if kind == "uid" else groups)[number] = name
    return users, groups


def drop_snapshot(catalog: Catalog, snapshot_id: int) -> None:
    """Remove the row of a snapshot whose diffs have been folded."""
    for statement in (sql.TAGS_DELETE, sql.PROBLEMS_DELETE, sql.SNAPSHOT_DELETE):
        catalog.execute(statement, {"snapshot": snapshot_id})
