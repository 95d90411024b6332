"""Rows to columns and back, whatever is in them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapfs.errors import DamageError
from snapfs.stream.columns import MAX_ROWS, decode_rows, encode_columns, encode_rows

NUMBERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-2, 2),
    st.sampled_from([0, 127, 128, -128, 32767, -32769, 2**31, -(2**63), 2**63 - 1]),
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "q": NUMBERS,
    "n": st.none() | NUMBERS,
    "b": st.binary(max_size=40),
    "B": st.none() | st.binary(max_size=40),
    "s": st.text(max_size=20) | st.just("\udc80\ud800"),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, list[tuple[Any, ...]]]:
    types = draw(st.text("qnbBs", min_size=1, max_size=6))
    rows = draw(st.lists(st.tuples(*(VALUES[letter] for letter in types)), max_size=100))
    return types, rows


@settings(deadline=None)
@given(tables())
def test_rows_come_back(table: tuple[str, list[tuple[Any, ...]]]) -> None:
    types, rows = table
    assert decode_rows(types, encode_rows(types, rows)) == rows


@settings(deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=300), st.integers(-1000, 1000))
def test_sequences_come_back(values: list[int], step: int) -> None:
    columns = [values, range(5, 5 + len(values) * 7, 7), [step * i for i in range(len(values))]]
    data = encode_columns("qqq", columns)
    assert decode_rows("qqq", data) == list(zip(*columns, strict=True))


@settings(deadline=None)
@given(tables(), st.data())
def test_damage_is_noticed_or_decodes_to_something(
    table: tuple[str, list[tuple[Any, ...]]], data: st.DataObject
) -> None:
    """There is no checksum here, but nothing except DamageError may come out."""
    types, rows = table
    encoded = bytearray(encode_rows(types, rows))
    at = data.draw(st.integers(0, len(encoded) - 1))
    encoded[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(encoded)))
    for damaged in (bytes(encoded), bytes(encoded[:cut]), bytes(encoded) + b"\0"):
        try:
            decode_rows(types, damaged)
        except DamageError:
            pass


def test_every_cut_is_noticed() -> None:
    rows = [(i, None if i % 3 else i, b"x" * i, "t") for i in range(50)]
    data = encode_rows("qnbs", rows)
    for size in range(len(data)):
        with pytest.raises(DamageError):
            decode_rows("qnbs", data[:size])


def test_what_is_alike_is_small() -> None:
    rows = [(7, 1_700_000_000, None, b"same", i * 3 + 10**12) for i in range(10_000)]
    assert len(encode_rows("qqnbq", rows)) < 100


def test_ends_of_the_range_next_to_each_other() -> None:
    column = [-(2**63), 2**63 - 1] * 100
    assert decode_rows("q", encode_rows("q", [(v,) for v in column])) == [(v,) for v in column]
    # The sample promises small differences, what follows breaks the promise.
    column = [*range(100), -(2**63), 2**63 - 1]
    assert decode_rows("q", encode_columns("q", [column])) == [(v,) for v in column]


def test_what_cannot_be_encoded_is_refused() -> None:
    with pytest.raises(OverflowError):
        encode_rows("q", [(2**63,), (1,)])
    with pytest.raises(ValueError, match="argument"):
        encode_rows("qq", [(1, 2), (1,)])
    with pytest.raises(ValueError, match="argument"):
        encode_rows("q", [(1, 2)])
    with pytest.raises(ValueError, match="lengths"):
        encode_columns("qq", [[1, 2], [1]])
    with pytest.raises(ValueError, match="many"):
        encode_columns("q", [range(MAX_ROWS + 1)])


def test_layout_is_the_one_in_the_manual() -> None:
    """The bytes of format 1, so that no change of the codec goes unnoticed."""
    rows = [(5, 1, None, b"a", "x"), (5, 300, 2, b"bc", "x"), (5, -1, None, b"", "x")]
    assert encode_rows("qqnbs", rows) == b"".join(
        (
            b"\x03",
            b"\x00" + (5).to_bytes(8, "little"),
            b"\x01\x00" + b"\x01\x2c\xff" + b"\x00\x01\xff" * 1 + b"\x00\x00\xff" * 6,
            b"\x02\x00\x01\x00" + b"\x00" + (2).to_bytes(8, "little"),
            b"\x01" + b"\x01\xfe" + b"\x01\x02\x00" + b"\x00" * 7 + b"abc",
            b"\x00" + b"\x00" + (1).to_bytes(8, "little") + b"x",
        )
    )
    assert encode_rows("q", [(i * i,) for i in range(3)])[0] == 3
