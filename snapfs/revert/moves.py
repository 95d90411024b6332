"""The ends of moves that are undone: where something is now goes only once it is back where it was."""

from __future__ import annotations

from collections.abc import Sequence

from snapfs.catalog.spill import Spill, SpilledMap
from snapfs.materialize.wanted import Moved
from snapfs.model.path import parent_of, within
from snapfs.threeway import Settled


def moved_back(settled: Settled, spill: Spill) -> Moved:
    """What `materialize` has to know of them."""
    ends: SpilledMap[bool] = spill.map()
    for item in settled.items():
        if item.move is None or item.other is not None or not settled.applies(item):
            continue
        path = item.path
        while path and path not in ends:
            ends[path] = True
            path = parent_of(path)

    def stay(failed: Sequence[bytes]) -> frozenset[bytes]:
        return frozenset(
            item.move
            for item in settled.items()
            if item.move is not None and item.other is not None and settled.applies(item)
            and any(within(item.path, top) for top in failed)
        )  # fmt: skip

    return Moved(ends.__contains__, stay)
