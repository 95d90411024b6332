"""Records in a hash chain: the framing of the journal. Bytes in, values out.

A record is a header (number and the hash of the record before), frames of compressed pieces, and an
end with the record's own hash, BLAKE3 over header and frames as they are stored. A record without a
sound end was never finished. The layout is in ``man 5 snapfs-repository``, JOURNAL.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

from blake3 import blake3
from xxhash import xxh3_64_intdigest

from snapfs.blocks.sealed import SEAL_BYTES, TornError, seal, unseal
from snapfs.blocks.segment import (
    COMPRESSION_NONE,
    COMPRESSION_ZSTD,
    MAX_RAW_BYTES,
    compress,
    decompress,
)
from snapfs.errors import DamageError, RepositoryError
from snapfs.model.varint import append_varint, read_varint

RECORD_MAGIC = b"\xf5snapREC"
FRAME_MAGIC = b"\xf5FRM"
END_MAGIC = b"\xf5snapEND"
RECORD_VERSION = 1

# Pieces are compressed together up to this size: a small record is one frame.
_FRAME_BYTES = 1024 * 1024

# magic, version, reserved, number, hash of the record before; then xxh3-64 of these, as in all.
_RECORD = struct.Struct("<8sHHIQ32s")
# magic, compression, reserved, stored, raw, checksum of the stored bytes.
_FRAME = struct.Struct("<4sB3xIIQ")
# magic, number, bytes of the whole record, frames, hash.
_END = struct.Struct("<8sQQQ32s")

RECORD_HEADER_BYTES = _RECORD.size + SEAL_BYTES
FRAME_HEADER_BYTES = _FRAME.size + SEAL_BYTES
END_BYTES = _END.size + SEAL_BYTES

_FIRST_CONTEXT = "snapfs format 1: hash before the first journal record"

Pread = Callable[[int, int], bytes]
"""``(offset, length)`` to bytes, fewer only at the end."""


class RecordSpan(NamedTuple):
    """A record that was read and found whole. ``start`` and ``end`` are offsets in bytes."""

    seq: int
    start: int
    end: int
    previous: bytes
    hash: bytes


class RecordEnd(NamedTuple):
    """The end of a record."""

    seq: int
    length: int
    frames: int
    hash: bytes


class RecordWriter:
    """Writes one record through ``write``; it counts from the moment ``finish`` has returned."""

    def __init__(self, write: Callable[[bytes], object], seq: int, previous: bytes) -> None:
        self._write = write
        self._seq = seq
        self._hasher = blake3()
        self._frames = 0
        self._waiting = bytearray()
        self.length = 0
        """Bytes written so far."""
        self._put(seal(_RECORD.pack(RECORD_MAGIC, RECORD_VERSION, 0, 0, seq, previous)))

    def add(self, piece: bytes) -> None:
        """Append a piece. Raises ``ValueError`` for one that no reader would take (256 MiB)."""
        if len(piece) > MAX_RAW_BYTES - 2 * _FRAME_BYTES:
            raise ValueError("piece is too large")
        append_varint(self._waiting, len(piece))
        self._waiting += piece
        if len(self._waiting) >= _FRAME_BYTES:
            self._put_frame()

    def finish(self) -> bytes:
        """Write the end; the record's hash."""
        if self._waiting:
            self._put_frame()
        own = self._hasher.digest()
        length = self.length + END_BYTES
        self._write(seal(_END.pack(END_MAGIC, self._seq, length, self._frames, own)))
        self.length = length
        return own

    def _put_frame(self) -> None:
        data = bytes(self._waiting)
        self._waiting.clear()
        stored = compress(data)
        compression = COMPRESSION_ZSTD
        if len(stored) >= len(data):
            stored, compression = data, COMPRESSION_NONE
        fixed = _FRAME.pack(
            FRAME_MAGIC, compression, len(stored), len(data), xxh3_64_intdigest(stored)
        )
        self._put(seal(fixed))
        self._put(stored)
        self._frames += 1

    def _put(self, data: bytes) -> None:
        self._hasher.update(data)
        self._write(data)
        self.length += len(data)


def first_hash(repository_id: bytes) -> bytes:
    """What stands for the hash of the record before the first one."""
    return blake3(repository_id, derive_key_context=_FIRST_CONTEXT).digest()


def read_record(pread: Pread, start: int) -> RecordSpan:
    """Check the record at ``start`` from end to end, without decoding its pieces.

    Raises ``TornError`` if the bytes end before it does, ``DamageError`` if they are wrong, and
    ``RepositoryError`` if it is of a newer version.
    """
    header = pread(start, RECORD_HEADER_BYTES)
    seq, previous = decode_record_header(header)
    hasher = blake3(header)
    at = start + len(header)
    frames = 0
    while True:
        head = pread(at, FRAME_HEADER_BYTES)
        if head[:4] == END_MAGIC[:4]:
            break
        compression, stored, raw, checksum = _decode_frame_header(head)
        del compression, raw
        data = pread(at + FRAME_HEADER_BYTES, stored)
        if len(data) < stored:
            raise TornError("record is cut off")
        if xxh3_64_intdigest(data) != checksum:
            raise DamageError("journal frame is damaged")
        hasher.update(head)
        hasher.update(data)
        at += FRAME_HEADER_BYTES + stored
        frames += 1
    end = decode_end(pread(at, END_BYTES))
    at += END_BYTES
    if end != RecordEnd(seq, at - start, frames, hasher.digest()):
        raise DamageError("record does not agree with its end")
    return RecordSpan(seq, start, at, previous, end.hash)


def read_pieces(pread: Pread, span: RecordSpan) -> Iterator[bytes]:
    """What was given to ``RecordWriter.add``, in order. Raises ``DamageError``."""
    at = span.start + RECORD_HEADER_BYTES
    last = span.end - END_BYTES
    while at < last:
        data, at = _read_frame(pread, at)
        yield from _split(data)


def read_first_piece(pread: Pread, start: int) -> bytes:
    """The first piece of the record at ``start``, whatever has become of its rest. Raises ``DamageError``."""
    data, _ = _read_frame(pread, start + RECORD_HEADER_BYTES)
    return next(_split(data), b"")


def _read_frame(pread: Pread, at: int) -> tuple[bytes, int]:
    """What a frame holds, and where it ends."""
    compression, stored, raw, checksum = _decode_frame_header(pread(at, FRAME_HEADER_BYTES))
    data = pread(at + FRAME_HEADER_BYTES, stored)
    if len(data) != stored or xxh3_64_intdigest(data) != checksum:
        raise DamageError("journal frame is damaged")
    end = at + FRAME_HEADER_BYTES + stored
    return decompress(data, raw) if compression == COMPRESSION_ZSTD else data, end


def _split(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        try:
            length, at = read_varint(data, at)
        except ValueError as error:
            raise DamageError("journal frame is damaged") from error
        if at + length > len(data):
            raise DamageError("journal frame is damaged")
        yield data[at : at + length]
        at += length


def decode_record_header(data: bytes) -> tuple[int, bytes]:
    """Number of a record and hash of the one before. Raises as ``read_record``."""
    magic, version, _, _, seq, previous = unseal(_RECORD, data, "record header")
    if magic != RECORD_MAGIC:
        raise DamageError("record header is damaged")
    if version != RECORD_VERSION:
        raise RepositoryError(f"journal record of version {version}", hint="use a newer snapfs")
    return seq, previous


def decode_end(data: bytes) -> RecordEnd:
    """The end of a record. Raises ``TornError`` and ``DamageError``."""
    magic, *rest = unseal(_END, data, "record end")
    if magic != END_MAGIC:
        raise DamageError("record end is damaged")
    return RecordEnd(*rest)


def find_record_header(pread: Pread, start: int, size: int) -> int | None:
    """Offset of the first sound record header from ``start`` on, None if there is no other."""
    step = 1024 * 1024
    while start + RECORD_HEADER_BYTES <= size:
        data = pread(start, step)
        at = data.find(RECORD_MAGIC)
        while 0 <= at <= len(data) - RECORD_HEADER_BYTES:
            try:
                decode_record_header(data[at : at + RECORD_HEADER_BYTES])
            except (DamageError, RepositoryError):
                at = data.find(RECORD_MAGIC, at + 1)
            else:
                return start + at
        # A header may lie across the border of two reads.
        start += max(1, len(data) - RECORD_HEADER_BYTES + 1)
    return None


def _decode_frame_header(data: bytes) -> tuple[int, int, int, int]:
    magic, compression, stored, raw, checksum = unseal(_FRAME, data, "frame header")
    if magic != FRAME_MAGIC or raw > MAX_RAW_BYTES or stored > raw:
        raise DamageError("frame header is damaged")
    if compression not in (COMPRESSION_NONE, COMPRESSION_ZSTD):
        raise RepositoryError(f"journal compression {compression}", hint="use a newer snapfs")
    return compression, stored, raw, checksum
