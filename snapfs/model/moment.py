"""Points in time as people write and read them.

A moment is nanoseconds since the epoch over the whole 64-bit range of seconds that filesystems
keep, so years outside 1..9999 are computed here and not by ``datetime``. What local time means is
an argument, a function from a moment to its offset from UTC in seconds: nothing here knows a zone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from snapfs.model.span import Span, parse_span

OffsetAt = Callable[[int], int]
"""Offset of local time from UTC in seconds, at a moment in nanoseconds."""

NS = 1_000_000_000
MOMENT_PATTERN = (
    r"\d{4}-\d\d-\d\d"
    r"(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)?"
    r"(?:Z|[+-]\d\d:?\d\d)?"
)
"""What ``parse_moment`` reads, for grammars that contain it."""
_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?"
    r"(Z|[+-]\d\d:?\d\d)?",
    re.ASCII,
)
_DAYS_IN_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Moment(NamedTuple):
    """A date with or without a time of day, in the zone ``offset_s`` or, if None, in local time.

    ``start_s`` is the civil time as seconds since 1970-01-01T00:00 of that zone; the moment was
    written to the precision of ``length_ns`` (a day, a minute, a second, a fraction).
    """

    start_s: int
    nanoseconds: int
    length_ns: int
    offset_s: int | None

    def first_ns(self, offset_at: OffsetAt) -> int:
        """Its first nanosecond."""
        return self._utc_ns(self.start_s, offset_at) + self.nanoseconds

    def last_ns(self, offset_at: OffsetAt) -> int:
        """Its last nanosecond as a state's time: the end of a bare date, or of a whole second.

        A time written to the minute means that minute's beginning. (Lists show seconds: what they
        show must be found again when it is typed.)
        """
        if self.length_ns == 86400 * NS:
            return self._utc_ns(self.start_s + 86400, offset_at) - 1
        if self.length_ns == NS:
            return self.first_ns(offset_at) + NS - 1
        return self.first_ns(offset_at)

    def _utc_ns(self, civil_s: int, offset_at: OffsetAt) -> int:
        if self.offset_s is not None:
            return (civil_s - self.offset_s) * NS
        return local_to_utc_ns(civil_s, offset_at)


# Whole years whose nanoseconds fit 64 bits, in any zone.
_FIRST_YEAR, _LAST_YEAR = 1678, 2261


def parse_when(text: str) -> Moment | Span:
    """A moment, or a span that means as long ago; ValueError with a full sentence otherwise."""
    if re.match(r"\d{4}-", text):
        return parse_moment(text)
    return parse_span(text)


def parse_moment(text: str) -> Moment:
    """A moment as ``2026-06-01[THH:MM[:SS[.fff]]][Z|+HH:MM]``; ValueError otherwise."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{text!r} is no time; write it as 2026-06-01 or 2026-06-01T14:30[:05], "
            "local unless it ends in Z or an offset"
        )
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    start = _civil_seconds(text, (year, month, day), (hour or "0", minute or "0", second or "0"))
    length = 86400 * NS if hour is None else 60 * NS if second is None else NS
    if fraction is not None:
        length = 10 ** (9 - len(fraction))
    return Moment(start, int((fraction or "0").ljust(9, "0")), length, _zone_offset(text, zone))


def _civil_seconds(text: str, date: tuple[str, str, str], clock: tuple[str, str, str]) -> int:
    year, month, day = map(int, date)
    hour, minute, second = map(int, clock)
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        raise ValueError(f"{text!r}: years go from {_FIRST_YEAR} to {_LAST_YEAR}")
    if not 1 <= month <= 12 or not 1 <= day <= days_in_month(year, month):
        raise ValueError(f"{text!r}: there is no such day")
    if hour > 23 or minute > 59 or second > 60:
        raise ValueError(f"{text!r}: there is no such time of day")
    return days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second


def _zone_offset(text: str, zone: str | None) -> int | None:
    if zone is None:
        return None
    if zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    if hours > 23 or minutes > 59:
        raise ValueError(f"{text!r}: there is no such offset")
    return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)


def local_to_utc_ns(civil_s: int, offset_at: OffsetAt) -> int:
    """The moment at which local clocks show ``civil_s``.

    Where they show it twice (clocks set back) the later one; where never, as if they had been set
    an offset earlier.
    """
    earlier = civil_s - offset_at((civil_s - 86400) * NS)
    later = civil_s - offset_at((civil_s + 86400) * NS)
    fitting = [at for at in (earlier, later) if at + offset_at(at * NS) == civil_s]
    return max(fitting, default=earlier) * NS


def before(now_ns: int, span: Span, offset_at: OffsetAt) -> int:
    """The moment ``span`` before ``now_ns``: months by the local calendar first, then seconds."""
    moment = now_ns
    if span.months:
        civil_s = now_ns // NS + offset_at(now_ns)
        days, in_day = divmod(civil_s, 86400)
        year, month, day = civil_from_days(days)
        months = year * 12 + month - 1 - span.months
        year, month = divmod(months, 12)
        day = min(day, days_in_month(year, month + 1))
        civil_s = days_from_civil(year, month + 1, day) * 86400 + in_day
        moment = local_to_utc_ns(civil_s, offset_at) + now_ns % NS
    return moment - span.seconds * NS


def format_local(moment_ns: int, offset_s: int) -> str:
    """``2026-06-01 14:30:05`` in the zone with that offset."""
    return _civil_text(moment_ns // NS + offset_s, " ")


def format_rfc3339(seconds: int, nanoseconds: int = 0) -> str:
    """``2026-06-01T12:30:05.123456789Z``; the fraction is left out if it is 0."""
    fraction = f".{nanoseconds:09}" if nanoseconds else ""
    return f"{_civil_text(seconds, 'T')}{fraction}Z"


def _civil_text(civil_s: int, between: str) -> str:
    days, second = divmod(civil_s, 86400)
    year, month, day = civil_from_days(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    return f"{sign}{abs(year):04}-{month:02}-{day:02}{between}{clock}"


def days_in_month(year: int, month: int) -> int:
    """Days of a month (1..12) of the proleptic Gregorian calendar."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and leap else _DAYS_IN_MONTH[month - 1]


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms")."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * 146097 + day_of_era - 719468


@lru_cache(maxsize=1024)
def civil_from_days(days: int) -> tuple[int, int, int]:
    """Year, month, day of a day since 1970-01-01 (the inverse, same source)."""
    era, day_of_era = divmod(days + 719468, 146097)
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (month <= 2), month, day
