"""Records: a header and named rows, in pieces."""

from __future__ import annotations

from typing import Any

import pytest

from snapfs.errors import DamageError
from snapfs.stream.record import PIECE_BYTES, ROWS_PER_PIECE, RowBlock, decode_record, encode_record

HEADER: dict[str, Any] = {"op": "create", "seq": 7, "name": "größe", "tags": ["a"], "n": None}


def test_record_comes_back() -> None:
    blocks: list[RowBlock] = [
        ("inode", "qB", [[(1, b"x"), (2, None)], [(3, b"")]]),
        ("empty", "q", []),
        ("dirent", "b", [[], [(b"\xff\n",)]]),
    ]
    header, rows = decode_record(encode_record(HEADER, blocks))
    assert header == HEADER
    assert list(rows) == [
        ("inode", "qB", [(1, b"x"), (2, None)]),
        ("inode", "qB", [(3, b"")]),
        ("dirent", "b", [(b"\xff\n",)]),
    ]


def test_equal_headers_give_equal_bytes() -> None:
    other = dict(reversed(HEADER.items()))
    assert list(encode_record(HEADER, [])) == list(encode_record(other, []))


def test_large_batches_are_divided_and_nothing_is_read_ahead() -> None:
    asked: list[int] = []

    def batches() -> Any:
        for number in range(3):
            asked.append(number)
            yield [(i,) for i in range(ROWS_PER_PIECE + 1)]

    pieces = encode_record(HEADER, [("rows", "q", batches())])
    next(pieces)
    assert asked == []
    next(pieces)
    assert asked == [0]
    _, rows = decode_record(iter([b"H{}", *pieces]))
    assert [len(piece.rows) for piece in rows] == [1, ROWS_PER_PIECE, 1, ROWS_PER_PIECE, 1]


def test_rows_with_large_values_are_divided_by_size() -> None:
    rows = [(i, b"x" * 1_000_000) for i in range(20)]
    rows[7] = (7, b"y" * (PIECE_BYTES + 1))
    pieces = list(encode_record(HEADER, [("attr", "qb", [rows])]))
    assert sorted(len(piece) > PIECE_BYTES for piece in pieces) == [False] * 5 + [True]
    _, decoded = decode_record(pieces)
    assert [row for piece in decoded for row in piece.rows] == rows


@pytest.mark.parametrize(
    "pieces",
    [[], [b""], [b"R"], [b"H"], [b"H{"], [b"H[]"], [b"H\xff"]],
)
def test_a_damaged_header_is_damage(pieces: list[bytes]) -> None:
    with pytest.raises(DamageError):
        decode_record(pieces)


@pytest.mark.parametrize("piece", [b"", b"X", b"R", b"R\xff", b"R\x05ab", b"R\x01\xff\x01q\x00"])
def test_a_damaged_piece_is_damage(piece: bytes) -> None:
    _, rows = decode_record([b"H{}", piece])
    with pytest.raises(DamageError):
        list(rows)


def test_numbers_that_json_has_not_are_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        list(encode_record({"x": float("nan")}, []))
