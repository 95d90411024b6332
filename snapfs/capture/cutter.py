"""Cutting bytes into blocks and storing those that are not stored: of large files, and of streams."""

from __future__ import annotations

from collections.abc import Callable

from snapfs.blocks.chunker import MAX_BLOCK, Chunker, is_zero
from snapfs.blocks.digest import DigestedExtent, block_digest
from snapfs.capture.held import KnownBlocks, Sink
from snapfs.model.extents import ExtentKind

BLOCK, ZERO = int(ExtentKind.BLOCK), int(ExtentKind.ZERO)
WINDOW_BYTES = 4 * 1024 * 1024

Fill = Callable[[memoryview], int]
"""Puts the next bytes into a buffer; how many, 0 at the end."""


class Cutter:
    """Cuts one after another. Memory: a window."""

    def __init__(self, sink: Sink, known: KnownBlocks | None, tell: Callable[[int], None]) -> None:
        """``known`` None: the repository has no blocks yet, nobody need be asked. ``tell`` hears of bytes
        as they come.
        """
        self._sink = sink
        self._known = known
        self._tell = tell
        self._chunker = Chunker()
        self._window = bytearray(0)

    def cut(self, fill: Fill, extents: list[DigestedExtent], length: int | None = None) -> int:
        """Cut and store what ``fill`` gives, ``length`` bytes if that is known; how many there were."""
        if not self._window:
            self._window = bytearray(WINDOW_BYTES + MAX_BLOCK)
        view = memoryview(self._window)
        total = kept = 0
        while True:
            end = len(view) if length is None else min(len(view), kept + length - total)
            got = fill(view[kept:end]) if end > kept else 0
            total += got
            last = got == 0 or total == length
            filled = kept + got
            if filled == 0:
                return total
            self._tell(got)
            used = self._blocks(view[:filled], last, extents)
            kept = filled - used
            if last:
                return total
            view[:kept] = bytes(view[used:filled])

    def _blocks(self, window: memoryview, last: bool, extents: list[DigestedExtent]) -> int:
        """Store the blocks of a window; how many bytes of it they took."""
        at = 0
        cut: list[tuple[bytes, memoryview]] = []
        for length in self._chunker.cut(window, last=last):
            piece = window[at : at + length]
            at += length
            if is_zero(piece):
                extents.append((ZERO, length, b""))
                continue
            digest = block_digest(piece)
            extents.append((BLOCK, length, digest))
            cut.append((digest, piece))
        stored = self._known([digest for digest, _ in cut]) if self._known and cut else ()
        for digest, piece in cut:
            if digest not in stored:
                self._sink.add(digest, piece, large=True)
        return at
