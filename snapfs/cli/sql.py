"""``snapfs sql``: a SELECT over the views of the catalog."""

from __future__ import annotations

import os
from dataclasses import dataclass
from os import _exit

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.params import argument, flag, option
from snapfs.cli.frame.signals import wait_readable
from snapfs.cli.frame.where import open_to_read
from snapfs.cli.render.rows import print_csv, print_json, print_rows
from snapfs.cli.render.table import plain_lines
from snapfs.errors import Exit, UsageError
from snapfs.model.span import parse_wait
from snapfs.model.units import format_count, parse_count
from snapfs.query import VIEWS, QueryOptions, query
from snapfs.query.operation import Cut

_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Arguments(Common):
    text: str | None = argument(
        "[QUERY]", about="one SELECT, or - to read it from standard input (default: list the views)"
    )
    csv: bool = flag("--csv", about="comma-separated values, exact, with a line of headings")
    limit: int = option(
        "--limit", metavar="N", parse=parse_count, default=10_000,
        about="print N rows at most, 0 for all (default: 10000)",
    )  # fmt: skip
    timeout: float = option(
        "--timeout", metavar="SPAN", parse=parse_wait, default=30.0,
        about="work on it so long at most, 0 for as long as it takes (default: 30s)",
    )  # fmt: skip


def run(arguments: Arguments, invocation: Invocation) -> int:
    if arguments.csv and arguments.json:
        raise UsageError("sql: --csv and --json exclude each other", subject="--csv")
    if arguments.text is None:
        _print_views(invocation)
        return Exit.DONE
    text = _standard_input() if arguments.text == "-" else arguments.text
    options = QueryOptions(
        timeout_s=arguments.timeout or None,
        rows=arguments.limit or None,
        overdue=lambda: _give_up(invocation),
    )
    with open_to_read(invocation) as repository, query(repository, text, options) as answer:
        if invocation.json:
            print_json(invocation.out, "sql/1", answer.columns, answer.rows())
        elif arguments.csv:
            print_csv(invocation.out, answer.columns, answer.rows())
        elif answer.columns:
            print_rows(invocation.out, answer.columns, answer.rows())
    if answer.cut is None:
        return Exit.DONE
    if answer.cut is Cut.TIME:
        reason = "the query was stopped at its time limit, and not all rows are here; --timeout gives it more"
    else:
        reason = f"there are more than {format_count(arguments.limit, 'row')}; --limit 0 prints all"
    invocation.warn(reason)
    return Exit.PARTIAL


def _give_up(invocation: Invocation) -> None:
    """End the process: SQLite hears nothing within one step, however long that takes.

    Nothing is lost with it: temporary files have no names, and the catalog is only read.
    """
    invocation.warn("the query did not stop at its time limit and was given up")
    _exit(Exit.PARTIAL)


def _standard_input() -> str:
    data = b""
    while len(data) <= _MOST_BYTES:
        wait_readable(0)
        part = os.read(0, 1 << 16)
        if not part:
            return data.decode("utf-8", "surrogateescape")
        data += part
    raise UsageError("the query is longer than 1M", subject="standard input")


def _print_views(invocation: Invocation) -> None:
    for number, view in enumerate(VIEWS):
        if invocation.json:
            invocation.emit("sql-view/1", view)
            continue
        if number:
            invocation.out.line("")
        invocation.out.line(f"{view.name}: {view.about}")
        rows = [(f"  {column.name}", column.kind, column.about) for column in view.columns]
        for line in plain_lines((), rows):
            invocation.out.line(line)


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("sql [QUERY] [--csv] [--limit N] [--timeout SPAN]",),
    description="""\
Runs one SELECT over what the catalog knows of all roots and prints its rows. Without a QUERY it lists the
views and their columns: `snapshots`, `entries` (each version of each path, with the snapshots that have it),
`changes`, `blocks`, `usage`, `roots` and `runs`. snapfs-sql(7) explains them and says what is fast.

A query can only read. If it was cut off by `--limit` or `--timeout`, that is said and the exit code is 3; a
mistake in the SQL is exit code 2.""",
    examples=(
        Example(
            'snapfs sql "SELECT name, created, size FROM snapshots"', "the snapshots of all roots"
        ),
        Example(
            "snapfs sql \"SELECT path, size, first, last FROM entries WHERE name = 'notes.txt'\"",
            "every version of files of that name",
        ),
        Example(
            "snapfs sql --csv \"SELECT * FROM changes WHERE snapshot = 's7'\" > changes.csv",
            "what a snapshot changed, for a spreadsheet",
        ),
    ),
    schemas=("sql/1", "sql-view/1"),
)
