"""What can still be had of a damaged segment: its bytes read in every way that it may have been written.

Nothing a damaged header or table says is believed, and nothing here is either: who has the digest of a block
finds in one of these readings the bytes that it names, or finds it in none. Blocks that are not compressed
do not depend on each other, of compressed ones those before the damage can be had.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from snapfs.blocks.digest import DIGEST_BYTES
from snapfs.blocks.segment import HEADER_BYTES, decompress_prefix

_WIDTHS = (1, 2, 4)
_COUNT = slice(12, 16)
"""Where the header says how many blocks there are."""


def readings(data: bytes, raw: int, block_counts: Iterable[int]) -> Iterator[memoryview]:
    """The blocks one after another, as they may be found in the bytes of a segment.

    ``raw`` is how many bytes they had, ``block_counts`` how many blocks there may have been: where the
    payload begins follows from that.
    """
    view = memoryview(data)
    counts = {*block_counts, int.from_bytes(data[_COUNT], "little")}
    starts = {
        HEADER_BYTES + count * (width + DIGEST_BYTES)
        for count in counts
        if count
        for width in _WIDTHS
    }
    for start in sorted(starts):
        if start < len(view):
            payload = view[start:]
            yield payload[:raw]
            yield memoryview(decompress_prefix(payload, raw))
