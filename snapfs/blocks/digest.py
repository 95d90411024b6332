"""Names and checksums of bytes.

Identity is BLAKE3-256, the same in every repository, so that repositories can exchange blocks;
xxh3-64 only finds accidents (``man 5 snapfs-repository``, DIGESTS).
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

from blake3 import blake3
from xxhash import xxh3_64_intdigest

from snapfs.model.extents import ExtentKind

DIGEST_BYTES = 32

# A content of several extents must never have the digest of a block made to look like its list.
_CONTENT_CONTEXT = "snapfs format 1: digest of a content of several extents"

_BLOCK = int(ExtentKind.BLOCK)
_ITEM = Struct("<Q32s")
_SIGN = 1 << 63

DigestedExtent = tuple[int, int, bytes]
"""Kind (``ExtentKind``), length in bytes, digest of the block (``b""`` for zero runs and holes)."""


def block_digest(data: bytes | bytearray | memoryview) -> bytes:
    """BLAKE3-256 of a block's bytes."""
    return blake3(data).digest()


def canonical_extents(extents: Sequence[DigestedExtent]) -> list[DigestedExtent]:
    """The same map without empty extents and with neighbouring zero runs and holes merged."""
    out: list[DigestedExtent] = []
    for extent in extents:
        kind, length, _ = extent
        if not length:
            continue
        if kind != _BLOCK and out and out[-1][0] == kind:
            out[-1] = (kind, out[-1][1] + length, b"")
        else:
            out.append(extent)
    return out


def content_digest(extents: Sequence[DigestedExtent]) -> bytes:
    """Digest of a file's bytes and of its map of holes.

    A content that is one block has the block's digest; any other, the empty one included, the
    digest of its canonical list: for each extent ``length << 2 | kind`` (u64) and 32 bytes, the
    block's digest or zeros.
    """
    if len(extents) == 1 and extents[0][0] == _BLOCK:
        return extents[0][2]
    canonical = canonical_extents(extents)
    if len(canonical) == 1 and canonical[0][0] == _BLOCK:
        return canonical[0][2]
    pack = _ITEM.pack
    items = b"".join([pack(length << 2 | kind, digest) for kind, length, digest in canonical])
    return blake3(items, derive_key_context=_CONTENT_CONTEXT).digest()


def checksum(data: bytes | bytearray | memoryview) -> int:
    """xxh3-64, unsigned, as it stands in the formats."""
    return xxh3_64_intdigest(data)


def signed(value: int) -> int:
    """An unsigned 64-bit number as the catalog stores it (two's complement)."""
    return value - (_SIGN << 1) if value >= _SIGN else value
