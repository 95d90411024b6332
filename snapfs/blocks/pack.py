"""A pack: a file of segments with an index at its end.

Layout (``man 5 snapfs-repository``, PACK): header, segments, index, trailer. The index is a list of
places and checksums; what is in a segment stands in the segment itself. A pack says all that it
holds without catalog and config, and one that is torn, or whose index is damaged, is read by going
from segment to segment.

A pack gets its final name, which is random, when it is finished: before that it is a temporary
file of its writer, afterwards it never changes.
"""

from __future__ import annotations

import os
import struct
from array import array
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from snapfs import faults
from snapfs.blocks.sealed import SEAL_BYTES, seal, unseal
from snapfs.blocks.segment import EncodedSegment, split_digests
from snapfs.errors import DamageError, RepositoryError
from snapfs.storage.contract import Backend

PACK_FOLDER = "packs"
PACK_MAGIC = b"\xf5snapPAK"
INDEX_MAGIC = b"\xf5snapIDX"
PACK_VERSION = 1

# A killed first run loses at most one pack of each worker, and a pack that is half dead is not too
# much to rewrite.
PACK_TARGET_BYTES = 128 * 1024 * 1024
PACK_TARGET_BLOCKS = 128 * 1024
"""Where they are of a few bytes: who writes or reads a pack holds 36 bytes for each."""

# magic, version, reserved, repository id; then xxh3-64 of these.
_PACK_HEADER = struct.Struct("<8sHHI16s")
PACK_HEADER_BYTES = _PACK_HEADER.size + SEAL_BYTES

# offset, checksum of the segment's header, stored, raw, blocks.
_INDEX_ITEM = struct.Struct("<QqIII")

# magic, offset of the index, its bytes, segments, xxh3-64 of the index; then that of these.
_TRAILER = struct.Struct("<8sQQQQ")
TRAILER_BYTES = _TRAILER.size + SEAL_BYTES


class SegmentPlace(NamedTuple):
    """Where a segment is in its pack, and what it must be.

    ``ordinal`` counts from 0; ``offset``, ``stored`` and ``raw`` are bytes; ``block_count`` blocks;
    ``checksum`` is that of the segment's header (xxh3-64, signed).
    """

    ordinal: int
    offset: int
    stored: int
    raw: int
    block_count: int
    checksum: int


class SegmentIndex(NamedTuple):
    """A segment and its blocks: ``digests`` joined, ``lengths`` in bytes, in order."""

    place: SegmentPlace
    digests: bytes
    lengths: array[int]

    def blocks(self) -> Iterator[tuple[bytes, int, int]]:
        """Digest, offset in the raw segment and length of each block."""
        offsets = accumulate(self.lengths, initial=0)
        return zip(split_digests(self.digests), offsets, self.lengths, strict=False)


class PackInfo(NamedTuple):
    """A finished pack: its name, its size in bytes, and all that is in it."""

    name: str
    size: int
    segments: list[SegmentIndex]


def pack_key(name: str) -> str:
    """Storage key of a pack."""
    return f"{PACK_FOLDER}/{name}"


def encode_pack_header(repository_id: bytes) -> bytes:
    """The first bytes of a pack; ``repository_id`` has 16."""
    return seal(_PACK_HEADER.pack(PACK_MAGIC, PACK_VERSION, 0, 0, repository_id))


def decode_pack_header(data: bytes) -> bytes:
    """The repository's id. Raises ``DamageError``, or ``RepositoryError`` for a newer version."""
    magic, version, _, _, repository_id = unseal(_PACK_HEADER, data, "pack header")
    if magic != PACK_MAGIC:
        raise DamageError("pack header is damaged")
    if version != PACK_VERSION:
        raise RepositoryError(f"pack of version {version}", hint="use a newer snapfs")
    return bytes(repository_id)


def encode_index(places: Iterable[SegmentPlace], offset: int) -> bytes:
    """Index and trailer for a pack whose segments end at ``offset``."""
    index = b"".join(
        [_INDEX_ITEM.pack(p.offset, p.checksum, p.stored, p.raw, p.block_count) for p in places]
    )
    count = len(index) // _INDEX_ITEM.size
    fixed = _TRAILER.pack(INDEX_MAGIC, offset, len(index), count, xxh3_64_intdigest(index))
    return index + seal(fixed)


def decode_trailer(data: bytes, pack_size: int) -> tuple[int, int, int]:
    """Offset and length of the index and its checksum. Raises ``DamageError``."""
    magic, offset, length, count, index_checksum = unseal(_TRAILER, data, "pack trailer")
    if magic != INDEX_MAGIC:
        raise DamageError("pack trailer is damaged")
    if length != count * _INDEX_ITEM.size or offset + length + TRAILER_BYTES != pack_size:
        raise DamageError("pack trailer does not fit the pack")
    return offset, length, index_checksum


def decode_index(data: bytes, index_checksum: int) -> list[SegmentPlace]:
    """The segments in order. Raises ``DamageError``."""
    if xxh3_64_intdigest(data) != index_checksum:
        raise DamageError("pack index is damaged")
    return [
        SegmentPlace(ordinal, offset, stored, raw, count, checksum)
        for ordinal, (offset, checksum, stored, raw, count) in enumerate(
            _INDEX_ITEM.iter_unpack(data)
        )
    ]


class PackWriter:
    """Writes one pack under a temporary name ``tmp-<stem>-…`` until it is finished.

    Raises ``StorageFullError`` and ``StorageError``. Used as a context manager it is abandoned on
    the way out unless it was finished.
    """

    def __init__(self, backend: Backend, repository_id: bytes, stem: str) -> None:
        self._writer = backend.create(PACK_FOLDER, stem)
        self._segments: list[SegmentIndex] = []
        self._blocks = 0
        try:
            self._writer.write(encode_pack_header(repository_id))
        except BaseException:
            self._writer.abandon()
            raise

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._writer.tell()

    @property
    def blocks(self) -> int:
        """Blocks in it so far."""
        return self._blocks

    def append(self, segment: EncodedSegment) -> SegmentPlace:
        """Write a segment; it is durable when the pack is finished."""
        place = SegmentPlace(
            len(self._segments), self.size, segment.stored, segment.raw, len(segment.lengths),
            segment.checksum,
        )  # fmt: skip
        for part in segment.parts:
            self._writer.write(part)
        self._blocks += len(segment.lengths)
        self._segments.append(SegmentIndex(place, segment.digests, segment.lengths))
        return place

    def finish(self, name: str | None = None) -> PackInfo:
        """Write the index, make the pack durable and name it (128 random bits by default)."""
        if name is None:
            name = os.urandom(16).hex()
        self._writer.write(encode_index((s.place for s in self._segments), self.size))
        info = PackInfo(name, self.size, self._segments)
        faults.point("pack.written")
        self._writer.commit(name)
        faults.point("pack.renamed")
        return info

    def abandon(self) -> None:
        """Remove the unfinished pack; does nothing to a finished one."""
        self._writer.abandon()

    def __enter__(self) -> PackWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.abandon()
