"""The grammar of references, and which snapshot of a chain each means."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapfs.model.moment import NS, parse_moment
from snapfs.model.reference import (
    LATEST_POINT,
    Ago,
    At,
    Live,
    Named,
    Reference,
    find_snapshot,
    is_root_path,
    parse_reference,
    read_range,
    read_reference,
)
from snapfs.model.snapshot import Snapshot
from snapfs.model.span import parse_span


def at(text: str) -> At:
    return At(parse_moment(text))


def ago(text: str) -> Ago:
    return Ago(parse_span(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s1", Reference(Named("s1"))),
        ("latest", Reference(Named("latest"))),
        ("latest~2", Reference(Named("latest", 2))),
        ("latest~", Reference(Named("latest", 1))),
        ("s1~10", Reference(Named("s1", 10))),
        ("12", Reference(Named("12"))),
        ("12~1", Reference(Named("12", 1))),
        ("3d", Reference(ago("3d"))),
        ("1d12h", Reference(ago("1d12h"))),
        (".", Reference(Live())),
        ("2026-06-01", Reference(at("2026-06-01"))),
        ("2026-06-01T12:00", Reference(at("2026-06-01T12:00"))),
        ("2026-06-01T12:00:05", Reference(at("2026-06-01T12:00:05"))),
        ("2026-06-01T12:00:05.5Z", Reference(at("2026-06-01T12:00:05.5Z"))),
        ("2026-06-01T12:00+02:00", Reference(at("2026-06-01T12:00+02:00"))),
        # PATH is everything after the colon.
        ("s1:", Reference(Named("s1"), path="")),
        ("s1:a:b@c", Reference(Named("s1"), path="a:b@c")),
        ("s1:./a", Reference(Named("s1"), path="./a")),
        ("s1:/a", Reference(Named("s1"), path="/a")),
        ("s1:\udcff\n", Reference(Named("s1"), path="\udcff\n")),
        (".:a", Reference(Live(), path="a")),
        # Of the times that fit the longest counts.
        ("2026-06-01T12:00:05:05", Reference(at("2026-06-01T12:00:05"), path="05")),
        ("2026-06-01T12:00:5", Reference(at("2026-06-01T12:00"), path="5")),
        ("2026-06-01T12:00:055", Reference(at("2026-06-01T12:00"), path="055")),
        ("2026-06-01:12:00", Reference(at("2026-06-01"), path="12:00")),
        # ROOT is a label or a path.
        ("photos@s1", Reference(Named("s1"), "photos")),
        ("photos@latest~2:a", Reference(Named("latest", 2), "photos", "a")),
        ("/a/b@s1", Reference(Named("s1"), "/a/b")),
        ("./p@3d", Reference(ago("3d"), "./p")),
        ("../p@.", Reference(Live(), "../p")),
        ("~/p@2026-06-01:x", Reference(at("2026-06-01"), "~/p", "x")),
        ("/a@b@s1", Reference(Named("s1"), "/a@b")),
        ("/a:b@s1:c", Reference(Named("s1"), "/a:b", "c")),
        ("/a@@s1", Reference(Named("s1"), "/a@")),
        ("/a b@c d@s1:x@y", Reference(Named("s1"), "/a b@c d", "x@y")),
        ("s1:a@latest", Reference(Named("s1"), path="a@latest")),
        ("photos@s1:a@latest", Reference(Named("s1"), "photos", "a@latest")),
    ],
)
def test_references(text: str, expected: Reference) -> None:
    assert parse_reference(text) == expected


def test_a_snapshot_may_be_left_out_where_there_is_a_default() -> None:
    assert parse_reference(":a", default=LATEST_POINT) == Reference(Named("latest"), path="a")
    assert read_reference(":a") is None


@pytest.mark.parametrize(
    "text",
    ["", "@", ":", "a b", "a@", "@s1", "s1@", "photos@~1", "a@b@c", "s1~x", "s1~-1", "-1", "..", "...",
     "s1~1~1", "a..b", "../x", "src/a", "é", "s1\n", "_x", "a@b c", "2026-06-01T", "\x1b[2J"],
)  # fmt: skip
def test_no_references(text: str) -> None:
    assert read_reference(text) is None
    with pytest.raises(ValueError, match="is no reference"):
        parse_reference(text)


@pytest.mark.parametrize("text", ["2026-13-01", "2026-02-30T12:00", "30m", "1h5m", "9" * 30])
def test_what_looks_right_but_is_not_says_why(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        read_reference(text)
    assert "is no reference" not in str(caught.value)


def test_hints() -> None:
    with pytest.raises(ValueError, match="did you mean latest~2"):
        parse_reference("~2")
    with pytest.raises(ValueError, match="photos@latest"):
        parse_reference("photos@")


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = read_reference(text, default=LATEST_POINT)
    except ValueError:
        return
    assert found is None or text.endswith(found.path or "")


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("a..b", Reference(Named("a")), Reference(Named("b"))),
        ("s1..latest~1", Reference(Named("s1")), Reference(Named("latest", 1))),
        ("p@a..b", Reference(Named("a"), "p"), Reference(Named("b"), "p")),
        ("p@a..q@b", Reference(Named("a"), "p"), Reference(Named("b"), "q")),
        ("s1...", Reference(Named("s1")), Reference(Live())),
        ("3d..1d", Reference(ago("3d")), Reference(ago("1d"))),
        ("../x@a..b", Reference(Named("a"), "../x"), Reference(Named("b"), "../x")),
        ("2026-06-01..2026-06-05", Reference(at("2026-06-01")), Reference(at("2026-06-05"))),
        ("1..12", Reference(Named("1")), Reference(Named("12"))),
    ],
)
def test_ranges(text: str, first: Reference, last: Reference) -> None:
    assert read_range(text) == (first, last)


@pytest.mark.parametrize(
    "text", ["a", "..", "../x", "a:x..b", "a..b:x", "", "...", "a:x..", "src/a.."]
)
def test_no_ranges(text: str) -> None:
    assert read_range(text) is None


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a..", "a..B, or a alone"),
        ("..b", "A..b, or b alone"),
        ("2026-06-01T14:30..", "2026-06-01T14:30..B, or 2026-06-01T14:30 alone"),
        ("p@a~1..", "p@a~1..B, or p@a~1 alone"),
    ],
)
def test_half_a_range_is_told(text: str, written: str) -> None:
    with pytest.raises(ValueError, match="is half a range") as caught:
        read_range(text)
    assert str(caught.value).endswith(f"write {written}")


def test_what_begins_as_a_path() -> None:
    assert all(map(is_root_path, ("/", "/a", "./a", "../a", "~/a", ".", "..", "~")))
    assert not any(map(is_root_path, ("a", "a/b", "~a", ".a", "")))


def day(number: int) -> int:
    return int(datetime(2026, 6, number, tzinfo=UTC).timestamp()) * NS


def snapshot(number: int, name: str, created_ns: int) -> Snapshot:
    return Snapshot(
        id=number, root_id=1, name=name, created_ns=created_ns, finished_ns=created_ns,
        utc_offset_s=0, message="", tags=(), pinned=False, complete=True, files=0, dirs=1, others=0,
        total_bytes=0, stored_bytes=0, position=0,
    )  # fmt: skip


CHAIN = [
    snapshot(3, "a", day(1)),
    snapshot(5, "b", day(5)),
    snapshot(6, "c", day(3)),  # taken with --time: the chain is not in order of time
    snapshot(9, "d", day(7)),
    snapshot(11, "e", day(7)),
]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("latest", "e"), ("latest~1", "d"), ("latest~4", "a"), ("latest~5", None), ("b", "b"),
        ("b~1", "a"), ("c~1", "b"), ("b~2", None), ("6", "c"), ("6~2", "a"), ("7", None), ("x", None),
        ("e~0", "e"),
        ("2026-06-01", "a"), ("2026-06-04", "c"), ("2026-06-06", "b"), ("2026-06-07", "e"),
        ("2026-05-31", None), ("2026-06-03T00:00", "c"), ("2026-06-02T23:59:59", "a"),
        ("2026-06-03T00:00:00", "c"),
        ("1d", "e"), ("2d", "b"), ("4d", "c"), ("8d", None), ("1w", "a"),
    ],
)  # fmt: skip
def test_which_snapshot(text: str, name: str | None) -> None:
    point = parse_reference(text).point
    assert not isinstance(point, Live)
    found = find_snapshot(CHAIN, point, now_ns=day(8), offset_at=lambda moment: 0)
    assert (found.name if found else None) == name


def test_an_empty_chain_has_no_latest() -> None:
    assert find_snapshot([], LATEST_POINT, now_ns=0, offset_at=lambda moment: 0) is None
