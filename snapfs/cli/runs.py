"""``snapfs runs``: the commands that changed something."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.again import without_repository
from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.params import argument, flag, option
from snapfs.cli.frame.states import States
from snapfs.cli.frame.where import open_to_read
from snapfs.cli.render.table import Column, print_table
from snapfs.cli.render.text import local_time
from snapfs.clock import Clock
from snapfs.errors import Exit
from snapfs.model.quote import printable
from snapfs.model.units import format_duration, parse_count
from snapfs.repository.runs import Run, runs

COLUMNS = (
    Column("started", gives_way=5),
    Column("took", right=True, gives_way=3),
    Column("exit", right=True),
    Column("user", gives_way=2),
    Column("root"),
    Column("command", gives_way=4, stays=True, first_word=True),
    Column("result", gives_way=1, least=12),
)


@dataclass(frozen=True, slots=True)
class Arguments(Common):
    root_word: str | None = argument(
        "[ROOT]", completes="root", about="only those of one root (default: all)"
    )
    failed: bool = flag("--failed", about="only those that have not ended with exit code 0")
    number: int | None = option(
        "-n", "--number", metavar="N", parse=parse_count, about="only the newest N"
    )


def run(arguments: Arguments, invocation: Invocation) -> int:
    with open_to_read(invocation) as repository:
        word = arguments.root_word or arguments.root
        root = None if word is None else States(invocation, repository).named_root(word)
        found = runs(repository, root=root, failed=arguments.failed, limit=arguments.number)
    if invocation.json:
        for one in found:
            invocation.emit("runs/1", one)
    elif found:
        rows = [row(one, invocation.clock) for one in found]
        print_table(invocation.out, COLUMNS, rows)
    elif arguments.number != 0:
        invocation.say("no such run yet")
    return Exit.DONE


def row(run: Run, clock: Clock) -> tuple[str, ...]:
    """The cells of one run."""
    return (
        local_time(run.started_ns, clock),
        format_duration(run.finished_ns - run.started_ns) if run.finished_ns is not None else "",
        "-" if run.exit is None else str(run.exit),
        printable(run.user or str(run.user_id)),
        run.root or "",
        printable(without_repository(run.command)),
        printable(run.summary) if run.exit is not None else "was killed, or is at work still",
    )


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("runs [ROOT] [--failed] [-n N]",),
    description="""\
Lists every command that changed something, oldest first: when, how long, with what exit code, by whom, on
which root, and what came of it. One that worked on several roots has a line for each. What has no exit code
was killed, or is at work still; `--failed` shows that as well. Commands are shown without the options in
front of them that name the repository.""",
    examples=(
        Example("snapfs runs -n 10", "the last ten"),
        Example("snapfs runs --failed", "what went wrong"),
    ),
    schemas=("runs/1",),
)
