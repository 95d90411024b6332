"""Rows of a query as a table, as CSV or as JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from snapfs.cli.frame.streams import Output, terminal_columns
from snapfs.cli.render.json import json_row, text_of
from snapfs.cli.render.table import Column, plain_lines, table_lines, width
from snapfs.model.quote import printable

_ALIGNED = 1000
"""Rows of a table that are aligned together."""
_ALIGNED_BYTES = 1 << 20
"""Of wide ones no more than it takes for so many."""
_LEAST = 10
_PATHS = frozenset({"path", "dir"})

Rows = Iterable[Sequence[Any]]


def print_rows(out: Output, columns: Sequence[str], rows: Rows) -> None:
    """A table: fitted on a terminal, else as wide as it needs."""
    left = iter(rows)
    part = _together(left)
    if not part:
        for line in plain_lines([printable(name) for name in columns], []):
            out.line(line)
        return
    # What a column holds is told by the first rows, so that it does not change sides further down.
    numbers = [
        all(value is None or isinstance(value, int | float) for value in values)
        for values in zip(*part, strict=True)
    ]
    room = terminal_columns() if out.is_terminal else None
    heading = True
    while part:
        cells = [[_cell(value) for value in row] for row in part]
        shown = _columns(columns, cells, numbers)
        for line in table_lines(shown, cells, room=room)[0 if heading else 1 :]:
            out.line(line)
        heading = False
        part = _together(left)


def _together(rows: Iterator[Sequence[Any]]) -> list[Sequence[Any]]:
    """The next rows, as many as are held to be aligned."""
    part: list[Sequence[Any]] = []
    size = 0
    while len(part) < _ALIGNED and size < _ALIGNED_BYTES:
        row = next(rows, None)
        if row is None:
            break
        part.append(row)
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
    return part


def _columns(
    names: Sequence[str], cells: Sequence[Sequence[str]], numbers: Sequence[bool]
) -> list[Column]:
    """The widest text gives way first; numbers never do."""
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    texts = sorted(
        (at for at, number in enumerate(numbers) if not number), key=lambda at: -widths[at]
    )
    order = {at: place for place, at in enumerate(texts, start=1)}
    return [
        Column(
            printable(name),
            right=numbers[at],
            gives_way=order.get(at, 0),
            least=max(_LEAST, width(printable(name))),
            stays=True,
            keeps_end=name in _PATHS,
        )
        for at, name in enumerate(names)
    ]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return printable(text_of(value))
    return printable(str(value))


def print_csv(out: Output, columns: Sequence[str], rows: Rows) -> None:
    """Comma-separated values with a line of headings; bytes and text that is not UTF-8 as they are.

    No value is an empty field, an empty text is ``""``.
    """
    for row in chain((columns,), rows):
        out.line(",".join(_field(value, safe=out.is_terminal) for value in row))


def _field(value: Any, *, safe: bool) -> str:
    if value is None:
        return ""
    text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)
    if safe:
        text = printable(text)
    if not text or any(char in text for char in ',"\r\n') or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def print_json(out: Output, schema: str, columns: Sequence[str], rows: Rows) -> None:
    """An object for each row. Columns of one name get numbers; ``schema`` is taken."""
    keys: list[str] = []
    for name in columns:
        key, number = name, 1
        while key == "schema" or key in keys:
            number += 1
            key = f"{name}_{number}"
        keys.append(key)
    for row in rows:
        out.line(json_row(schema, keys, row))
