"""Reading blocks by their place, through a bounded cache of decoded segments.

Whoever reads in order of (pack, segment offset) has each segment decoded once.
"""

from __future__ import annotations

from collections import OrderedDict

from blake3 import blake3

from snapfs.blocks.packreader import PackReader
from snapfs.errors import DamageError
from snapfs.storage.contract import Backend

DEFAULT_CACHE_BYTES = 32 * 1024 * 1024

# Open packs kept: one descriptor each, and a restore goes from pack to pack.
_OPEN_PACKS = 32


class BlockReader:
    """Reads blocks from packs. Not safe to share between threads.

    Nothing is believed: the segment has a checksum, and a block whose digest is given is verified.
    """

    def __init__(self, backend: Backend, cache_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        self._backend = backend
        self._cache_bytes = cache_bytes
        self._cached_bytes = 0
        self._segments: OrderedDict[tuple[str, int], memoryview] = OrderedDict()
        self._packs: OrderedDict[str, PackReader] = OrderedDict()
        self._last: tuple[str, int] | None = None
        self._last_raw = memoryview(b"")

    def read(
        self,
        pack: str,
        segment_offset: int,
        segment_stored: int,
        offset: int,
        length: int,
        *,
        digest: bytes | None = None,
    ) -> memoryview:
        """``length`` bytes at ``offset`` of the raw segment at ``segment_offset`` of ``pack``.

        Raises ``DamageError`` (subject: the pack) if the segment cannot be decoded, is too short or
        the bytes do not have ``digest``; ``MissingObjectError`` if the pack is gone. The view keeps
        the whole decoded segment in memory while it is held.
        """
        key = (pack, segment_offset)
        raw = self._last_raw if key == self._last else self._segment(key, segment_stored)
        block = raw[offset : offset + length]
        if len(block) != length:
            raise DamageError(
                f"pack {pack}, offset {segment_offset}: segment is too short", subject=pack
            )
        if digest is not None and blake3(block).digest() != digest:
            raise DamageError(
                f"pack {pack}, offset {segment_offset}: block {digest.hex()} is damaged",
                subject=pack,
            )
        return block

    def close(self) -> None:
        """Forget everything and give all descriptors back."""
        self._last = None
        self._last_raw = memoryview(b"")
        self._segments.clear()
        self._cached_bytes = 0
        while self._packs:
            self._packs.popitem()[1].close()

    def __enter__(self) -> BlockReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _segment(self, key: tuple[str, int], stored: int) -> memoryview:
        raw = self._segments.get(key)
        if raw is None:
            pack, offset = key
            raw = self._pack(pack).read_raw(offset, stored)
            self._segments[key] = raw
            self._cached_bytes += len(raw)
            # The newest stays, however large it is.
            while self._cached_bytes > self._cache_bytes and len(self._segments) > 1:
                self._cached_bytes -= len(self._segments.popitem(last=False)[1])
        else:
            self._segments.move_to_end(key)
        self._last, self._last_raw = key, raw
        return raw

    def _pack(self, name: str) -> PackReader:
        reader = self._packs.get(name)
        if reader is None:
            reader = PackReader(self._backend, name)
            self._packs[name] = reader
            if len(self._packs) > _OPEN_PACKS:
                self._packs.popitem(last=False)[1].close()
        else:
            self._packs.move_to_end(name)
        return reader
