"""A segment: a run of blocks compressed together, with a header that tells what is in it.

Bytes in, values out; no I/O. The layout is in ``man 5 snapfs-repository``, SEGMENT. A header of
fixed size with its own checksum is followed by a table (lengths, then digests) and the payload, so
that a pack without index is read by going from header to header. If the digests of the table are
damaged they are computed again from the payload and proved by the table's checksum.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from blake3 import blake3
from xxhash import xxh3_64_intdigest

from snapfs.blocks.digest import DIGEST_BYTES
from snapfs.blocks.sealed import SEAL_BYTES, seal, unseal
from snapfs.errors import DamageError, RepositoryError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Data = bytes | bytearray | memoryview

SEGMENT_MAGIC = b"\xf5snapSEG"
SEGMENT_VERSION = 1
CIPHER_NONE = 0
COMPRESSION_NONE = 0
COMPRESSION_ZSTD = 1

# Of software installations level 3 takes 1.2 to 1.3 times as long for 3.6 % fewer bytes; 1 is hardly faster
# and takes 1.6 % more.
ZSTD_LEVEL = 2
# 4 MiB, so that a whole segment of small files is in reach (0.2 % smaller than the default 2 MiB).
_WINDOW_LOG = 22
# Tables near the size of the processor's own cache: one bit less is 6 % faster for 0.9 % more bytes.
_HASH_LOG = 17
_CHAIN_LOG = 16

# magic, version, cipher, compression, width of lengths, blocks, raw, payload, reserved,
# checksum of table, checksum of payload; then the checksum of all these.
_HEADER = struct.Struct("<8sBBBBIIIIQQ")
HEADER_BYTES = _HEADER.size + SEAL_BYTES

# A raw segment is never larger: what claims more is damage, not a reason to allocate.
MAX_RAW_BYTES = 256 * 1024 * 1024

# What shrinks by less is not worth the time to decode it, each time it is read.
_KEEP_RAW_OVER = 0.97
_STEP_BYTES = 4096
_WIDTH_CODES = {1: "B", 2: "H", 4: "I"}


class EncodedSegment(NamedTuple):
    """A segment ready to be written.

    ``stored`` is its whole size with header and table, ``raw`` the sum of the blocks' lengths,
    ``checksum`` the header's (xxh3-64, signed), which covers those of table and payload.
    ``digests`` are the blocks' digests joined, ``lengths`` their lengths.
    """

    parts: tuple[bytes, ...]
    stored: int
    raw: int
    checksum: int
    digests: bytes
    lengths: array[int]


class SegmentHeader(NamedTuple):
    """The fixed part of a segment."""

    compression: int
    width: int
    block_count: int
    raw: int
    payload: int
    table_checksum: int
    payload_checksum: int
    checksum: int

    @property
    def table(self) -> int:
        """Bytes of the table."""
        return self.block_count * (self.width + DIGEST_BYTES)

    @property
    def stored(self) -> int:
        """Bytes of header, table and payload."""
        return HEADER_BYTES + self.table + self.payload


class DecodedSegment(NamedTuple):
    """All that a segment holds: ``raw`` is its blocks one after another."""

    header: SegmentHeader
    digests: bytes
    lengths: array[int]
    raw: memoryview

    def blocks(self) -> Iterator[tuple[bytes, memoryview]]:
        """Digest and bytes of each block, in order."""
        end = 0
        for digest, length in zip(split_digests(self.digests), self.lengths, strict=True):
            end += length
            yield digest, self.raw[end - length : end]


@lru_cache(maxsize=4)
def _compressor(level: int) -> zstd.ZstdCompressor:
    # Kept: a new one for each segment costs its page faults, 0.3 ms for 1 MiB.
    parameter = zstd.CompressionParameter
    options: dict[int, int] = {
        parameter.compression_level: level,
        parameter.window_log: _WINDOW_LOG,
        parameter.hash_log: _HASH_LOG,
        parameter.chain_log: _CHAIN_LOG,
    }
    return zstd.ZstdCompressor(options=options)


def compress(data: Data, level: int = ZSTD_LEVEL) -> bytes:
    """One zstd frame that states its size."""
    compressor = _compressor(level)
    return compressor.compress(data, compressor.FLUSH_FRAME)


def decompress(data: Data, length: int) -> bytes:
    """The ``length`` bytes of one zstd frame; ``DamageError`` if there are not exactly so many."""
    try:
        decompressor = zstd.ZstdDecompressor()
        # One byte more than allowed, so that a frame that holds too much is noticed, not decoded.
        raw = decompressor.decompress(data, length + 1)
    except zstd.ZstdError as error:
        raise DamageError(f"compressed bytes are damaged ({error})") from error
    if len(raw) != length or not decompressor.eof or decompressor.unused_data:
        raise DamageError("compressed bytes have another length than stated")
    return raw


def decompress_prefix(data: Data, length: int) -> bytes:
    """What a damaged zstd frame still gives before the damage, at most ``length`` bytes."""
    decompressor = zstd.ZstdDecompressor()
    parts: list[bytes] = []
    got = 0
    view = memoryview(data)
    # By small steps: a step in which damage is met gives nothing.
    for at in range(0, len(view), _STEP_BYTES):
        if decompressor.eof or got >= length:
            break
        try:
            parts.append(decompressor.decompress(view[at : at + _STEP_BYTES], length - got))
            while not decompressor.needs_input and not decompressor.eof and got < length:
                got += len(parts[-1])
                parts.append(decompressor.decompress(b"", length - got))
        except zstd.ZstdError:
            break
        got += len(parts[-1])
    return b"".join(parts)


def encode_segment(
    digests: Sequence[bytes], blocks: Sequence[Data], *, level: int = ZSTD_LEVEL
) -> EncodedSegment:
    """Put blocks, at least one, into a segment. What does not shrink is stored as it is."""
    payload = b"".join(blocks)
    raw = len(payload)
    compression = COMPRESSION_NONE
    compressed = compress(payload, level)
    if len(compressed) < raw * _KEEP_RAW_OVER:
        payload, compression = compressed, COMPRESSION_ZSTD
    lengths = array("I", map(len, blocks))
    longest = max(lengths)
    width = 1 if longest < 1 << 8 else 2 if longest < 1 << 16 else 4
    joined = b"".join(digests)
    table = _encode_lengths(lengths, width) + joined
    header = _HEADER.pack(
        SEGMENT_MAGIC, SEGMENT_VERSION, CIPHER_NONE, compression, width, len(lengths), raw,
        len(payload), 0, xxh3_64_intdigest(table), xxh3_64_intdigest(payload),
    )  # fmt: skip
    header = seal(header)
    parts = (header + table, payload)
    stored = len(parts[0]) + len(payload)
    return EncodedSegment(parts, stored, raw, _seal_of(header), joined, lengths)


def decode_header(data: bytes | memoryview) -> SegmentHeader:
    """Read the first ``HEADER_BYTES`` of ``data``.

    Raises ``DamageError``, or ``RepositoryError`` for a cipher, compression or version that this
    version of snapfs does not know.
    """
    (
        magic, version, cipher, compression, width, count, raw, payload, _,
        table_checksum, payload_checksum,
    ) = unseal(_HEADER, data, "segment header")  # fmt: skip
    if magic != SEGMENT_MAGIC:
        raise DamageError("segment header is damaged")
    if version != SEGMENT_VERSION or cipher != CIPHER_NONE:
        raise RepositoryError(
            f"segment of version {version} with cipher {cipher}", hint="use a newer snapfs"
        )
    if compression > COMPRESSION_ZSTD:
        raise RepositoryError(f"segment compression {compression}", hint="use a newer snapfs")
    if width not in _WIDTH_CODES or raw > MAX_RAW_BYTES or not count:
        raise DamageError("segment header makes no sense")
    return SegmentHeader(
        compression, width, count, raw, payload, table_checksum, payload_checksum, _seal_of(data)
    )


def split_digests(joined: bytes) -> list[bytes]:
    """Digests one by one."""
    return [joined[at : at + DIGEST_BYTES] for at in range(0, len(joined), DIGEST_BYTES)]


def decode_table(header: SegmentHeader, table: Data) -> tuple[bytes, array[int]]:
    """Digests, joined, and lengths. Raises ``DamageError``."""
    if len(table) != header.table or xxh3_64_intdigest(table) != header.table_checksum:
        raise DamageError("segment table is damaged")
    lengths = _decode_lengths(header, table)
    if sum(lengths) != header.raw or 0 in lengths:
        raise DamageError("segment table does not add up")
    return bytes(table[header.block_count * header.width :]), lengths


def decode_payload(header: SegmentHeader, payload: Data) -> memoryview:
    """The blocks' bytes one after another. Raises ``DamageError``."""
    if len(payload) != header.payload or xxh3_64_intdigest(payload) != header.payload_checksum:
        raise DamageError("segment payload is damaged")
    if header.compression == COMPRESSION_NONE:
        if header.payload != header.raw:
            raise DamageError("segment payload has another length than stated")
        return memoryview(payload)
    return memoryview(decompress(payload, header.raw))


def decode_segment(data: Data) -> DecodedSegment:
    """Decode a whole segment, mending its digests if need be. Raises ``DamageError``."""
    view = memoryview(data)
    header = decode_header(view)
    middle = HEADER_BYTES + header.table
    raw = decode_payload(header, view[middle : header.stored])
    table = view[HEADER_BYTES:middle]
    try:
        digests, lengths = decode_table(header, table)
    except DamageError:
        digests, lengths = mend_table(header, table, raw)
    return DecodedSegment(header, digests, lengths, raw)


def copied_segment(data: Data) -> EncodedSegment:
    """A stored segment as one that is ready to be written elsewhere, not decompressed.

    Raises ``DamageError`` if a checksum does not agree.
    """
    view = memoryview(data)
    header = decode_header(view)
    middle = HEADER_BYTES + header.table
    if len(view) != header.stored:
        raise DamageError("segment has another size than stated")
    if xxh3_64_intdigest(view[middle:]) != header.payload_checksum:
        raise DamageError("segment payload is damaged")
    digests, lengths = decode_table(header, view[HEADER_BYTES:middle])
    return EncodedSegment((bytes(view),), len(view), header.raw, header.checksum, digests, lengths)


def mend_table(header: SegmentHeader, table: Data, raw: memoryview) -> tuple[bytes, array[int]]:
    """Digests computed from the payload, if the table's lengths are whole.

    Raises ``DamageError`` if the result is not what the table's checksum says it was.
    """
    if len(table) == header.table:
        lengths = _decode_lengths(header, table)
        if sum(lengths) == header.raw and 0 not in lengths:
            digests = b"".join(
                blake3(raw[end - length : end]).digest()
                for length, end in zip(lengths, accumulate(lengths), strict=True)
            )
            mended = bytes(table[: header.block_count * header.width]) + digests
            if xxh3_64_intdigest(mended) == header.table_checksum:
                return digests, lengths
    raise DamageError("segment table is damaged")


def _seal_of(header: Data) -> int:
    return int.from_bytes(header[_HEADER.size : HEADER_BYTES], "little", signed=True)


def _encode_lengths(lengths: array[int], width: int) -> bytes:
    column = array(_WIDTH_CODES[width], lengths)
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()


def _decode_lengths(header: SegmentHeader, table: Data) -> array[int]:
    column = array(_WIDTH_CODES[header.width])
    column.frombytes(bytes(table[: header.block_count * header.width]))
    if sys.byteorder == "big":
        column.byteswap()
    return array("I", column)
