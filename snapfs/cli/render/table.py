"""Tables: aligned columns, fitted to the width of a terminal.

A line that is too long for a terminal is broken by it anywhere, and a name in two pieces cannot be typed
back. So columns say which of them give way, and how; what a user types back never does. Where even that
is too wide, lines are longer than the terminal. What goes into a pipe or a file is never shortened.
Bars come last: they take what the columns leave.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from snapfs.cli.frame.streams import Output, speaks_utf8, terminal_columns
from snapfs.cli.render.bars import LEAST, MOST, bar
from snapfs.model.quote import printable

BETWEEN = "  "
"""What stands between columns."""
_ELLIPSIS, _ASCII_ELLIPSIS = "…", "..."


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    ``gives_way`` is its place in the order in which columns give way where there is no room, 0 if it
    never does. It is then shortened down to ``least`` columns (None: not at all); where that is not enough
    they are left out in the same order, those that were not shortened first, unless one ``stays``.
    ``first_word`` says that the first word of each cell is kept whole, ``keeps_end`` that a cell loses its
    beginning, as a path does.
    """

    heading: str
    right: bool = False
    gives_way: int = 0
    least: int | None = None
    stays: bool = False
    first_word: bool = False
    keeps_end: bool = False


@dataclass(frozen=True, slots=True)
class Bars:
    """A picture of a column: one or two parts for each row, drawn before the column number ``before``."""

    before: int
    rows: Sequence[Sequence[int]]
    scale: int | None = None
    """what takes all the room; None: the largest row"""


def print_table(
    out: Output,
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    bars: Bars | None = None,
) -> None:
    """Columns with headings. Cells are one line of printable text. ``bars`` only if a terminal has room."""
    room = terminal_columns() if out.is_terminal else None
    if bars is not None and room is not None:
        columns, rows = _with_bars(columns, rows, bars, room)
    for line in table_lines(columns, rows, room=room):
        out.line(line)


def _with_bars(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], bars: Bars, room: int
) -> tuple[Sequence[Column], Sequence[Sequence[str]]]:
    table = [[column.heading for column in columns], *rows]
    taken = sum(max(map(width, cells)) + len(BETWEEN) for cells in zip(*table, strict=True))
    left = min(MOST, room - taken)
    if left < LEAST:
        return columns, rows
    at = bars.before
    scale = max(map(sum, bars.rows), default=0) if bars.scale is None else bars.scale
    drawn = [bar(parts, scale, left) for parts in bars.rows]
    with_column = [*columns[:at], Column(""), *columns[at:]]
    return with_column, [
        [*row[:at], cell, *row[at:]] for row, cell in zip(rows, drawn, strict=True)
    ]


def table_lines(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], *, room: int | None
) -> list[str]:
    """The lines of a table for a terminal with ``room`` columns; None: as wide as it needs."""
    headings = [column.heading for column in columns]
    if room is None:
        widths = dict.fromkeys(range(len(columns)))
    else:
        widths = dict(_fit(columns, [headings, *rows], room))
    shown = [
        [_shorten(row[at], widths[at], columns[at]) for at in sorted(widths)]
        for row in (headings, *rows)
    ]
    right = [place for place, at in enumerate(sorted(widths)) if columns[at].right]
    return plain_lines(shown[0], shown[1:], right=right)


def plain_lines(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()
) -> list[str]:
    """Aligned columns, two blanks between; no blanks at the ends of lines.

    Cells are printable but for what somebody wrote into a catalog by hand.
    """
    table = [headings, *rows] if headings else rows
    columns = [
        _aligned(list(map(printable, column)), right=at in right)
        for at, column in enumerate(zip(*table, strict=True))
    ]
    return [BETWEEN.join(row).rstrip() for row in zip(*columns, strict=True)]


def _aligned(cells: Sequence[str], *, right: bool) -> list[str]:
    widths = list(map(width, cells))
    widest = max(widths)
    # What a text takes on a terminal need not be its length.
    room = [len(cell) + widest - wide for cell, wide in zip(cells, widths, strict=True)]
    return list(map(str.rjust if right else str.ljust, cells, room))


def width(text: str) -> int:
    """Columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    marks = sum(unicodedata.combining(char) != 0 for char in text)
    return len(text) + wide - marks


def _fit(
    columns: Sequence[Column], table: Sequence[Sequence[str]], room: int
) -> dict[int, int | None]:
    """The columns that are shown, by number, each with its width."""
    natural = [max(map(width, cells)) for cells in zip(*table, strict=True)]
    least = [_least(column, natural[at], table, at) for at, column in enumerate(columns)]
    order = sorted(
        (at for at, c in enumerate(columns) if c.gives_way), key=lambda at: columns[at].gives_way
    )
    shown = dict(enumerate(natural))

    def left() -> int:
        return room - sum(shown.values()) - len(BETWEEN) * (len(shown) - 1)

    for at in order:
        shown[at] = max(least[at], shown[at] + min(0, left()))
    for at in sorted(order, key=lambda at: least[at] < natural[at]):
        if left() < 0 and not columns[at].stays:
            del shown[at]
    # A column that was left out may have made more room than was needed.
    for at in reversed(order):
        if at in shown:
            shown[at] = min(natural[at], shown[at] + max(0, left()))
        elif left() >= least[at] + len(BETWEEN):
            shown[at] = min(natural[at], left() - len(BETWEEN))
    return dict(shown)


def _least(column: Column, natural: int, table: Sequence[Sequence[str]], at: int) -> int:
    if not column.gives_way:
        return natural
    if column.first_word:
        first = max(width(row[at].partition(" ")[0]) for row in table)
        return min(natural, first + width(_ellipsis()))
    return natural if column.least is None else min(natural, column.least)


def _shorten(cell: str, columns: int | None, column: Column) -> str:
    if columns is None or width(cell) <= columns:
        return cell
    mark = _ellipsis()
    kept = ""
    for char in reversed(cell) if column.keeps_end else cell:
        longer = char + kept if column.keeps_end else kept + char
        if width(longer) + width(mark) > columns:
            break
        kept = longer
    return mark + kept if column.keeps_end else kept.rstrip() + mark


def _ellipsis() -> str:
    """What stands for what was cut off; where the locale is not UTF-8 it is ASCII, as bars are."""
    return _ELLIPSIS if speaks_utf8() else _ASCII_ELLIPSIS
