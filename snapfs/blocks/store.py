"""Storing blocks: from bytes to finished packs. Used inside each worker process.

A sink fills two segments side by side: small blocks go into large segments, since they compress
better together, and blocks of large files into smaller ones, since those are read at random places.
Nothing is visible, and nothing counts as stored, before its pack is finished.
"""

from __future__ import annotations

from snapfs.blocks.pack import PACK_TARGET_BLOCKS, PACK_TARGET_BYTES, PackInfo, PackWriter
from snapfs.blocks.segment import ZSTD_LEVEL, encode_segment
from snapfs.storage.contract import Backend

# 1, 2, 4, 8 MiB: 118.4, 115.3, 113.4, 112.6 MB stored; one read decodes 4 MiB in 9 ms.
SMALL_SEGMENT_BYTES = 4 * 1024 * 1024
# 1, 2, 4 MiB: 449, 445, 442 MB stored of two installations with large libraries; 2 MiB are decoded in 4.5 ms.
LARGE_SEGMENT_BYTES = 2 * 1024 * 1024

# Blocks of a few bytes: bounds what the table and the digests of a segment take.
_SEGMENT_BLOCKS = 64 * 1024

# Digests remembered so that the worker stores no block twice: 64 to 128 thousand, about 12 MB.
# Files come sorted by name, so that equal ones are near each other.
_REMEMBERED = 64 * 1024


class _OpenSegment:
    """Blocks that wait for their segment to be full."""

    __slots__ = ("blocks", "digests", "size", "target")

    def __init__(self, target: int) -> None:
        self.target = target
        self.digests: list[bytes] = []
        self.blocks: list[bytes] = []
        self.size = 0


class BlockSink:
    """Takes blocks, gives finished packs.

    Raises ``StorageFullError`` and ``StorageError``; after an error, and to give up, call
    ``abandon``: packs that were finished stay, the open one is removed. Memory: one segment of each
    sort, one compressed segment, the remembered digests, and 36 bytes a block of the open pack.
    """

    def __init__(
        self,
        backend: Backend,
        repository_id: bytes,
        stem: str,
        *,
        level: int = ZSTD_LEVEL,
        pack_target_bytes: int = PACK_TARGET_BYTES,
    ) -> None:
        self._backend = backend
        self._repository_id = repository_id
        self._stem = stem
        self._level = level
        self._pack_target = pack_target_bytes
        self._small = _OpenSegment(SMALL_SEGMENT_BYTES)
        self._large = _OpenSegment(LARGE_SEGMENT_BYTES)
        self._pack: PackWriter | None = None
        self._finished: list[PackInfo] = []
        self._recent: set[bytes] = set()
        self._older: set[bytes] = set()
        self.stored_bytes = 0
        """Bytes of the segments written so far."""

    def add(
        self, digest: bytes, data: bytes | bytearray | memoryview, *, large: bool = False
    ) -> bool:
        """Store a block of at least one byte, unless this sink did so lately (then False).

        ``large`` says that it is part of a large file. Only ``bytes`` are kept as they are, other
        buffers are copied and may be used again at once.
        """
        if digest in self._recent or digest in self._older:
            return False
        self._recent.add(digest)
        segment = self._large if large else self._small
        if type(data) is not bytes:
            data = bytes(data)
        segment.digests.append(digest)
        segment.blocks.append(data)
        segment.size += len(data)
        if segment.size >= segment.target or len(segment.blocks) >= _SEGMENT_BLOCKS:
            self._close_segment(segment)
        return True

    def take_finished(self) -> list[PackInfo]:
        """Packs finished since the last call; durable, with final names."""
        finished, self._finished = self._finished, []
        return finished

    def flush(self) -> list[PackInfo]:
        """Finish what is open; all packs finished since the last ``take_finished``."""
        for segment in (self._small, self._large):
            self._close_segment(segment)
        self._finish_pack()
        return self.take_finished()

    def abandon(self) -> None:
        """Drop what is not in a finished pack."""
        if self._pack is not None:
            self._pack.abandon()
            self._pack = None

    def __enter__(self) -> BlockSink:
        return self

    def __exit__(self, *_: object) -> None:
        self.abandon()

    def _close_segment(self, segment: _OpenSegment) -> None:
        if not segment.blocks:
            return
        encoded = encode_segment(segment.digests, segment.blocks, level=self._level)
        segment.digests, segment.blocks, segment.size = [], [], 0
        if self._pack is None:
            self._pack = PackWriter(self._backend, self._repository_id, self._stem)
        self._pack.append(encoded)
        self.stored_bytes += encoded.stored
        if len(self._recent) >= _REMEMBERED:
            self._older, self._recent = self._recent, set()
        pack = self._pack
        if pack.size >= self._pack_target or pack.blocks >= PACK_TARGET_BLOCKS:
            self._finish_pack()

    def _finish_pack(self) -> None:
        if self._pack is not None:
            self._finished.append(self._pack.finish())
            self._pack = None
