"""Segments: what goes in comes out, and no damage goes unnoticed."""

from __future__ import annotations

import os
import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapfs.blocks.digest import block_digest
from snapfs.blocks.sealed import seal
from snapfs.blocks.segment import (
    COMPRESSION_NONE,
    COMPRESSION_ZSTD,
    HEADER_BYTES,
    compress,
    decode_header,
    decode_segment,
    decompress,
    encode_segment,
)
from snapfs.errors import DamageError, RepositoryError
from tests.blocks.damage import damaged_copies

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def encoded(blocks: list[bytes]) -> bytes:
    return b"".join(encode_segment([block_digest(b) for b in blocks], blocks).parts)


@settings(deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=2000), min_size=1, max_size=40))
def test_blocks_come_back(blocks: list[bytes]) -> None:
    digests = [block_digest(block) for block in blocks]
    segment = encode_segment(digests, blocks)
    data = b"".join(segment.parts)
    assert len(data) == segment.stored
    decoded = decode_segment(data)
    assert [(d, bytes(b)) for d, b in decoded.blocks()] == list(zip(digests, blocks, strict=True))
    assert decoded.header.checksum == segment.checksum
    assert (decoded.header.stored, decoded.header.raw) == (segment.stored, segment.raw)
    assert (decoded.digests, decoded.lengths) == (segment.digests, segment.lengths)


@pytest.mark.parametrize(("longest", "width"), [(255, 1), (256, 2), (65535, 2), (65536, 4)])
def test_lengths_are_as_narrow_as_they_can_be(longest: int, width: int) -> None:
    blocks = [bytes(longest), b"x"]
    decoded = decode_segment(encoded(blocks))
    assert decoded.header.width == width
    assert list(decoded.lengths) == [longest, 1]


def test_what_does_not_shrink_is_stored_as_it_is() -> None:
    noise = os.urandom(100_000)
    assert decode_header(encoded([noise])).compression == COMPRESSION_NONE
    assert decode_header(encoded([b"text" * 25_000])).compression == COMPRESSION_ZSTD
    assert len(encoded([noise])) == len(noise) + HEADER_BYTES + 4 + 32


def test_every_damage_is_noticed() -> None:
    """Each byte of header and table, and every 7th of the payload."""
    rng = random.Random(2)
    blocks = [b"some text " * rng.randrange(1, 60) + rng.randbytes(20) for _ in range(20)]
    data = encoded(blocks)
    whole = decode_segment(data)
    table = HEADER_BYTES + whole.header.table
    offsets = [*range(table), *range(table, len(data), 7)]
    mended = 0
    for what, at, damaged in damaged_copies(data, offsets):
        try:
            decoded = decode_segment(damaged)
        except DamageError:
            continue
        # Only digests in the table can be mended, from the payload.
        assert what != "truncate"
        assert HEADER_BYTES + len(blocks) * whole.header.width <= at < table, (what, at)
        assert decoded.digests == whole.digests
        assert decoded.raw == whole.raw
        mended += 1
    assert mended > 100


def test_a_newer_version_or_cipher_is_refused_by_name() -> None:
    data = bytearray(encoded([b"x"]))
    for at, word in ((8, "version 9"), (9, "cipher 9"), (10, "compression 9")):
        newer = bytearray(data)
        newer[at] = 9
        newer[:HEADER_BYTES] = seal(bytes(newer[: HEADER_BYTES - 8]))
        with pytest.raises(RepositoryError, match=word):
            decode_header(bytes(newer))


def test_a_frame_of_another_length_is_damage() -> None:
    frame = compress(b"x" * 1000)
    assert decompress(frame, 1000) == b"x" * 1000
    for data, length in ((frame, 999), (frame, 1001), (frame[:-1], 1000), (frame + b"x", 1000)):
        with pytest.raises(DamageError):
            decompress(data, length)
    with pytest.raises(DamageError):
        decompress(b"no frame at all", 10)


def test_a_frame_that_would_fill_the_memory_is_not_decoded() -> None:
    bomb = compress(bytes(64 * 1024 * 1024))
    with pytest.raises(DamageError):
        decompress(bomb, 10)


def test_compression_says_its_size_and_is_repeatable() -> None:
    data = b"abc" * 100_000
    assert compress(data) == compress(data)
    assert zstd.get_frame_info(compress(data)).decompressed_size == len(data)
