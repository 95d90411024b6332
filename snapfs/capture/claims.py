"""Which blocks of this run somebody stores already: a table that its workers share.

Two workers that meet equal bytes would each store them. A table in shared memory that knows the last
quarter million of digests is asked for a third of a microsecond and nobody waits for anybody. It may
forget, and two that look at the same moment may both store a block, which costs room and nothing else;
a digest that it knows is whole, so what it says is never wrong.
"""

from __future__ import annotations

import mmap
import os

from snapfs.blocks.digest import DIGEST_BYTES
from snapfs.blocks.store import BlockSink

WORTHWHILE = 512
"""Smaller blocks save nothing, and a million of them would drive out the others. In bytes."""

_SLOTS = 256 * 1024
_TRIES = 4
_NONE = bytes(DIGEST_BYTES)


def make_table() -> int:
    """A descriptor of an empty table, for `Claims` in each worker."""
    fd = os.memfd_create("snapfs-claims")
    os.ftruncate(fd, _SLOTS * DIGEST_BYTES)
    return fd


class Claims:
    """One worker's view of the table. It goes with the process."""

    def __init__(self, fd: int) -> None:
        """``fd`` may be closed afterwards."""
        self._table = mmap.mmap(fd, _SLOTS * DIGEST_BYTES)

    def claim(self, digest: bytes) -> bool:
        """Whether the block is the caller's to store: nobody has claimed it before, as far as is known."""
        table = self._table
        slot = int.from_bytes(digest[:4], "little")
        for number in range(slot, slot + _TRIES):
            at = number % _SLOTS * DIGEST_BYTES
            there = table[at : at + DIGEST_BYTES]
            if there == digest:
                return False
            if there == _NONE:
                table[at : at + DIGEST_BYTES] = digest
                return True
        at = slot % _SLOTS * DIGEST_BYTES
        table[at : at + DIGEST_BYTES] = digest
        return True


class ClaimingSink:
    """A sink that stores only what nobody has claimed."""

    def __init__(self, sink: BlockSink, claims: Claims) -> None:
        self._sink = sink
        self._claims = claims
        self.take_finished = sink.take_finished
        self.flush = sink.flush
        self.abandon = sink.abandon

    def add(self, digest: bytes, data: bytes | memoryview, *, large: bool = False) -> bool:
        """As `BlockSink.add`."""
        if len(data) >= WORTHWHILE and not self._claims.claim(digest):
            return False
        return self._sink.add(digest, data, large=large)
