"""Packs with dead bytes written anew: what some block names goes into new packs, and nothing else.

A segment of which every block is in use is copied as it is; of any other the living blocks are
compressed anew. The catalog's rows then name the new places, and the old packs have no block left, so
that `fold.collect` dooms them. It all happens inside the write that is recorded in the journal: packs are
durable before that, and a run that is killed leaves packs that nothing knows.

Needs ``locks/gc`` exclusively. A pack of which a needed segment is damaged is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from snapfs.blocks.pack import PACK_TARGET_BLOCKS, PACK_TARGET_BYTES, PackWriter
from snapfs.blocks.packreader import PackReader
from snapfs.blocks.segment import EncodedSegment, decode_segment, encode_segment
from snapfs.blocks.store import LARGE_SEGMENT_BYTES
from snapfs.catalog import compiled as sql
from snapfs.catalog.commit import BLOCK_TYPES, PACK_TYPES, SEGMENT_TYPES, RowBlock
from snapfs.catalog.database import Catalog
from snapfs.errors import DamageError, StorageFullError
from snapfs.progress import Progress
from snapfs.repository.opened import Repository
from snapfs.storage.contract import MissingObjectError, StorageError

_BATCH = 16 * 1024


@dataclass(slots=True)
class Rewritten:
    """What was written; sizes in bytes."""

    packs: list[tuple[int, str, int]] = field(default_factory=list)
    """id, name and size of each new pack"""
    old_packs: int = 0
    """packs that were written anew"""
    damaged: list[str] = field(default_factory=list)
    """names of packs that could not be read and stay as they are"""


class _Segment(NamedTuple):
    id: int
    offset: int
    stored: int
    raw: int
    checksum: int


class _Block(NamedTuple):
    id: int
    digest: bytes
    offset: int
    length: int


class PackWithDead(NamedTuple):
    """A pack with bytes that no block names. Sizes in bytes; ``raw`` and ``living`` are uncompressed.

    ``kept`` is about what its segments take up when they are written anew.
    """

    id: int
    name: str
    size: int
    raw: int
    living: int
    kept: int

    @property
    def dead_bytes(self) -> int:
        """About what it would shrink by."""
        return self.size - self.kept


def packs_with_dead(catalog: Catalog) -> list[PackWithDead]:
    """Those that hold living blocks as well."""
    found = map(PackWithDead._make, catalog.execute(sql.PACKS_WITH_DEAD))
    return [pack for pack in found if pack.living]


class Rewriter:
    """Writes the living blocks of packs anew, inside a write. ``stem`` names the run in temporary names.

    ``done`` says what is written so far, also after an error.
    """

    def __init__(self, repository: Repository, stem: str, *, progress: Progress) -> None:
        self.done = Rewritten()
        self._repository = repository
        self._catalog = repository.catalog
        self._stem = stem
        self._progress = progress
        self._writer: PackWriter | None = None
        self._pack = 0
        self._digests: list[bytes] = []
        self._blocks: list[bytes] = []
        self._ids: list[int] = []
        self._size = 0

    def run(self) -> Rewritten:
        """All packs with dead bytes. Raises StorageFullError; then nothing of it counts."""
        packs = packs_with_dead(self._catalog)
        self._progress.phase("rewriting packs", total_bytes=sum(pack.size for pack in packs))
        try:
            for pack in packs:
                self._rewrite(pack)
                self._progress.advance(read_bytes=pack.size)
            self._close_segment()
            self._finish()
        finally:
            if self._writer is not None:
                self._writer.abandon()
        return self.done

    def _rewrite(self, pack: PackWithDead) -> None:
        try:
            reader = PackReader(self._repository.backend, pack.name)
        except MissingObjectError:
            return  # nothing of it is there to be removed
        except StorageError:
            self.done.damaged.append(pack.name)
            return
        with reader:
            needed = [one for one in self._segments(pack.id) if self._living(one)]
            try:
                for segment in needed:
                    self._read(reader, segment)
            except StorageFullError:
                raise
            except (DamageError, StorageError):
                self.done.damaged.append(pack.name)
                return
            for segment in needed:
                self._take(self._read(reader, segment), segment)
        self.done.old_packs += 1

    def _segments(self, pack: int) -> list[_Segment]:
        return [
            _Segment(*row) for row in self._catalog.execute(sql.SEGMENTS_OF_PACK, {"pack": pack})
        ]

    def _living(self, segment: _Segment) -> list[_Block]:
        found = self._catalog.execute(sql.VERIFY_BLOCKS, {"segment": segment.id})
        return [_Block(*row) for row in found]

    @staticmethod
    def _read(reader: PackReader, segment: _Segment) -> EncodedSegment:
        found = reader.copy_segment(segment.offset, segment.stored)
        if found.checksum != segment.checksum:
            raise DamageError(f"pack {reader.name} has another segment at {segment.offset}")
        return found

    def _take(self, stored: EncodedSegment, segment: _Segment) -> None:
        living = self._living(segment)
        if sum(block.length for block in living) == segment.raw:
            new = self._append(stored)
            where = {"segment": segment.id, "new_segment": new}
            self._catalog.execute(sql.MOVE_SEGMENT_BLOCKS, where)
            return
        raw = decode_segment(stored.parts[0]).raw
        for block in living:
            self._digests.append(block.digest)
            # A view would keep all of the old segment in memory.
            self._blocks.append(bytes(raw[block.offset : block.offset + block.length]))
            self._ids.append(block.id)
            self._size += block.length
            if self._size >= LARGE_SEGMENT_BYTES:
                self._close_segment()

    def _close_segment(self) -> None:
        if not self._blocks:
            return
        new = self._append(encode_segment(self._digests, self._blocks))
        moves = []
        offset = 0
        for id_, block in zip(self._ids, self._blocks, strict=True):
            moves.append({"block": id_, "segment": new, "new_offset": offset})
            offset += len(block)
        self._catalog.executemany(sql.MOVE_BLOCK, moves)
        self._digests, self._blocks, self._ids, self._size = [], [], [], 0

    def _append(self, segment: EncodedSegment) -> int:
        """Write a segment; its new number."""
        if self._writer is None:
            repository = self._repository
            self._writer = PackWriter(repository.backend, repository.config.id, self._stem)
            self._pack = self._catalog.take("pack")
        place = self._writer.append(segment)
        new = self._catalog.take("segment")
        row = (new, self._pack, place.offset, place.stored, place.raw, place.checksum)
        self._catalog.execute(sql.PUT_SEGMENT, row)
        if self._writer.size >= PACK_TARGET_BYTES or self._writer.blocks >= PACK_TARGET_BLOCKS:
            self._finish()
        return new

    def _finish(self) -> None:
        if self._writer is not None:
            info = self._writer.finish()
            row = (self._pack, info.name, info.size)
            self.done.packs.append(row)
            self._catalog.execute(sql.PUT_PACK, row)
            self._writer = None


def record_blocks(catalog: Catalog, done: Rewritten) -> Iterator[RowBlock]:
    """The new packs in the rows of a journal record, read as they are asked for."""
    yield "pack", PACK_TYPES, iter([done.packs])
    yield "segment", SEGMENT_TYPES, _each(catalog, done, _segment_rows)
    yield "block", BLOCK_TYPES, _each(catalog, done, _block_rows)


def _each(catalog: Catalog, done: Rewritten, rows_of: Any) -> Iterator[list[tuple[Any, ...]]]:
    batch: list[tuple[Any, ...]] = []
    for pack, *_ in done.packs:
        for segment in catalog.execute(sql.SEGMENTS_OF_PACK, {"pack": pack}).fetchall():
            batch += rows_of(catalog, pack, segment)
            if len(batch) >= _BATCH:
                yield batch
                batch = []
    yield batch


def _segment_rows(catalog: Catalog, pack: int, segment: Sequence[Any]) -> list[tuple[Any, ...]]:
    id_, *place = segment
    return [(id_, pack, *place, len(_block_rows(catalog, pack, segment)))]


def _block_rows(catalog: Catalog, pack: int, segment: Sequence[Any]) -> list[tuple[Any, ...]]:
    del pack
    found = catalog.execute(sql.VERIFY_BLOCKS, {"segment": segment[0]})
    return [(id_, length) for id_, _, _, length in found]
