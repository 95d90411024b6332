"""Packs that the catalog does not know: leftovers of a run that was killed.

A complete pack is adopted, so that an interrupted first run goes on where it was; its blocks count as
orphans until a snapshot uses them. Unfinished files are removed if the lock of their run can be taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from snapfs.blocks.packreader import PackReader
from snapfs.capture.stored import StoredBlocks
from snapfs.catalog import compiled as sql
from snapfs.catalog.commit import BLOCK_TYPES, PACK_TYPES, SEGMENT_TYPES, RowBlock
from snapfs.catalog.database import Catalog
from snapfs.errors import SnapfsError
from snapfs.fs.syscalls import sync_filesystem
from snapfs.repository.changes import change
from snapfs.repository.locks import GC, root_lock
from snapfs.repository.oldcatalog import NEW_CATALOG, remove_database
from snapfs.repository.opened import Repository
from snapfs.repository.setaside import known_packs
from snapfs.storage.contract import StorageError, is_temporary

REPAIR_STEM = "repair"
"""How unfinished packs of a repair are called: it works alone, so whoever else works may remove them."""
MOST_ADOPTED_BYTES = 1 << 30
"""Several times what the largest pack of a run has."""


def remove_unfinished(repository: Repository, root_id: int) -> None:
    """Remove unfinished packs of this root's runs, whose lock the caller holds, and what a rebuild left."""
    with suppress(OSError):
        remove_database(NEW_CATALOG, repository.fd)  # no rebuild runs beside a writer
    for name in repository.backend.names("packs"):
        if name.startswith((f"tmp-root-{root_id}-", f"tmp-{REPAIR_STEM}-")):
            with suppress(StorageError):  # a folder of that name is nobody's; verify names it
                repository.backend.remove(f"packs/{name}")
    left = [name for name in repository.backend.names("journal") if is_temporary(name)]
    if left:
        # A journal file is begun inside a write: whoever holds one knows that its maker is dead.
        with repository.catalog.write():
            for name in left:
                with suppress(StorageError):
                    repository.backend.remove(f"journal/{name}")


def give_back(repository: Repository, root_id: int) -> None:
    """After a run that failed on a full disk: remove all that no snapshot needs.

    The caller holds no lock. Finished packs go only if nobody else is at work, since a pack does not
    tell whose it is; otherwise the next create adopts them. Trouble here is not told: the run failed.
    """
    with suppress(SnapfsError):
        # By now another run of this root may have begun a pack.
        with repository.locks.hold(root_lock(root_id), exclusive=True, wait_s=0):
            remove_unfinished(repository, root_id)
        with repository.locks.hold(GC, exclusive=True, wait_s=0):
            known = known_packs(repository.catalog)
            for name in repository.backend.names("packs"):
                if not is_temporary(name) and name not in known:
                    repository.backend.remove(f"packs/{name}")
    with suppress(OSError):
        # A copy-on-write filesystem counts the space as free only after it has committed.
        sync_filesystem(repository.fd)


def adopt_packs(repository: Repository) -> int:
    """Index complete packs that the catalog does not know; how many there were."""
    catalog = repository.catalog
    known = known_packs(catalog)
    adopted = 0
    for name in repository.backend.names("packs"):
        if is_temporary(name) or name in known:
            continue
        try:
            if repository.backend.size(f"packs/{name}") > MOST_ADOPTED_BYTES:
                continue  # no run of ours made it
            with PackReader(repository.backend, name) as reader:
                if reader.repository_id() != repository.config.id:
                    continue
                if reader.check(deep=True):
                    continue  # a block that it does not hold would be missing from the next snapshot
                info = reader.info([])
            if not info.segments:
                continue
        except SnapfsError:
            continue  # damaged or foreign: verify names it, nothing refers to it
        with change(repository) as made:
            if _known(catalog, name):
                continue
            rows = _adopt(repository, name, info)
            made.record("adopt", {}, rows)
        adopted += 1
    return adopted


def _known(catalog: Catalog, name: str) -> bool:
    return any(row[1] == name for row in catalog.execute(sql.PACKS))


def _adopt(repository: Repository, name: str, info: Any) -> list[RowBlock]:
    catalog = repository.catalog
    stored = StoredBlocks(catalog, reading=repository.backend)
    pack = catalog.take("pack")
    catalog.execute(sql.PUT_PACK, (pack, name, info.size))
    segments: list[tuple[Any, ...]] = []
    told: list[tuple[Any, ...]] = []
    for index in info.segments:
        place = index.place
        segment = catalog.take("segment")
        row = (segment, pack, place.offset, place.stored, place.raw, place.checksum)
        catalog.execute(sql.PUT_SEGMENT, row)
        blocks = list(index.blocks())
        first = catalog.take("content", len(blocks))
        numbered = [
            (first + number, digest, segment, offset, length)
            for number, (digest, offset, length) in enumerate(blocks)
        ]
        catalog.executemany(sql.PUT_NEW_BLOCK, numbered)
        segments.append((*row, len(blocks)))
        for id_, *place in numbered:
            digest, length = place[0], place[-1]
            named = catalog.value(sql.BLOCK_BY_DIGEST, {"digest": digest})
            if named != id_ and stored.known([digest]):
                named = 0  # it has a place already, and can be read there
            elif named != id_:
                catalog.execute(sql.PUT_PLACED_BLOCK, (named, *place))
            told.append((named, length))
            if named:
                catalog.execute(sql.ORPHAN_PUT, (named,))
    stored.close()
    return [
        ("pack", PACK_TYPES, _once([(pack, name, info.size)])),
        ("segment", SEGMENT_TYPES, _once(segments)),
        ("block", BLOCK_TYPES, _once(told)),
    ]


def _once(rows: list[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    yield rows
