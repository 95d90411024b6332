"""Applying a journal record to a catalog: the same code finishes a killed run and rebuilds.

Every operation is written here once as what it does to the catalog; the operation itself may run other
statements, as long as the outcome is the same.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from snapfs.blocks.packreader import PackReader
from snapfs.catalog import compiled as sql
from snapfs.catalog import rows
from snapfs.catalog.commit import PackBlock, Replay, set_counters
from snapfs.catalog.database import Catalog
from snapfs.catalog.fold import collect, fold
from snapfs.catalog.rows import SnapshotRow
from snapfs.errors import DamageError, SnapfsError
from snapfs.model.snapshot import Root
from snapfs.repository.opened import Repository
from snapfs.storage.contract import Backend
from snapfs.stream.record import RowPiece, decode_record

BlocksOf = Callable[[str], Sequence[PackBlock] | None]


def pack_blocks(backend: Backend) -> BlocksOf:
    """Blocks of packs, in order, remembering the last pack; None for one that cannot be read."""
    last: list[tuple[str, list[PackBlock] | None]] = []

    def blocks_of(name: str) -> list[PackBlock] | None:
        if not last or last[0][0] != name:
            last[:] = [(name, _read_blocks(backend, name))]
        return last[0][1]

    return blocks_of


def _read_blocks(backend: Backend, name: str) -> list[PackBlock] | None:
    try:
        with PackReader(backend, name) as pack:
            return [block for segment in pack.info([]).segments for block in segment.blocks()]
    except SnapfsError:
        return None


def apply_record(repository: Repository, pieces: Iterable[bytes]) -> None:
    """Apply one record to the open catalog (inside a write)."""
    apply(repository.catalog, pieces, pack_blocks(repository.backend))


def apply(catalog: Catalog, pieces: Iterable[bytes], blocks_of: BlocksOf) -> str:
    """Apply one record; its ``op``. Raises DamageError for one that makes no sense."""
    header, blocks = decode_record(pieces)
    op = str(header.get("op"))
    try:
        _OPERATIONS[op](catalog, header, blocks, blocks_of)
    except KeyError as error:
        raise DamageError(f"the journal has an unknown or damaged record ({op})") from error
    set_counters(catalog, header["counters"])
    return op


def _create(
    catalog: Catalog, header: dict[str, Any], blocks: Iterator[RowPiece], blocks_of: BlocksOf
) -> None:
    replay = Replay(catalog, blocks_of)
    for piece in blocks:
        replay.take(piece.name, piece.rows)
    snapshot = snapshot_from_json(header["snapshot"])
    replay.finish(snapshot.root_id, snapshot, header["previous"], header["tags"])
    for kind, number, name in header["owners"]:
        catalog.execute(sql.OWNER_PUT, (snapshot.root_id, kind, number, name))


def _dump(
    catalog: Catalog, header: dict[str, Any], blocks: Iterator[RowPiece], blocks_of: BlocksOf
) -> None:
    for piece in blocks:
        catalog.executemany(getattr(sql, f"PUT_{piece.name}"), piece.rows)


def _delete(
    catalog: Catalog, header: dict[str, Any], blocks: Iterator[RowPiece], blocks_of: BlocksOf
) -> None:
    for snapshot_id in header["snapshots"]:
        fold(catalog, header["root"], snapshot_id)
    if header["drop_root"]:
        drop_root(catalog, header["root"])
    if header["collect"]:
        catalog.stage_tables()
        collect(catalog)


def _collect(
    catalog: Catalog, header: dict[str, Any], blocks: Iterator[RowPiece], blocks_of: BlocksOf
) -> None:
    catalog.stage_tables()
    collect(catalog)


def _adopt(
    catalog: Catalog, header: dict[str, Any], blocks: Iterator[RowPiece], blocks_of: BlocksOf
) -> None:
    replay = Replay(catalog, blocks_of)
    for piece in blocks:
        replay.take(piece.name, piece.rows)
        if piece.name == "block":
            catalog.executemany(sql.ORPHAN_PUT, [(row[0],) for row in piece.rows if row[0]])


def _add_root(
    catalog: Catalog, header: dict[str, Any], blocks: Iterator[RowPiece], blocks_of: BlocksOf
) -> None:
    rows.put_root(catalog, root_from_json(header["root"]), header["options"])


def _edit_root(
    catalog: Catalog, header: dict[str, Any], blocks: Iterator[RowPiece], blocks_of: BlocksOf
) -> None:
    set_root(catalog, root_from_json(header["root"]))


def _edit_snapshot(
    catalog: Catalog, header: dict[str, Any], blocks: Iterator[RowPiece], blocks_of: BlocksOf
) -> None:
    set_snapshot(
        catalog, header["snapshot"], header["name"], header["message"], header["pinned"],
        header["tags"],
    )  # fmt: skip


_OPERATIONS: dict[
    str, Callable[[Catalog, dict[str, Any], Iterator[RowPiece], BlocksOf], None]
] = {
    "create": _create,
    "dump": _dump,
    "delete": _delete,
    "collect": _collect,
    "adopt": _adopt,
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
    catalog: Catalog, snapshot_id: int, name: str, message: str, pinned: int, tags: Sequence[str]
) -> None:
    """Give a snapshot its name, message, pin and tags."""
    catalog.execute(
        sql.SNAPSHOT_RENAME, {"snapshot": snapshot_id, "new_name": name, "new_message": message}
    )
    catalog.execute(sql.SNAPSHOT_PIN, {"snapshot": snapshot_id, "new_pinned": pinned})
    catalog.execute(sql.TAGS_DELETE, {"snapshot": snapshot_id})
    catalog.executemany(sql.TAG_PUT, [(snapshot_id, tag) for tag in tags])


def root_to_json(root: Root) -> dict[str, Any]:
    path = None if root.path is None else base64.b64encode(root.path).decode()
    return {
        "id": root.id, "host": root.host, "path": path, "label": root.label,
        "created_ns": root.created_ns,
    }  # fmt: skip


def root_from_json(value: dict[str, Any]) -> Root:
    path = None if value["path"] is None else base64.b64decode(value["path"])
    return Root(value["id"], value["host"], path, value["label"], value["created_ns"])


def snapshot_to_json(snapshot: SnapshotRow) -> dict[str, Any]:
    values = dict(zip(SnapshotRow.__slots__, snapshot.values(), strict=True))
    return {**values, "uid": snapshot.uid.hex(), "tree_digest": snapshot.tree_digest.hex()}


def snapshot_from_json(value: dict[str, Any]) -> SnapshotRow:
    return SnapshotRow(**{
        **value,
        "uid": bytes.fromhex(value["uid"]),
        "tree_digest": bytes.fromhex(value["tree_digest"]),
    })  # fmt: skip
