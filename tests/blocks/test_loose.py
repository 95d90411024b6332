"""What can be had of a damaged segment, whatever part of it is damaged."""

from __future__ import annotations

import random

import pytest

from snapfs.blocks.digest import block_digest
from snapfs.blocks.loose import readings
from snapfs.blocks.segment import HEADER_BYTES, encode_segment

SIZES = (300, 70_000, 9, 200_000, 41_000)


def blocks_of(kind: str) -> list[bytes]:
    rng = random.Random(7)
    if kind == "raw":
        return [rng.randbytes(size) for size in SIZES]
    words = [rng.randbytes(12).hex().encode() for _ in range(4000)]
    return [b" ".join(rng.choices(words, k=size // 25 + 1))[:size] for size in SIZES]


def found(data: bytes, blocks: list[bytes], counts: set[int]) -> set[int]:
    """Which of the blocks are in one of the readings."""
    seen: set[int] = set()
    raw = sum(map(len, blocks))
    for reading in readings(data, raw, counts):
        at = 0
        for number, block in enumerate(blocks):
            if block_digest(reading[at : at + len(block)]) == block_digest(block):
                seen.add(number)
            at += len(block)
    return seen


@pytest.mark.parametrize("kind", ["raw", "compressed"])
@pytest.mark.parametrize("where", ["magic", "width", "count", "table", "payload", "end"])
def test_damage_costs_what_it_hits(kind: str, where: str) -> None:
    blocks = blocks_of(kind)
    encoded = encode_segment([block_digest(block) for block in blocks], blocks)
    data = bytearray(b"".join(encoded.parts))
    head = len(encoded.parts[0])
    late = head + len(encoded.parts[1]) * 9 // 10
    everything = set(range(len(blocks)))
    places = {"magic": 0, "width": 11, "count": 12, "table": HEADER_BYTES + 3}
    if where in places:
        data[places[where]] ^= 0x55
        assert found(bytes(data), blocks, {len(blocks)}) == everything
        # Without the index only the header says how many there are.
        assert found(bytes(data), blocks, set()) == (set() if where == "count" else everything)
        return
    if where == "end":
        del data[late:]
    else:
        data[late] ^= 0x55
    left = found(bytes(data), blocks, {len(blocks)})
    if kind == "compressed":
        assert {0, 1, 2} <= left < everything, "what comes before the damage"
    else:
        assert left == everything - {4}, "blocks that are not compressed stand each for itself"
