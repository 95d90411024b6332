"""Applying a journal record to a catalog: the same code finishes a killed run and rebuilds.

Every operation is written here once as what it does to the catalog; the operation itself may run other
statements, as long as the outcome is the same.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Self

from snapfs.blocks.pack import SegmentPlace
from snapfs.blocks.packreader import PackReader
from snapfs.blocks.segment import split_digests
from snapfs.catalog import compiled as sql
from snapfs.catalog import rows
from snapfs.catalog.commit import (
    DigestsOf,
    Replay,
    SegmentRow,
    counters,
    put_unused,
    set_counters,
)
from snapfs.catalog.database import Catalog, UnfitValues
from snapfs.catalog.fold import collect, fold, leave_pending
from snapfs.catalog.losing import drop_packs, find_lost, lose, make_incomplete, put_digests
from snapfs.catalog.merging import merge
from snapfs.catalog.rows import SnapshotRow
from snapfs.errors import NONSENSE, DamageError, SnapfsError
from snapfs.model.snapshot import Root
from snapfs.repository.takeout import Target, drop_problems, put_runs, put_texts, take_out
from snapfs.storage.contract import Backend, StorageError
from snapfs.stream.record import RowPiece, decode_record

_PLACING = frozenset({"pack", "segment", "block"})
"""Row blocks that say where blocks lie."""


class PackDigests:
    """The digests of segments, read from their packs, of which the last stays open."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._name = ""
        self._reader: PackReader | None = None

    def __call__(self, name: str, segment: SegmentRow) -> list[bytes] | None:
        """The digests of its blocks in order; None if the pack is gone or the segment damaged."""
        place = SegmentPlace(
            0, segment.offset, segment.stored, segment.raw, segment.block_count, segment.checksum
        )
        try:
            reader = self._open(name)
            index = None if reader is None else reader.read_table(place, [])
        except SnapfsError:
            return None
        # The checksum of its header names the segment: what is found there is what was written.
        return None if index is None else split_digests(index.digests)

    def _open(self, name: str) -> PackReader | None:
        if name != self._name:
            self.close()
            self._name = name
            with suppress(StorageError):
                self._reader = PackReader(self._backend, name)
        return self._reader

    def close(self) -> None:
        """Give the descriptor back; may be called twice."""
        if self._reader is not None:
            self._reader.close()
        self._reader = None
        self._name = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Record(NamedTuple):
    """A record at hand, and what its operation needs besides the catalog."""

    header: dict[str, Any]
    blocks: Iterator[RowPiece]
    digests_of: DigestsOf


def apply_record(catalog: Catalog, backend: Backend, pieces: Iterable[bytes]) -> None:
    """Apply one record (inside a write); ``backend`` holds the packs."""
    with PackDigests(backend) as digests_of:
        apply(catalog, pieces, digests_of)


def apply(catalog: Catalog, pieces: Iterable[bytes], digests_of: DigestsOf) -> str:
    """Apply one record; its ``op``. Raises DamageError for one that makes no sense."""
    record = Record(*decode_record(pieces), digests_of)
    op = str(record.header.get("op"))
    if op not in _OPERATIONS:
        raise DamageError(f"the journal has a record that this snapfs does not know ({op})")
    try:
        _OPERATIONS[op](catalog, record)
        set_counters(catalog, record.header["counters"])
    except (AssertionError, UnfitValues, *NONSENSE) as error:
        raise DamageError(f"the journal has a record that makes no sense ({op})") from error
    return op


def _create(catalog: Catalog, record: Record) -> None:
    replay = Replay(catalog, record.digests_of, record.header["inode_base"])
    for piece in record.blocks:
        replay.take(piece.name, piece.rows)
    snapshot = snapshot_from_json(record.header["snapshot"])
    replay.finish(snapshot.root_id, snapshot, record.header["previous"], record.header["tags"])
    put_unused(catalog, record.header.get("unused", ()))
    for kind, number, name in record.header["owners"]:
        catalog.execute(sql.OWNER_PUT, (snapshot.root_id, kind, number, name))


def _dump(catalog: Catalog, record: Record) -> None:
    if any(next_id > 1 for next_id in counters(catalog).values()):
        return  # it says what this catalog holds already
    for piece in record.blocks:
        catalog.executemany(getattr(sql, f"PUT_{piece.name}"), piece.rows)


def _delete(catalog: Catalog, record: Record) -> None:
    catalog.stage_tables()
    for root_id, snapshots in record.header["snapshots"]:
        for snapshot_id in snapshots:
            fold(catalog, root_id, snapshot_id)
    if record.header["drop_root"] is not None:
        drop_root(catalog, record.header["drop_root"])
    if record.header["collect"]:
        collect(catalog)
    else:
        leave_pending(catalog)


def _collect(catalog: Catalog, record: Record) -> None:
    del record
    catalog.stage_tables()
    collect(catalog)


def _adopt(catalog: Catalog, record: Record) -> None:
    replay = Replay(catalog, record.digests_of)
    for piece in record.blocks:
        replay.take(piece.name, piece.rows)
        if piece.name == "block":
            catalog.executemany(sql.ORPHAN_PUT, [(row[0],) for row in piece.rows if row[0]])


def _purge(catalog: Catalog, record: Record) -> None:
    catalog.stage_tables()
    header = record.header
    take_out(catalog, header["root"], [Target(*one) for one in header["targets"]])
    collect(catalog)
    replay = Replay(catalog, record.digests_of)
    for piece in record.blocks:
        if piece.name in _TEXTS:
            _TEXTS[piece.name](catalog, piece.rows)
        else:
            replay.take(piece.name, piece.rows)
    collect(catalog)


_TEXTS: dict[str, Callable[[Catalog, Any], None]] = {
    "run": put_runs,
    "text": put_texts,
    "problem": drop_problems,
}


def _repair(catalog: Catalog, record: Record) -> None:
    header = record.header
    replay = Replay(catalog, record.digests_of)
    catalog.execute(sql.DAMAGED_CLEAR)
    for block, other in header["same"]:
        merge(catalog, block, other)
    gone = False
    for piece in record.blocks:
        if piece.name in _PLACING:
            replay.take(piece.name, piece.rows)
        elif piece.name == "lost":
            lost = [{"block": row[0], "digest": None} for row in piece.rows]
            catalog.executemany(sql.DAMAGED_PUT, lost)
        elif not gone:
            find_lost(catalog)
            lose(catalog)
            gone = True
        if piece.name == "lost-file":
            catalog.executemany(sql.PUT_PROBLEM, piece.rows)
        elif piece.name == "directory":
            put_digests(catalog, piece.rows)
    if not gone and header["lost"]:
        find_lost(catalog)
        lose(catalog)
    put_unused(catalog, header["unused"])
    drop_packs(catalog, header["packs"])
    make_incomplete(catalog, header["incomplete"])
    for snapshot_id, digest in header["tree_digests"]:
        params = {"snapshot": snapshot_id, "digest": bytes.fromhex(digest)}
        catalog.execute(sql.REDIGEST_SNAPSHOT, params)


def _add_root(catalog: Catalog, record: Record) -> None:
    rows.put_root(catalog, root_from_json(record.header["root"]), record.header["options"])


def _edit_root(catalog: Catalog, record: Record) -> None:
    set_root(catalog, root_from_json(record.header["root"]))


def _edit_snapshot(catalog: Catalog, record: Record) -> None:
    header = record.header
    set_snapshot(
        catalog, header["snapshot"], header["name"], header["message"],
        pinned=header["pinned"], tags=header["tags"],
    )  # fmt: skip


_OPERATIONS: dict[str, Callable[[Catalog, Record], None]] = {
    "create": _create,
    "dump": _dump,
    "delete": _delete,
    "collect": _collect,
    "adopt": _adopt,
    "purge": _purge,
    "repair": _repair,
    "add-root": _add_root,
    "edit-root": _edit_root,
    "edit-snapshot": _edit_snapshot,
}


# --- statements shared with the operations --------------------------------------------------------


def set_root(catalog: Catalog, root: Root) -> None:
    """Give a root its label, path and host."""
    catalog.execute(sql.ROOT_SET_LABEL, {"root": root.id, "new_label": root.label})
    catalog.execute(
        sql.ROOT_SET_PATH, {"root": root.id, "new_path": root.path, "new_host": root.host}
    )


def drop_root(catalog: Catalog, root_id: int) -> None:
    """Remove a root that has no snapshot left."""
    catalog.execute(sql.OWNERS_DELETE, {"root": root_id})
    catalog.execute(sql.ROOT_DELETE, {"root": root_id})


def set_snapshot(
    catalog: Catalog, snapshot_id: int, name: str, message: str, *, pinned: int, tags: Sequence[str]
) -> None:
    """Give a snapshot its name, message, pin and tags."""
    catalog.execute(
        sql.SNAPSHOT_RENAME, {"snapshot": snapshot_id, "new_name": name, "new_message": message}
    )
    catalog.execute(sql.SNAPSHOT_PIN, {"snapshot": snapshot_id, "new_pinned": pinned})
    catalog.execute(sql.TAGS_DELETE, {"snapshot": snapshot_id})
    catalog.executemany(sql.TAG_PUT, [(snapshot_id, tag) for tag in tags])


def root_to_json(root: Root) -> dict[str, Any]:
    """A root as a record's header has it."""
    path = None if root.path is None else base64.b64encode(root.path).decode()
    return {
        "id": root.id, "host": root.host, "path": path, "label": root.label,
        "created_ns": root.created_ns,
    }  # fmt: skip


def root_from_json(value: dict[str, Any]) -> Root:
    """The reverse of `root_to_json`."""
    path = None if value["path"] is None else base64.b64decode(value["path"])
    return Root(value["id"], value["host"], path, value["label"], value["created_ns"])


def snapshot_to_json(snapshot: SnapshotRow) -> dict[str, Any]:
    """A snapshot as a record's header has it."""
    values = dict(zip(SnapshotRow.__slots__, snapshot.values(), strict=True))
    return {**values, "uid": snapshot.uid.hex(), "tree_digest": snapshot.tree_digest.hex()}


def snapshot_from_json(value: dict[str, Any]) -> SnapshotRow:
    """The reverse of `snapshot_to_json`."""
    return SnapshotRow(**{
        **value,
        "uid": bytes.fromhex(value["uid"]),
        "tree_digest": bytes.fromhex(value["tree_digest"]),
    })  # fmt: skip
