"""A record: one change of a repository, as a header and named blocks of rows.

It travels as pieces of bounded size, so that a change of a million rows never lies in memory as a
whole. The first piece is the header, a JSON object; each other one holds rows of one block with
the types of their columns, so that a reader of a later version knows what it sees. The layout is
in ``man 5 snapfs-repository``, RECORDS.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from snapfs.errors import NONSENSE, DamageError
from snapfs.model.varint import append_varint, read_varint
from snapfs.stream.columns import Row, decode_rows, encode_rows

Header = Mapping[str, Any]
"""What JSON can say; ``op`` names the change."""

RowBlock = tuple[str, str, Iterable[Sequence[Row] | bytes]]
"""Name, types of the columns (``stream.columns``), and the rows in batches of any size; a batch that
``encode_rows`` has made bytes of goes in as it is.
"""

# About 1 MiB of rows of 20 columns; more rows to a piece compress no better.
ROWS_PER_PIECE = 16 * 1024
PIECE_BYTES = 8 * 1024 * 1024
"""Pieces of more than one row are never larger."""

_HEADER = b"H"
_ROWS = b"R"


class RowPiece(NamedTuple):
    """Some rows of a block."""

    name: str
    types: str
    rows: list[Row]


def encode_record(header: Header, blocks: Iterable[RowBlock]) -> Iterator[bytes]:
    """The pieces of a record. Equal headers give equal bytes."""
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), allow_nan=False)
    yield _HEADER + text.encode("ascii")
    for name, types, batches in blocks:
        head = bytearray(_ROWS)
        for word in (name.encode("ascii"), types.encode("ascii")):
            append_varint(head, len(word))
            head += word
        for batch in batches:
            if isinstance(batch, bytes):
                yield bytes(head) + batch
                continue
            for start in range(0, len(batch), ROWS_PER_PIECE):
                rows = batch[start : start + ROWS_PER_PIECE]
                yield from _encode_pieces(bytes(head), types, rows)


def _encode_pieces(head: bytes, types: str, rows: Sequence[Row]) -> Iterator[bytes]:
    piece = head + encode_rows(types, rows)
    if len(piece) > PIECE_BYTES and len(rows) > 1:
        # Rows with large values, such as extended attributes or the map of a huge file.
        half = len(rows) // 2
        yield from _encode_pieces(head, types, rows[:half])
        yield from _encode_pieces(head, types, rows[half:])
    else:
        yield piece


def decode_record(pieces: Iterable[bytes]) -> tuple[dict[str, Any], Iterator[RowPiece]]:
    """The header, and the rows as they are asked for. Both raise ``DamageError``."""
    rest = iter(pieces)
    first = next(rest, b"")
    if first[:1] != _HEADER:
        raise DamageError("record has no header")
    try:
        header = json.loads(first[1:])
    except NONSENSE as error:
        raise DamageError("record header is damaged") from error
    if not isinstance(header, dict):
        raise DamageError("record header is no object")
    return header, map(_decode_piece, rest)


def _decode_piece(piece: bytes) -> RowPiece:
    try:
        if piece[:1] != _ROWS:
            raise ValueError("unknown piece")
        words = []
        at = 1
        for _ in range(2):
            length, at = read_varint(piece, at)
            words.append(piece[at : at + length].decode("ascii"))
            at += length
    except ValueError as error:
        raise DamageError(f"record is damaged ({error})") from error
    name, types = words
    return RowPiece(name, types, decode_rows(types, piece[at:]))
