"""Reading a pack, whole or damaged.

A damaged pack is never given up: the index is asked first, and where it is missing the segments are
found by their headers; what is found wrong is collected, and the rest is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from blake3 import blake3

from snapfs.blocks.pack import (
    PACK_HEADER_BYTES,
    TRAILER_BYTES,
    PackInfo,
    SegmentIndex,
    SegmentPlace,
    decode_index,
    decode_pack_header,
    decode_trailer,
    pack_key,
)
from snapfs.blocks.segment import (
    HEADER_BYTES,
    SEGMENT_MAGIC,
    DecodedSegment,
    EncodedSegment,
    SegmentHeader,
    copied_segment,
    decode_header,
    decode_payload,
    decode_segment,
    decode_table,
    split_digests,
)
from snapfs.errors import DamageError, RepositoryError
from snapfs.storage.contract import Backend

_SEARCH_BYTES = 1024 * 1024
_SECTOR_BYTES = 4096

T = TypeVar("T")


class PackFinding(NamedTuple):
    """Something wrong in a pack.

    ``ordinal`` is the segment's (-1: header, index or trailer, or not known), ``offset`` in bytes,
    ``digests`` the blocks that cannot be read, as far as known.
    """

    pack: str
    ordinal: int
    offset: int
    what: str
    digests: tuple[bytes, ...] = ()


class PackReader:
    """One pack, open for reading. Raises ``MissingObjectError`` and ``StorageError`` at once.

    Methods raise ``DamageError`` (``subject`` is the pack's name) unless they return findings.
    """

    def __init__(self, backend: Backend, name: str, *, key: str | None = None) -> None:
        """``key``: where it lies, if not with the others."""
        self.name = name
        self._reader = backend.open_reader(pack_key(name) if key is None else key)
        self.size = self._reader.size

    def repository_id(self) -> bytes:
        """The 16 bytes in the pack's header."""
        return self._blame(0, lambda: decode_pack_header(self._reader.pread(0, PACK_HEADER_BYTES)))

    def places(self) -> list[SegmentPlace]:
        """Its segments as the index lists them, in order."""
        return self._blame(self.size, self._places)

    def index(self, findings: list[PackFinding]) -> Iterator[SegmentIndex]:
        """Every segment whose header and table can be read, in order of place.

        What is damaged is appended to ``findings``; a table whose digests are damaged is mended
        from the payload if that is whole. A segment keeps its ordinal where others before it are
        damaged, as long as the index is whole.
        """
        try:
            decode_pack_header(self._reader.pread(0, PACK_HEADER_BYTES))
        except DamageError as error:
            findings.append(PackFinding(self.name, -1, 0, error.message))
        try:
            places = self._places()
        except DamageError as error:
            findings.append(PackFinding(self.name, -1, self.size, error.message))
            yield from self.scan(findings)
            return
        for place in places:
            index = self.read_table(place, findings)
            if index is not None:
                yield index

    def info(self, findings: list[PackFinding]) -> PackInfo:
        """The pack as its writer described it, less what is damaged."""
        return PackInfo(self.name, self.size, list(self.index(findings)))

    def scan(self, findings: list[PackFinding]) -> Iterator[SegmentIndex]:
        """The same without the index: from header to header, searching on after damage."""
        offset = PACK_HEADER_BYTES
        ordinal = 0
        while True:
            found = self._find_header(offset)
            if found is None:
                return
            at, header = found
            if at != offset:
                findings.append(
                    PackFinding(self.name, -1, offset, f"{at - offset} bytes are no segment")
                )
            place = SegmentPlace(
                ordinal, at, header.stored, header.raw, header.block_count, header.checksum
            )
            ordinal += 1
            offset = at + header.stored
            index = self.read_table(place, findings)
            if offset > self.size:
                findings.append(
                    PackFinding(
                        self.name, place.ordinal, at, "segment is cut off",
                        tuple(split_digests(index.digests)) if index else (),
                    )
                )  # fmt: skip
            elif index is not None:
                yield index

    def read_table(self, place: SegmentPlace, findings: list[PackFinding]) -> SegmentIndex | None:
        """Digests and lengths of the segment that was written to ``place``.

        None, and a finding, if they are lost. Needs no index: who knows the place asks here.
        """
        try:
            header = decode_header(self._reader.pread(place.offset, HEADER_BYTES))
            if header.checksum != place.checksum or header.stored != place.stored:
                raise DamageError("segment is not the one that the index lists")
            table = self._reader.pread(place.offset + HEADER_BYTES, header.table)
            return SegmentIndex(place, *decode_table(header, table))
        except DamageError as error:
            findings.append(PackFinding(self.name, place.ordinal, place.offset, error.message))
        try:
            mended = decode_segment(self._reader.pread(place.offset, place.stored))
        except DamageError:
            return None
        if mended.header.checksum != place.checksum:
            return None
        return SegmentIndex(place, mended.digests, mended.lengths)

    def read_raw(self, offset: int, stored: int) -> memoryview:
        """The blocks of the segment at ``offset``, one after another, without their digests."""
        return self._blame(offset, lambda: self._read_raw(offset, stored))

    def read_segment(self, offset: int, stored: int) -> DecodedSegment:
        """The segment at ``offset``, ``stored`` bytes long, with its digests and lengths."""
        return self._blame(offset, lambda: decode_segment(self._reader.pread(offset, stored)))

    def copy_segment(self, offset: int, stored: int) -> EncodedSegment:
        """The segment at ``offset`` as it is stored, its checksums compared."""
        return self._blame(offset, lambda: copied_segment(self._reader.pread(offset, stored)))

    def read_around(self, offset: int, stored: int) -> bytes:
        """What there is of so many bytes; zeros stand for what the medium does not give back."""
        try:
            return self._reader.pread(offset, stored)
        except DamageError:
            return b"".join(
                map(self._read_or_zeros, _pieces(offset, min(offset + stored, self.size)))
            )

    def _read_or_zeros(self, piece: range) -> bytes:
        try:
            return self._reader.pread(piece.start, len(piece))
        except DamageError:
            return bytes(len(piece))

    def check(self, *, deep: bool) -> list[PackFinding]:
        """What is wrong: without ``deep`` header, index and tables, with it every block's digest."""
        findings: list[PackFinding] = []
        for segment in self.index(findings):
            if deep:
                findings.extend(self._check_blocks(segment))
        return findings

    def close(self) -> None:
        """Give the descriptor back; may be called twice."""
        self._reader.close()

    def __enter__(self) -> PackReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _places(self) -> list[SegmentPlace]:
        trailer = self._reader.pread(max(0, self.size - TRAILER_BYTES), TRAILER_BYTES)
        offset, length, checksum = decode_trailer(trailer, self.size)
        return decode_index(self._reader.pread(offset, length), checksum)

    def _read_raw(self, offset: int, stored: int) -> memoryview:
        data = memoryview(self._reader.pread(offset, stored))
        header = decode_header(data)
        if header.stored != stored:
            raise DamageError("segment has another size than the catalog says")
        return decode_payload(header, data[HEADER_BYTES + header.table :])

    def _blame(self, offset: int, read: Callable[[], T]) -> T:
        try:
            return read()
        except DamageError as error:
            raise DamageError(
                f"pack {self.name}, offset {offset}: {error.message}", subject=self.name
            ) from error

    def _check_blocks(self, index: SegmentIndex) -> Iterator[PackFinding]:
        place = index.place
        try:
            segment = decode_segment(self._reader.pread(place.offset, place.stored))
        except DamageError as error:
            yield PackFinding(
                self.name, place.ordinal, place.offset, error.message,
                tuple(split_digests(index.digests)),
            )  # fmt: skip
            return
        wrong = tuple(
            digest for digest, data in segment.blocks() if blake3(data).digest() != digest
        )
        if wrong:
            what = f"{len(wrong)} blocks do not have their digests"
            yield PackFinding(self.name, place.ordinal, place.offset, what, wrong)

    def _find_header(self, offset: int) -> tuple[int, SegmentHeader] | None:
        """The first sound segment header at or after ``offset``, and where it is."""
        while offset + HEADER_BYTES <= self.size:
            data = self._reader.pread(offset, _SEARCH_BYTES)
            at = data.find(SEGMENT_MAGIC)
            while 0 <= at <= len(data) - HEADER_BYTES:
                try:
                    return offset + at, decode_header(data[at : at + HEADER_BYTES])
                except (DamageError, RepositoryError):
                    at = data.find(SEGMENT_MAGIC, at + 1)
            # A header may lie across the border of two reads.
            offset += max(1, len(data) - HEADER_BYTES + 1)
        return None


def _pieces(start: int, end: int) -> Iterator[range]:
    """The sectors of a part of a file."""
    while start < end:
        following = min(end, (start // _SECTOR_BYTES + 1) * _SECTOR_BYTES)
        yield range(start, following)
        start = following
