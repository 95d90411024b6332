"""Ways to damage a file, for the damage tests of packs and journals."""

from __future__ import annotations

from collections.abc import Iterator


def damaged_copies(data: bytes, offsets: list[int]) -> Iterator[tuple[str, int, bytes]]:
    """Each kind of damage at each offset: what, where, and the bytes that are then on disk."""
    for at in offsets:
        yield "truncate", at, data[:at]
        flipped = bytearray(data)
        flipped[at] ^= 1 << (at % 8)
        yield "flip", at, bytes(flipped)
        zeroed = bytearray(data)
        zeroed[at : at + 64] = bytes(len(zeroed[at : at + 64]))
        if zeroed != data:
            yield "zero", at, bytes(zeroed)


def spread(size: int, count: int) -> list[int]:
    """``count`` offsets from the first byte to the last."""
    return sorted({size * i // count for i in range(count)} | {size - 1})
