"""Tables: by rich on a terminal, else plain aligned columns without importing it."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from snapfs.cli.frame.streams import Output


def print_table(
    out: Output,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] = (),
) -> None:
    """Columns with headings; those whose number is in ``right`` are aligned to the right.

    Cells are one line of printable text.
    """
    if out.is_terminal:
        _print_rich(out, headings, rows, right)
        return
    for line in plain_lines(headings, rows, right=right):
        out.line(line)


def plain_lines(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()
) -> list[str]:
    """Aligned columns, two blanks between; no blanks at the ends of lines."""
    table = [list(headings), *(list(row) for row in rows)] if headings else [list(r) for r in rows]
    widths = [max(map(width, column)) for column in zip(*table, strict=True)]
    lines = []
    for row in table:
        cells = []
        for index, cell in enumerate(row):
            blanks = " " * (widths[index] - width(cell))
            cells.append(blanks + cell if index in right else cell + blanks)
        lines.append("  ".join(cells).rstrip())
    return lines


def width(text: str) -> int:
    """Columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    marks = sum(unicodedata.combining(char) != 0 for char in text)
    return len(text) + wide - marks


def _print_rich(
    out: Output, headings: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]
) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, heading in enumerate(headings):
        # A name that was cut could not be typed back.
        table.add_column(heading, justify="right" if index in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(force_terminal=True, highlight=False, emoji=False, markup=False)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        out.line(line)
