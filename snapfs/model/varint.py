"""Unsigned LEB128 integers, the only variable-length number in snapfs' formats."""

from __future__ import annotations


def append_varint(out: bytearray, value: int) -> None:
    """Append ``value`` (>= 0), seven bits a byte, least significant first."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def read_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """The number at offset ``at`` and the offset after it.

    Raises ValueError if it is cut off or longer than 64 bits.
    """
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("bad varint")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
