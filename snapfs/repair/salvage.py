"""Finding the bytes of damaged blocks: where they lie, in other packs, in the directories themselves.

A block is known by its digest, and nothing but the digest decides what its bytes are: so it does not matter
where they come from, nor what a damaged header said of them. What is found goes into new packs; what is not
stays in ``damaged_block``, and is lost if nobody finds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from snapfs.blocks.digest import block_digest
from snapfs.blocks.loose import readings
from snapfs.blocks.pack import PackInfo, pack_key
from snapfs.blocks.packreader import PackReader
from snapfs.blocks.store import BlockSink
from snapfs.capture.adopt import REPAIR_STEM
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.catalog.losing import want_nothing
from snapfs.catalog.stage import Stage
from snapfs.errors import SnapfsError
from snapfs.progress import Progress
from snapfs.repair.names import Names
from snapfs.repair.quarantine import possible_packs
from snapfs.repository.opened import Repository
from snapfs.verify.packs import Pack


class Store:
    """Where what is found goes: into new packs, staged for the commit, or (a dry run) nowhere."""

    def __init__(self, repository: Repository, *, dry_run: bool) -> None:
        catalog = repository.catalog
        self._stage = Stage(catalog, first=False)
        want_nothing(catalog)
        self._sink = (
            None if dry_run else BlockSink(repository.backend, repository.config.id, REPAIR_STEM)
        )
        self._numbers = (0, 0, 0)
        self.packs: list[str] = []
        """names of the packs that were made"""

    def add(self, digest: bytes, data: bytes | memoryview, *, large: bool) -> None:
        """Store a block."""
        if self._sink is not None:
            self._sink.add(digest, data, large=large)
            self._take(self._sink.take_finished())

    def finish(self) -> None:
        """Make all of it durable."""
        if self._sink is not None:
            self._take(self._sink.flush())

    def abandon(self) -> None:
        """Drop what is not in a finished pack."""
        if self._sink is not None:
            self._sink.abandon()

    def _take(self, packs: Sequence[PackInfo]) -> None:
        for pack in packs:
            number, segment, block = self._numbers
            segments = (
                (
                    one.place.offset,
                    one.place.stored,
                    one.place.raw,
                    one.place.checksum,
                    one.blocks(),
                )
                for one in pack.segments
            )
            last = self._stage.put_pack(pack.name, pack.size, segments, number + 1, segment, block)
            self._numbers = (number + 1, *last)
            self.packs.append(pack.name)


class _Block(NamedTuple):
    """A block as the catalog has it; ``part`` of a content of several."""

    id: int
    digest: bytes | None
    offset: int
    length: int
    part: int


class Salvage:
    """One search."""

    def __init__(
        self, repository: Repository, store: Store, names: Names, *, progress: Progress
    ) -> None:
        self._repository = repository
        self._catalog: Catalog = repository.catalog
        self._store = store
        self._names = names
        self._progress = progress
        self.sound = 0
        """blocks of damaged packs that were read where they lie"""

    # --- where they lie --------------------------------------------------------------------------

    def read_pack(self, pack: Pack) -> None:
        """Take over every block of a damaged pack that can be read; the others are wanted."""
        reader = self._open(pack_key(pack.name))
        try:
            counts = _block_counts(reader)
            rows = self._catalog.execute(sql.SEGMENTS_OF_PACK, {"pack": pack.id}).fetchall()
            for id_, offset, stored, raw, _ in rows:
                found = self._catalog.execute(sql.SEGMENT_BLOCKS, {"segment": id_})
                blocks = [self._named(_Block(*row)) for row in found]
                if blocks:
                    count = counts.get(offset, len(blocks))
                    tries = _segment(reader, offset, stored, raw, {count, len(blocks)})
                    self._take_blocks(blocks, tries)
                self._progress.advance(entries=1, read_bytes=stored)
        finally:
            if reader is not None:
                reader.close()

    def _named(self, block: _Block) -> _Block:
        if block.digest is not None:
            return block
        return block._replace(digest=self._names.of(block.id))

    def _open(self, key: str) -> PackReader | None:
        try:
            return PackReader(self._repository.backend, key.rpartition("/")[2], key=key)
        except SnapfsError:
            return None

    def _take_blocks(self, blocks: Sequence[_Block], tries: Iterator[memoryview]) -> None:
        missing = list(blocks)
        for raw in tries:
            left = []
            for block in missing:
                data = raw[block.offset : block.offset + block.length]
                if block.digest is not None and block_digest(data) == block.digest:
                    self._store.add(block.digest, data, large=bool(block.part))
                    self.sound += 1
                else:
                    left.append(block)
            missing = left
            if not missing:
                return
        self._catalog.executemany(
            sql.DAMAGED_PUT, [{"block": one.id, "digest": one.digest} for one in missing]
        )

    # --- in other packs --------------------------------------------------------------------------

    def search_packs(self) -> int:
        """Look for what is wanted in whatever may be a pack; how many blocks were found."""
        found = 0
        for key in possible_packs(self._repository):
            if not any_wanted(self._catalog):
                break
            found += self._search_pack(key)
        return found

    def _search_pack(self, key: str) -> int:
        found = 0
        reader = self._open(key)
        if reader is None:
            return 0
        with reader:
            for index in reader.index([]):
                for digest, offset, length in index.blocks():
                    if not is_wanted(self._catalog, digest):
                        continue
                    place = index.place
                    tries = _segment(
                        reader, place.offset, place.stored, place.raw, {place.block_count}
                    )
                    for raw in tries:
                        data = raw[offset : offset + length]
                        if block_digest(data) == digest:
                            self._store.add(digest, data, large=False)
                            see_found(self._catalog, digest)
                            found += 1
                            break
        return found


def _block_counts(reader: PackReader | None) -> dict[int, int]:
    """How many blocks each segment has, by its offset, if the pack's index says it."""
    try:
        return {} if reader is None else {one.offset: one.block_count for one in reader.places()}
    except SnapfsError:
        return {}


def _segment(
    reader: PackReader | None, offset: int, stored: int, raw: int, counts: set[int]
) -> Iterator[memoryview]:
    """What may be the blocks of a segment: as it should be read, then in any way that makes sense."""
    if reader is None:
        return
    try:
        yield reader.read_raw(offset, stored)
    except SnapfsError:
        pass
    yield from readings(reader.read_around(offset, stored), raw, counts)


# --- what is wanted -------------------------------------------------------------------------------


def wanted(catalog: Catalog) -> int:
    """How many blocks can still be found, because it is known what they were."""
    return int(catalog.value(sql.DAMAGED_KNOWN))


def any_wanted(catalog: Catalog) -> bool:
    """Whether there is anything to look for."""
    return catalog.one(sql.DAMAGED_ANY) is not None


def is_wanted(catalog: Catalog, digest: bytes) -> bool:
    """Whether a block of this digest is looked for."""
    return catalog.value(sql.DAMAGED_WANTED, {"digest": digest}) is not None


def see_found(catalog: Catalog, digest: bytes) -> None:
    """A block was found."""
    catalog.execute(sql.DAMAGED_FOUND, {"digest": digest})
