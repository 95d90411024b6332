"""The framing of journal records."""

from __future__ import annotations

import os
import random

import pytest

from snapfs.blocks.chain import (
    END_BYTES,
    FRAME_HEADER_BYTES,
    RECORD_HEADER_BYTES,
    Pread,
    RecordWriter,
    find_record_header,
    first_hash,
    read_pieces,
    read_record,
)
from snapfs.blocks.sealed import TornError
from snapfs.errors import DamageError
from tests.blocks.damage import damaged_copies

FIRST = first_hash(b"r" * 16)


def written(pieces: list[bytes], seq: int = 1, previous: bytes = FIRST) -> tuple[bytes, bytes]:
    out = bytearray()
    record = RecordWriter(out.extend, seq, previous)
    for piece in pieces:
        record.add(piece)
    own = record.finish()
    assert record.length == len(out)
    return bytes(out), own


def preader(data: bytes) -> Pread:
    return lambda offset, length: data[offset : offset + length]


PIECES = [b"header", b"", b"text " * 1000, os.urandom(3000)]


@pytest.mark.parametrize("pieces", [[], PIECES, [random.Random(6).randbytes(700_000)] * 4])
def test_pieces_come_back(pieces: list[bytes]) -> None:
    data, own = written(pieces)
    pread = preader(b"before" + data + b"after")
    span = read_record(pread, 6)
    assert (span.seq, span.previous, span.hash) == (1, FIRST, own)
    assert (span.start, span.end) == (6, 6 + len(data))
    assert list(read_pieces(pread, span)) == pieces


def test_every_cut_is_torn() -> None:
    data, _ = written(PIECES)
    for size in range(len(data)):
        with pytest.raises(TornError):
            read_record(preader(data[:size]), 0)


def test_every_damage_is_noticed() -> None:
    data, _ = written(PIECES)
    for _, _, damaged in damaged_copies(data, list(range(0, len(data), 3))):
        with pytest.raises(DamageError):
            read_record(preader(damaged), 0)


def test_the_hash_depends_on_everything_before() -> None:
    hashes = {
        written([b"a"])[1],
        written([b"b"])[1],
        written([b"a"], seq=2)[1],
        written([b"a"], previous=bytes(32))[1],
    }
    assert len(hashes) == 4
    assert first_hash(b"r" * 16) != first_hash(b"s" * 16)


def test_headers_are_found_across_reads() -> None:
    data, _ = written([b"x"])
    for gap in (0, 1, 1024 * 1024 - 30, 3 * 1024 * 1024):
        block = b"\xf5snapREC" * (gap // 8) + bytes(gap % 8) + data
        assert find_record_header(preader(block), 0, len(block)) == gap
    assert find_record_header(preader(data), 1, len(data)) is None


def test_sizes_of_format_1() -> None:
    assert (RECORD_HEADER_BYTES, FRAME_HEADER_BYTES, END_BYTES) == (64, 32, 72)


def test_a_piece_that_no_reader_would_take_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snapfs.blocks.chain.MAX_RAW_BYTES", 3 * 1024 * 1024)
    written([bytes(1024 * 1024)])
    with pytest.raises(ValueError, match="too large"):
        written([bytes(1024 * 1024 + 1)])
