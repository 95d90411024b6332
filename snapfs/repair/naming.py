"""Who may know what blocks without a digest were: their packs, an older catalog, the files themselves.

None of them is believed but a pack's tables, which the catalog knows by their checksums: see `repair.names`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress

from snapfs.blocks.digest import DIGEST_BYTES, block_digest
from snapfs.blocks.pack import SegmentPlace
from snapfs.blocks.packreader import PackReader
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.errors import DamageError, SnapfsError
from snapfs.progress import Progress
from snapfs.repair.live import suppose_from_files
from snapfs.repair.names import Names
from snapfs.repair.quarantine import possible_packs
from snapfs.repository.oldcatalog import OLD_CATALOG
from snapfs.repository.opened import CATALOG, Repository
from snapfs.verify.packs import Pack


def name_blocks(
    repository: Repository, packs: Sequence[Pack], host: str, *, progress: Progress
) -> Names:
    """Find out what blocks without a digest were, as far as that can be proved."""
    names = Names(repository.catalog)
    if not names.nameless():
        return names
    progress.phase("finding out what blocks were")
    for pack in packs:
        _ask_pack(repository, pack, names)
    names.prove()  # what is supposed and not proved would be in the way
    if names.nameless():
        _ask_other_files(repository, packs, names)
    _ask_older_catalogs(repository, names)
    if names.nameless():
        suppose_from_files(repository, names, host, progress=progress)
        names.prove()
    return names


def _ask_pack(repository: Repository, pack: Pack, names: Names) -> None:
    """The tables of its segments say it, which the catalog knows by their checksums."""
    catalog = repository.catalog
    try:
        with PackReader(repository.backend, pack.name) as reader:
            segments = catalog.execute(sql.SEGMENTS_OF_PACK, {"pack": pack.id}).fetchall()
            for id_, offset, stored, raw, checksum in segments:
                nameless = catalog.execute(sql.NAMELESS_IN, {"segment": id_}).fetchall()
                if not nameless:
                    continue
                index = reader.read_table(SegmentPlace(0, offset, stored, raw, 0, checksum), [])
                if index is None:
                    _ask_bytes(reader, offset, stored, nameless, names)
                    continue
                digests = {at: digest for digest, at, _ in index.blocks()}
                for block, at, _ in nameless:
                    if at in digests:
                        names.know(block, digests[at])
    except SnapfsError:
        return


def _ask_other_files(repository: Repository, packs: Iterable[Pack], names: Names) -> None:
    """What is called by another name than its own: a segment is known by the checksum of its header."""
    catalog = repository.catalog
    nameless = set(names.nameless())
    lacking: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for pack in packs:
        for id_, _, stored, _, checksum in catalog.execute(
            sql.SEGMENTS_OF_PACK, {"pack": pack.id}
        ).fetchall():
            for block, at, _ in catalog.execute(sql.NAMELESS_IN, {"segment": id_}).fetchall():
                if block in nameless:
                    lacking.setdefault((checksum, stored), []).append((block, at))
    for key in possible_packs(repository):
        if not lacking:
            return
        with suppress(SnapfsError), PackReader(repository.backend, key, key=key) as reader:
            try:
                places = reader.places()
            except DamageError:
                places = [index.place for index in reader.scan([])]
            for place in places:
                blocks = lacking.get((place.checksum, place.stored))
                index = None if blocks is None else reader.read_table(place, [])
                if blocks is not None and index is not None:
                    digests = {at: digest for digest, at, _ in index.blocks()}
                    for block, at in blocks:
                        if at in digests:
                            names.know(block, digests[at])
                    del lacking[place.checksum, place.stored]


def _ask_bytes(
    reader: PackReader,
    offset: int,
    stored: int,
    nameless: Iterable[tuple[int, int, int]],
    names: Names,
) -> None:
    """Where the table is lost and the bytes are not, the blocks may be what lies in their places."""
    with suppress(SnapfsError):
        raw = reader.read_raw(offset, stored)
        for block, at, length in nameless:
            names.suppose(block, block_digest(raw[at : at + length]))


def _ask_older_catalogs(repository: Repository, names: Names) -> None:
    """Suppose what a catalog says that is not in use any more, as far as it can be read."""
    for name in (OLD_CATALOG, CATALOG):
        path = os.path.join(repository.path, name)
        if path == repository.catalog.path:
            continue
        with suppress(SnapfsError):  # what came before the damage is as good as any supposition
            _ask_catalog(path, names)
        names.prove()


def _ask_catalog(path: bytes, names: Names) -> None:
    wanted = names.nameless()
    if not wanted:
        return
    with closing(Catalog(path, write=False)) as older, older.read():
        for block in wanted:
            digest = older.value(sql.BLOCK_DIGEST, {"block": block})
            if isinstance(digest, bytes) and len(digest) == DIGEST_BYTES:
                names.suppose(block, digest)
