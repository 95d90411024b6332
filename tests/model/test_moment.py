"""Times as written, in every zone and far beyond the years of datetime."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapfs.model.moment import (
    NS,
    before,
    civil_from_days,
    days_from_civil,
    format_local,
    format_rfc3339,
    local_to_utc_ns,
    parse_moment,
)
from snapfs.model.span import Span


def utc(at_ns: int) -> int:
    return 0


def berlin(at_ns: int) -> int:
    """Central European time of 2026: summer time from 29 March 01:00 UTC to 25 October 01:00 UTC."""
    begin = datetime(2026, 3, 29, 1, tzinfo=UTC).timestamp() * NS
    end = datetime(2026, 10, 25, 1, tzinfo=UTC).timestamp() * NS
    return 7200 if begin <= at_ns < end else 3600


def stamp(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp()) * NS  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026-06-01", stamp(2026, 6, 1), stamp(2026, 6, 2) - 1),
        ("2026-06-01Z", stamp(2026, 6, 1), stamp(2026, 6, 2) - 1),
        ("2026-06-01T14:30", stamp(2026, 6, 1, 14, 30), stamp(2026, 6, 1, 14, 30)),
        ("2026-06-01 14:30:05", stamp(2026, 6, 1, 14, 30, 5), stamp(2026, 6, 1, 14, 30, 6) - 1),
        ("2026-06-01T14:30:05.25Z", stamp(2026, 6, 1, 14, 30, 5) + NS // 4, None),
        ("2026-06-01T14:30+02:00", stamp(2026, 6, 1, 12, 30), stamp(2026, 6, 1, 12, 30)),
        ("2026-06-01T14:30-0530", stamp(2026, 6, 1, 20), stamp(2026, 6, 1, 20)),
        ("1969-12-31T23:59:59Z", -NS, -1),
    ],
)
def test_moments(text: str, first: int, last: int | None) -> None:
    moment = parse_moment(text)
    assert moment.first_ns(utc) == first
    assert moment.last_ns(utc) == (first if last is None else last)


@pytest.mark.parametrize(
    "text",
    [
        "", "2026", "2026-6-1", "2026-13-01", "2026-02-29", "2026-06-01T", "2026-06-01T24:00",
        "2026-06-01T12:60", "2026-06-01T12:00:61", "2026-06-01T12:00+24:00", "2026-06-01x",
        "٢٠٢٦-٠٦-٠١",
    ],
)  # fmt: skip
def test_no_moments(text: str) -> None:
    with pytest.raises(ValueError):
        parse_moment(text)


def test_a_leap_day_exists_in_leap_years_only() -> None:
    assert parse_moment("2028-02-29").start_s == days_from_civil(2028, 2, 29) * 86400


def test_local_time_around_changes_of_the_clock() -> None:
    assert parse_moment("2026-06-01T14:30").first_ns(berlin) == stamp(2026, 6, 1, 12, 30)
    assert parse_moment("2026-01-01T14:30").first_ns(berlin) == stamp(2026, 1, 1, 13, 30)
    # 02:30 comes twice in autumn: the later one. In spring it does not come at all.
    assert parse_moment("2026-10-25T02:30").first_ns(berlin) == stamp(2026, 10, 25, 1, 30)
    assert parse_moment("2026-03-29T02:30").first_ns(berlin) == stamp(2026, 3, 29, 1, 30)
    # The day of the change has 23 or 25 hours.
    day = parse_moment("2026-10-25")
    assert day.last_ns(berlin) + 1 - day.first_ns(berlin) == 25 * 3600 * NS


def test_spans_before_now() -> None:
    now = stamp(2026, 3, 31, 12)
    assert before(now, Span(0, 86400), utc) == stamp(2026, 3, 30, 12)
    assert before(now, Span(1, 0), utc) == stamp(2026, 2, 28, 12)
    assert before(now + 7, Span(12, 60), utc) == stamp(2025, 3, 31, 11, 59) + 7
    # A month by the local calendar: noon stays noon over the change of the clock.
    assert before(stamp(2026, 4, 15, 10), Span(1, 0), berlin) == stamp(2026, 3, 15, 11)


@given(st.integers(min_value=-62135596800, max_value=253402300799))
def test_civil_days_agree_with_datetime(second: int) -> None:
    day = second // 86400
    expected = datetime(1970, 1, 1) + timedelta(days=day)
    assert civil_from_days(day) == (expected.year, expected.month, expected.day)
    assert days_from_civil(*civil_from_days(day)) == day


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_every_second_has_a_text(second: int) -> None:
    text = format_rfc3339(second, 5)
    assert text.endswith(".000000005Z")
    assert days_from_civil(*civil_from_days(second // 86400)) == second // 86400


def test_texts() -> None:
    assert format_rfc3339(0) == "1970-01-01T00:00:00Z"
    assert format_rfc3339(-1, 999_999_999) == "1969-12-31T23:59:59.999999999Z"
    assert format_local(stamp(2026, 6, 1, 12, 30, 5), 7200) == "2026-06-01 14:30:05"
    assert format_rfc3339(days_from_civil(12026, 1, 1) * 86400) == "+12026-01-01T00:00:00Z"
    assert format_rfc3339(days_from_civil(-5, 1, 1) * 86400) == "-0005-01-01T00:00:00Z"


@given(st.integers(min_value=0, max_value=2**33))
def test_local_time_comes_back(at_s: int) -> None:
    """In whatever zone the tests run."""

    def offset_at(at_ns: int) -> int:
        return time.localtime(at_ns // NS).tm_gmtoff

    civil_s = at_s + offset_at(at_s * NS)
    back = local_to_utc_ns(civil_s, offset_at) // NS
    assert back + offset_at(back * NS) == civil_s
