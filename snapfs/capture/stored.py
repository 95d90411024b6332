"""Which blocks the repository has, and whether they can be had.

A block that cannot be read counts as not stored, so that a run which meets its bytes stores them again;
the commit then moves the block to the new place, and every snapshot that uses it is whole again.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from snapfs.blocks.pack import pack_key
from snapfs.blocks.reader import BlockReader
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.errors import SnapfsError
from snapfs.storage.contract import Backend, StorageError

_AT_ONCE = 128


def broken_packs(catalog: Catalog, backend: Backend) -> frozenset[str]:
    """Names of packs with blocks that are missing or of another size than the catalog says.

    Reads no data.
    """
    return frozenset(
        name
        for _, name, size in catalog.execute(sql.PACKS).fetchall()
        if _size(backend, name) != size and catalog.value(sql.PACK_USED, {"pack": name}) is not None
    )


def _size(backend: Backend, name: str) -> int | None:
    try:
        return backend.size(pack_key(name))
    except StorageError:
        return None


class StoredBlocks:
    """Answers which digests need not be stored.

    The caller holds ``locks/gc`` shared: no pack goes away meanwhile.
    """

    def __init__(
        self, catalog: Catalog, *, broken: Set[str] = frozenset(), reading: Backend | None = None
    ) -> None:
        """Blocks in ``broken`` packs do not count; with ``reading`` only those that it can read do."""
        self._catalog = catalog
        self._broken = broken
        self._reader = None if reading is None else BlockReader(reading)

    def known(self, digests: Sequence[bytes]) -> set[bytes]:
        """Which of ``digests`` are stored already."""
        trusting = self._reader is None and not self._broken
        found: set[bytes] = set()
        for start in range(0, len(digests), _AT_ONCE):
            part = list(digests[start : start + _AT_ONCE])
            part += [b""] * (_AT_ONCE - len(part))
            if trusting:
                found.update(row[0] for row in self._catalog.execute(sql.BLOCKS_KNOWN, part))
            else:
                # All at once: an answer takes long where segments are decoded.
                places = self._catalog.execute(sql.BLOCKS_KNOWN_PLACES, part).fetchall()
                found.update(place[0] for place in places if self._is_sound(*place))
        return found

    def _is_sound(
        self, digest: bytes, length: int, offset: int, segment_offset: int, stored: int, pack: str
    ) -> bool:
        if pack in self._broken:
            return False
        if self._reader is None:
            return True
        try:
            self._reader.read(pack, segment_offset, stored, offset, length, digest=digest)
        except SnapfsError:
            return False
        return True

    def close(self) -> None:
        """Give descriptors and memory back; may be called twice."""
        if self._reader is not None:
            self._reader.close()
