"""Fixed structures with their own checksum behind them: every header and trailer of the formats."""

from __future__ import annotations

import struct
from typing import Any

from xxhash import xxh3_64_intdigest

from snapfs.errors import DamageError

_CHECKSUM = struct.Struct("<Q")
SEAL_BYTES = _CHECKSUM.size


class TornError(DamageError):
    """The bytes end too early: they were never written, or were cut off."""


def seal(fixed: bytes) -> bytes:
    """``fixed`` and its xxh3-64 (u64, little-endian)."""
    return fixed + _CHECKSUM.pack(xxh3_64_intdigest(fixed))


def unseal(layout: struct.Struct, data: bytes | memoryview, what: str) -> tuple[Any, ...]:
    """The fields of a structure at the start of ``data``; further bytes are ignored.

    Raises ``TornError`` or ``DamageError``, saying ``what`` is damaged.
    """
    size = layout.size
    if len(data) < size + SEAL_BYTES:
        raise TornError(f"{what} is cut off")
    fixed = data[:size]
    if _CHECKSUM.unpack_from(data, size)[0] != xxh3_64_intdigest(fixed):
        raise DamageError(f"{what} is damaged")
    return layout.unpack(fixed)
