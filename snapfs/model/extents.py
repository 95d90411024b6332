"""The map of a file's bytes: blocks, runs of zeros that are stored on disk, and holes.

Packed form (catalog column ``content.extents``): for each extent one varint ``length << 2 | kind``;
a block's is followed by its number, as the zigzag difference to the previous block number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

from snapfs.model.varint import append_varint, read_varint


class ExtentKind(IntEnum):
    """What an extent consists of. A zero run is allocated on disk, a hole is not."""

    BLOCK = 0
    ZERO = 1
    HOLE = 2


class Extent(NamedTuple):
    """``length`` bytes of a file; ``block`` is a block number (0 for zero runs and holes)."""

    kind: int
    length: int
    block: int


def pack_extents(extents: Iterable[Extent]) -> bytes:
    """Encode extents in file order."""
    out = bytearray()
    last = 0
    for kind, length, block in extents:
        append_varint(out, length << 2 | kind)
        if kind == ExtentKind.BLOCK:
            delta = block - last
            append_varint(out, delta << 1 if delta >= 0 else (-delta << 1) - 1)
            last = block
    return bytes(out)


def unpack_extents(data: bytes) -> list[Extent]:
    """Decode; raises ValueError on damage."""
    return list(each_extent(data))


def each_extent(data: bytes) -> Iterator[Extent]:
    """Decode one by one; raises ValueError where damage is."""
    at = last = 0
    while at < len(data):
        head, at = read_varint(data, at)
        kind = head & 3
        if kind == ExtentKind.BLOCK:
            zigzag, at = read_varint(data, at)
            last += zigzag >> 1 if not zigzag & 1 else -(zigzag + 1 >> 1)
            yield Extent(kind, head >> 2, last)
        elif kind == 3:
            raise ValueError("bad extent kind")
        else:
            yield Extent(kind, head >> 2, 0)


DIGEST_BYTES = 32


def pack_digest_extents(extents: Iterable[tuple[int, int, bytes]]) -> bytes:
    """Encode extents that name their blocks by digest: ``(kind, length, digest)`` in file order."""
    out = bytearray()
    for kind, length, digest in extents:
        append_varint(out, length << 2 | kind)
        if kind == ExtentKind.BLOCK:
            out += digest
    return bytes(out)


def unpack_digest_extents(data: bytes) -> list[tuple[int, int, bytes]]:
    """Decode; raises ValueError on damage."""
    out: list[tuple[int, int, bytes]] = []
    at = 0
    while at < len(data):
        head, at = read_varint(data, at)
        if head & 3 == ExtentKind.BLOCK:
            digest = data[at : at + DIGEST_BYTES]
            if len(digest) != DIGEST_BYTES:
                raise ValueError("bad extent digest")
            at += DIGEST_BYTES
            out.append((ExtentKind.BLOCK, head >> 2, digest))
        elif head & 3 == 3:
            raise ValueError("bad extent kind")
        else:
            out.append((head & 3, head >> 2, b""))
    return out
