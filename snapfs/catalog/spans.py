"""Spans of a chain by ids of snapshots, as rows hold them: above ``low``, up to ``high``.

A row stamped with a snapshot holds in it and, back to the row before, in those before it. Ids grow along
a chain, so no list of its snapshots is needed to cut spans with spans. The newest state counts as that
of the head.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

V = TypeVar("V")


class Span(NamedTuple):
    """Snapshots above ``low`` up to ``high``."""

    low: int
    high: int

    def cut(self, other: Span) -> Span | None:
        """What both have in common, None for nothing."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Span(low, high) if low < high else None


def held(rows: Iterable[tuple[int | None, V]], head: int) -> Iterator[tuple[Span, V]]:
    """What a thing was from its rows, oldest first; of a row of the newest state the snapshot is None.

    Behind the last of them it was nothing.
    """
    low = 0
    found = [(head if at is None else at, value) for at, value in rows]
    for at, value in sorted(found, key=lambda row: row[0]):
        if low < at:
            yield Span(low, at), value
        low = max(low, at)


def union(spans: Iterable[Span]) -> list[Span]:
    """The same snapshots in spans that do not touch, in order."""
    found: list[Span] = []
    for span in sorted(spans):
        if found and span.low <= found[-1].high:
            found[-1] = Span(found[-1].low, max(found[-1].high, span.high))
        else:
            found.append(span)
    return found


def without(spans: Iterable[Span], taken: Sequence[Span]) -> list[Span]:
    """What is left of spans, in order."""
    left: list[Span] = []
    for span in union(spans):
        low = span.low
        for one in union(taken):
            both = one.cut(span)
            if both is not None:
                if low < both.low:
                    left.append(Span(low, both.low))
                low = both.high
        if low < span.high:
            left.append(Span(low, span.high))
    return left
