"""Blocks whose packs are gone: marked in the catalog, so that nobody takes them for stored.

A lost block has no digest. Contents go on naming it, and reading them says what is missing; a create
that meets its bytes stores them as a new block. If the pack comes back, its digests are read again.
"""

from __future__ import annotations

from typing import NamedTuple

from snapfs.blocks.pack import SegmentPlace, pack_key
from snapfs.blocks.packreader import PackReader
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.errors import SnapfsError
from snapfs.model.units import format_count
from snapfs.progress import Progress
from snapfs.storage.contract import Backend, StorageError


class Lost(NamedTuple):
    """How many blocks that a snapshot needs are lost; whether any is, needed or not."""

    needed: int
    any: bool


def mark_lost(catalog: Catalog, backend: Backend, *, progress: Progress) -> Lost:
    """Compare the catalog's packs with those that are there, and tell which needed ones are not."""
    with catalog.write():
        there = _mark_packs(catalog, backend)
        _find_again(catalog, backend, there)
        for name in [row[0] for row in catalog.execute(sql.DOOMED)]:
            if not _is_there(backend, name):
                catalog.execute(sql.DOOMED_DELETE, {"name": name})
        needed = 0
        for name, count in catalog.execute(sql.MISSING_BLOCKS).fetchall():
            what = "is damaged" if name in there else "is missing"
            progress.note(f"pack {name} {what}, and with it {format_count(count, 'block')}")
            needed += count
        return Lost(needed, catalog.one(sql.MISSING_SEGMENTS) is not None)


def _mark_packs(catalog: Catalog, backend: Backend) -> set[str]:
    """Take the digests from blocks of missing packs; the names of the packs that are there."""
    there = set()
    for pack_id, name, _ in catalog.execute(sql.PACKS).fetchall():
        if _is_there(backend, name):
            there.add(name)
        else:
            catalog.execute(sql.LOSE_PACK, {"pack": pack_id})
    return there


def _is_there(backend: Backend, name: str) -> bool:
    try:
        backend.size(pack_key(name))
    except StorageError:
        return False
    return True


def _find_again(catalog: Catalog, backend: Backend, there: set[str]) -> None:
    """Give blocks their digests back whose packs have them, unless the bytes are stored anew."""
    for *row, name in catalog.execute(sql.MISSING_SEGMENTS).fetchall():
        if name not in there:
            continue
        segment_id, _, offset, stored, raw, checksum = row
        place = SegmentPlace(0, offset, stored, raw, 0, checksum)
        try:
            with PackReader(backend, name) as reader:
                index = reader.read_table(place, [])
        except SnapfsError:
            continue
        for digest, at, _ in index.blocks() if index is not None else ():
            if catalog.value(sql.BLOCK_BY_DIGEST, {"digest": digest}) is None:
                catalog.execute(
                    sql.SET_BLOCK_DIGEST,
                    {"segment": segment_id, "at": at, "new_digest": digest},
                )
