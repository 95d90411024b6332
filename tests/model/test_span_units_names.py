"""Spans, sizes, shares, counts, names and labels as people write them."""

from __future__ import annotations

import pytest

from snapfs.model.names import (
    check_name,
    default_snapshot_name,
    label_from_path,
    unique_name,
    valid_name,
)
from snapfs.model.span import Span, parse_span, parse_wait
from snapfs.model.units import (
    exact_size,
    format_count,
    format_duration,
    format_size,
    parse_count,
    parse_share,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "months", "seconds"),
    [
        ("30s", 0, 30),
        ("5min", 0, 300),
        ("2h", 0, 7200),
        ("7d", 0, 7 * 86400),
        ("2w", 0, 14 * 86400),
        ("3mo", 3, 0),
        ("1y", 12, 0),
        ("1y2mo3w4d5h6min7s", 14, 25 * 86400 + 5 * 3600 + 6 * 60 + 7),
        ("1d12h", 0, 129600),
        ("0s", 0, 0),
    ],
)
def test_spans(text: str, months: int, seconds: int) -> None:
    assert parse_span(text) == Span(months, seconds)


@pytest.mark.parametrize(
    "text",
    ["", "5", "m", "5m", "1h5m", "5 min", "-5s", "1.5h", "5S", "5h ", "h5", "٣d", "9999999y"],
)
def test_no_spans(text: str) -> None:
    with pytest.raises(ValueError):
        parse_span(text)


def test_a_bare_m_says_why() -> None:
    with pytest.raises(ValueError, match="min or mo"):
        parse_span("5m")


def test_waiting() -> None:
    assert parse_wait("0") == 0
    assert parse_wait("1min30s") == 90
    with pytest.raises(ValueError, match="months"):
        parse_wait("1mo")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0), ("4096", 4096), ("1K", 1024), ("10M", 10 << 20), ("1.5G", 3 << 29), ("2T", 2 << 40),
        ("10k", 10240), ("10KiB", 10240), ("10 MB", 10 << 20), ("5B", 5), ("0.1K", 102),
    ],
)  # fmt: skip
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "K", "-1", "1.5", "1,5M", "1Q", "1e3", "0x10", "10iB", "٣"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(ValueError):
        parse_size(text)


def test_shares() -> None:
    assert parse_share("5%") == 0.05
    assert parse_share("0.5 %") == 0.005
    assert parse_share("100%") == 1
    for text in ("0%", "101%", "5", "-5%", "%", "5%%"):
        with pytest.raises(ValueError):
            parse_share(text)


def test_counts() -> None:
    assert parse_count("12") == 12
    for text in ("-1", "", "1.5", "x", "²", "9" * 30):
        with pytest.raises(ValueError):
            parse_count(text)
    assert format_count(1, "file") == "1 file"
    assert format_count(68000, "file") == "68,000 files"
    assert format_count(2, "directory", "directories") == "2 directories"


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"), (1, "1 B"), (1023, "1023 B"), (1024, "1.0K"), (1536, "1.5K"), (10 * 1024, "10K"),
        (1023 * 1024, "1.0M"), (1 << 20, "1.0M"), (427 << 20, "427M"), (1 << 62, "4.0E"),
        ((1 << 30) - 1, "1.0G"), (-1536, "-1.5K"),
    ],
)  # fmt: skip
def test_sizes_for_people(size: int, text: str) -> None:
    assert format_size(size) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (10, "10 B"), (1024, "1K"), (500 << 20, "500M"), (1500 << 10, "1500K"), (1234567, "1234567 B")],
)  # fmt: skip
def test_exact_sizes_are_read_back(size: int, text: str) -> None:
    assert exact_size(size) == text
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        (0, "0.00 s"), (30_000_000, "0.03 s"), (6_700_000_000, "6.7 s"), (59_960_000_000, "1 min 00 s"),
        (125_000_000_000, "2 min 05 s"), (3_720_000_000_000, "1 h 02 min"),
    ],
)  # fmt: skip
def test_durations_for_people(duration_ns: int, text: str) -> None:
    assert format_duration(duration_ns) == text


@pytest.mark.parametrize(
    "name", ["a", "A1", "s20260601-120000.000", "a.b", "x_y+z-", "latest2", "d3"]
)
def test_names(name: str) -> None:
    assert valid_name(name)
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "", "1", "3d", "2026-06-01", "latest", "a..b", "a/b", "a b", "a:b", "a@b", "a~1", "-a", ".a",
        "é", "a\n", "a" * 201, "_a", "a\x00",
    ],
)  # fmt: skip
def test_no_names(name: str) -> None:
    assert not valid_name(name)
    with pytest.raises(ValueError):
        check_name(name)


def test_default_names_are_utc_and_valid() -> None:
    assert default_snapshot_name(1_780_315_205_123_999_999) == "s20260601-120005.123"
    assert default_snapshot_name(0) == "s19700101-000000.000"
    assert valid_name(default_snapshot_name(-1))
    assert valid_name(default_snapshot_name((1 << 62) + 5))


@pytest.mark.parametrize(
    ("path", "label"),
    [
        (b"/home/me/photos", "photos"),
        (b"/", "root"),
        (b"/x/2026", "root-2026"),
        (b"/x/my  photos", "my-photos"),
        (b"/x/.config", "config"),
        (b"/x/a...b", "a.b"),
        (b"/x/latest", "root-latest"),
        (b"/x/_a", "root-_a"),
        (b"/x/a@b:c~1", "a-b-c-1"),
        (b"/x/\xff\xfe", "root"),
        (b"/x/" + b"n" * 255, "n" * 200),
        (b"/x/" + b"1" * 255, "root-" + "1" * 195),
        (b"/x/" + b"n" * 199 + b" n", "n" * 199),
    ],
)
def test_labels(path: bytes, label: str) -> None:
    assert label_from_path(path) == label
    assert valid_name(label)


def test_unique_names() -> None:
    assert unique_name("photos", {"docs"}) == "photos"
    assert unique_name("photos", {"photos", "photos-2"}) == "photos-3"
    assert len(unique_name("n" * 200, {"n" * 200})) == 200
