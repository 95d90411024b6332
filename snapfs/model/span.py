"""Spans of time: ``30s 5min 2h 7d 2w 3mo 1y``, combinable (``1d12h``).

Months and years are those of the calendar, so a span has two parts that do not convert.
A bare ``m`` is refused, because one reader takes it for minutes and the next for months.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_PART = re.compile(r"(\d+)(min|mo|m|s|h|d|w|y)", re.ASCII)
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_MONTHS = {"mo": 1, "y": 12}
_LONGEST_YEARS = 10_000


class Span(NamedTuple):
    """``months`` of the calendar and ``seconds``, both >= 0."""

    months: int
    seconds: int


def parse_span(text: str) -> Span:
    """A span; ValueError with a full sentence otherwise."""
    months = seconds = 0
    at = 0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None:
            raise ValueError(_complaint(text))
        number, unit = int(match.group(1)), match.group(2)
        if unit == "m":
            raise ValueError(f"{text!r}: m could be minutes or months; write min or mo")
        if unit in _SECONDS:
            seconds += number * _SECONDS[unit]
        else:
            months += number * _MONTHS[unit]
        at = match.end()
    if at == 0:
        raise ValueError(_complaint(text))
    if months > _LONGEST_YEARS * 12 or seconds > _LONGEST_YEARS * 366 * 86400:
        raise ValueError(f"{text!r} is longer than {_LONGEST_YEARS} years")
    return Span(months, seconds)


def parse_wait(text: str) -> float:
    """Seconds from a span without months, or from ``0``; ValueError otherwise."""
    if text == "0":
        return 0.0
    span = parse_span(text)
    if span.months:
        raise ValueError(f"{text!r}: a waiting time has no months or years")
    return float(span.seconds)


def _complaint(text: str) -> str:
    return (
        f"{text!r} is no span of time; write it as 30s 5min 2h 7d 2w 3mo 1y, also combined (1d12h)"
    )
