"""Finished packs as rows of a stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from snapfs.blocks.pack import PackInfo
from snapfs.catalog.stage import Stage


class PackRows:
    """Numbers packs, segments and blocks as they come."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._pack = 0
        self._segment = 0
        self._block = 0
        self.stored_bytes = 0
        """size of the packs"""

    def put(self, packs: Sequence[PackInfo]) -> None:
        """Stage packs that are finished."""
        for pack in packs:
            self.stored_bytes += pack.size
            self._pack += 1
            self._segment, self._block = self._stage.put_pack(
                pack.name, pack.size, _segments(pack), self._pack, self._segment, self._block
            )


def _segments(
    pack: PackInfo,
) -> Iterator[tuple[int, int, int, int, Iterator[tuple[bytes, int, int]]]]:
    for index in pack.segments:
        place = index.place
        yield place.offset, place.stored, place.raw, place.checksum, index.blocks()
