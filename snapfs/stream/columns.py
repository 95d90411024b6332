"""Rows as columns: the form in which rows travel in the journal and in exported streams.

Values of one column are alike, so they become small: a constant column takes nine bytes, and the
others are laid out so that a general compressor does well on them (bytes of equal weight together,
differences where they are smaller). No I/O and no compression here: bytes in, values out.

Types of columns, one letter each: ``q`` a signed 64-bit number, ``n`` one or None, ``b`` bytes,
``B`` bytes or None, ``s`` text. The layout is in ``man 5 snapfs-repository``, ROWS.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from operator import sub
from typing import Any

from snapfs.errors import DamageError
from snapfs.model.varint import append_varint, read_varint

Row = tuple[Any, ...]

# First byte of a column of numbers.
_CONSTANT = 0
_PLAIN = 1
_DELTA = 2
# First byte of a column of bytes or text, and of one in which None is possible.
_SAME = 0
_EACH = 1
_ALL_NONE = 0
_NO_NONE = 1
_SOME_NONE = 2

# Differences are tried if they are smaller than the numbers among so many at the start.
_SAMPLE = 64
MAX_ROWS = 1 << 20
"""Rows that may be encoded together: a damaged count must not make us allocate without end."""
MAX_VALUES = 1 << 22
"""In one block of rows: a few bytes can stand for as many, and would fill the memory."""


def encode_rows(types: str, rows: Sequence[Row]) -> bytes:
    """Encode rows, each with one value for each letter of ``types``.

    About 1 us for a row of 20 columns, a third of it to turn rows into columns. Raises
    ``OverflowError`` for a number beyond 64 bits, ``ValueError`` for a row of another width or more
    than ``MAX_ROWS``.
    """
    return encode_columns(types, list(zip(*rows, strict=True)) if rows else [()] * len(types))


def encode_columns(types: str, columns: Sequence[Sequence[Any]]) -> bytes:
    """The same for rows that are there as columns of equal length; ``len(types)`` is at least 1."""
    count = len(columns[0])
    if count > MAX_ROWS:
        raise ValueError("too many rows")
    head = bytearray()
    append_varint(head, count)
    parts: list[bytes] = [bytes(head)]
    if count:
        for letter, column in zip(types, columns, strict=True):
            if len(column) != count:
                raise ValueError("columns of different lengths")
            _ENCODERS[letter](column, parts)
    return b"".join(parts)


def decode_rows(types: str, data: bytes) -> list[Row]:
    """The rows again. Raises ``DamageError`` if ``data`` was not made by ``encode_rows``."""
    try:
        count, at = read_varint(data, 0)
        if count == 0 and at == len(data):
            return []
        if not 0 < count <= MAX_ROWS or count * len(types) > MAX_VALUES:
            raise ValueError("bad number of rows")
        columns: list[Sequence[Any]] = []
        for letter in types:
            column, at = _DECODERS[letter](data, at, count)
            columns.append(column)
        if at != len(data):
            raise ValueError("bytes left over")
    except (ValueError, IndexError, OverflowError, UnicodeDecodeError) as error:
        raise DamageError(f"rows are damaged ({error})") from error
    return list(zip(*columns, strict=True))


def _encode_numbers(column: Sequence[int], parts: list[bytes]) -> None:
    first = column[0]
    if first == column[-1] and column.count(first) == len(column):
        parts += (b"\0", _number(first))
        return
    sample = column[:_SAMPLE]
    steps = list(map(sub, sample[1:], sample))
    if steps and max(steps) - min(steps) < (max(sample) - min(sample)) >> 3:
        steps = list(map(sub, column[1:], column))
        try:
            planes = _planes(steps)
        except OverflowError:
            # Numbers from both ends of the range: their differences do not fit.
            pass
        else:
            parts += (b"\2", _number(first), *planes)
            return
    parts.append(b"\1")
    parts += _planes(column)


def _number(value: int) -> bytes:
    return value.to_bytes(8, "little", signed=True)


def _planes(column: Sequence[int]) -> list[bytes]:
    """A mask, then the numbers' bytes by weight: all lowest first, then all second ones, and so on.

    Where the mask has a bit, all bytes of that weight are equal and one stands for them.
    """
    items = array("q", column)
    if sys.byteorder == "big":
        items.byteswap()
    raw = items.tobytes()
    count = len(column)
    mask = 0
    planes = [b""]
    for weight in range(8):
        plane = raw[weight::8]
        if plane[0] == plane[-1] and plane == plane[:1] * count:
            mask |= 1 << weight
            plane = plane[:1]
        planes.append(plane)
    planes[0] = bytes((mask,))
    return planes


def _decode_numbers(data: bytes, at: int, count: int) -> tuple[list[int], int]:
    code = data[at]
    at += 1
    if code == _PLAIN:
        return _decode_planes(data, at, count)
    first, at = _decode_number(data, at)
    if code == _CONSTANT:
        return [first] * count, at
    if code != _DELTA or count < 2:
        raise ValueError("bad numbers")
    steps, at = _decode_planes(data, at, count - 1)
    return list(accumulate(steps, initial=first)), at


def _decode_planes(data: bytes, at: int, count: int) -> tuple[list[int], int]:
    mask = data[at]
    at += 1
    raw = bytearray(8 * count)
    for weight in range(8):
        size = 1 if mask >> weight & 1 else count
        plane = data[at : at + size]
        at += size
        if len(plane) != size:
            raise ValueError("cut off")
        raw[weight::8] = plane if size == count else plane * count
    items = array("q")
    items.frombytes(raw)
    if sys.byteorder == "big":
        items.byteswap()
    return items.tolist(), at


def _decode_number(data: bytes, at: int) -> tuple[int, int]:
    end = at + 8
    if end > len(data):
        raise ValueError("cut off")
    return int.from_bytes(data[at:end], "little", signed=True), end


def _encode_bytes(column: Sequence[bytes], parts: list[bytes]) -> None:
    first = column[0]
    if first == column[-1] and column.count(first) == len(column):
        parts.append(b"\0")
        _encode_numbers((len(first),), parts)
        parts.append(first)
    else:
        parts.append(b"\1")
        _encode_numbers(tuple(map(len, column)), parts)
        parts += column


def _decode_bytes(data: bytes, at: int, count: int) -> tuple[list[bytes], int]:
    code = data[at]
    if code > _EACH:
        raise ValueError("bad bytes")
    lengths, at = _decode_numbers(data, at + 1, 1 if code == _SAME else count)
    ends = list(accumulate(lengths, initial=at))
    if min(lengths) < 0 or ends[-1] > len(data):
        raise ValueError("bad lengths")
    values = [data[start:end] for start, end in pairwise(ends)]
    return values * count if code == _SAME else values, ends[-1]


def _encode_text(column: Sequence[str], parts: list[bytes]) -> None:
    # Lone surrogates are how Python shows bytes that are no UTF-8: they must not make us fail.
    _encode_bytes([text.encode("utf-8", "surrogatepass") for text in column], parts)


def _decode_text(data: bytes, at: int, count: int) -> tuple[list[str], int]:
    values, at = _decode_bytes(data, at, count)
    return [value.decode("utf-8", "surrogatepass") for value in values], at


def _nullable_encoder(
    encode: Callable[[Sequence[Any], list[bytes]], None],
) -> Callable[[Sequence[Any], list[bytes]], None]:
    def encode_nullable(column: Sequence[Any], parts: list[bytes]) -> None:
        nones = column.count(None)
        if nones == 0:
            parts.append(b"\1")
            encode(column, parts)
        elif nones == len(column):
            parts.append(b"\0")
        else:
            parts += (b"\2", bytes([value is not None for value in column]))
            encode([value for value in column if value is not None], parts)

    return encode_nullable


def _nullable_decoder(
    decode: Callable[[bytes, int, int], tuple[Sequence[Any], int]],
) -> Callable[[bytes, int, int], tuple[Sequence[Any], int]]:
    def decode_nullable(data: bytes, at: int, count: int) -> tuple[Sequence[Any], int]:
        code = data[at]
        at += 1
        if code == _ALL_NONE:
            return [None] * count, at
        if code == _NO_NONE:
            return decode(data, at, count)
        present = data[at : at + count]
        some = present.count(1)
        if code != _SOME_NONE or some + present.count(0) != count or not 0 < some < count:
            raise ValueError("bad nulls")
        values, at = decode(data, at + count, some)
        rest = iter(values)
        return [next(rest) if is_there else None for is_there in present], at

    return decode_nullable


_ENCODERS: dict[str, Callable[[Sequence[Any], list[bytes]], None]] = {
    "q": _encode_numbers,
    "n": _nullable_encoder(_encode_numbers),
    "b": _encode_bytes,
    "B": _nullable_encoder(_encode_bytes),
    "s": _encode_text,
}
_DECODERS: dict[str, Callable[[bytes, int, int], tuple[Sequence[Any], int]]] = {
    "q": _decode_numbers,
    "n": _nullable_decoder(_decode_numbers),
    "b": _decode_bytes,
    "B": _nullable_decoder(_decode_bytes),
    "s": _decode_text,
}
