"""By how much each snapshot of a chain has fewer entries and bytes, counted in spans."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from snapfs.catalog.spans import Span
from snapfs.model.kinds import Kind

_FILES, _DIRS, _OTHERS, _BYTES = range(4)


class Counts:
    """Adds up per snapshot, in time that does not follow the length of the spans."""

    def __init__(self, chain: Sequence[int]) -> None:
        """``chain`` are the ids of the snapshots, oldest first."""
        self._chain = chain
        self._steps = [[0] * (len(chain) + 1) for _ in range(4)]

    def entry(self, span: Span | None, kind: int) -> None:
        """One name of a kind, in each snapshot of a span."""
        what = {Kind.FILE: _FILES, Kind.DIR: _DIRS}.get(Kind(kind), _OTHERS)
        self._add(span, what, 1)

    def file(self, span: Span | None, kind: int, size: int) -> None:
        """The bytes of one file, however many names it has."""
        if kind == Kind.FILE:
            self._add(span, _BYTES, size)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The snapshots with what is missing from each."""
        columns = zip(self._chain, *(accumulate(steps) for steps in self._steps), strict=False)
        for snapshot, files, dirs, others, size in columns:
            if files or dirs or others or size:
                yield {
                    "snapshot": snapshot, "gone_files": files, "gone_dirs": dirs,
                    "gone_others": others, "gone_bytes": size,
                }  # fmt: skip

    def _add(self, span: Span | None, what: int, amount: int) -> None:
        if span is not None:
            self._steps[what][bisect_right(self._chain, span.low)] += amount
            self._steps[what][bisect_right(self._chain, span.high)] -= amount
