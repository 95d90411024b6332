"""``snapfs log``: every version of a file or directory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.params import argument, flag, option
from snapfs.cli.frame.paths import recorded_path
from snapfs.cli.frame.states import States
from snapfs.cli.frame.where import open_to_read
from snapfs.cli.render.versions import print_log
from snapfs.errors import Exit, NotFoundError, UsageError
from snapfs.model.units import parse_count
from snapfs.search import LogOptions, log


@dataclass(frozen=True, slots=True)
class Arguments(Common):
    path: str = argument(
        "PATH", required=True, completes="path", about="a file or directory, deleted ones too"
    )
    number: int | None = option(
        "-n", "--number", metavar="N", parse=parse_count, about="only the newest N versions"
    )
    content: bool = flag("--content", about="with a unified diff of text between versions")
    all: bool = flag("-a", "--all", about="also where only a directory's own times changed")


def run(arguments: Arguments, invocation: Invocation) -> int:
    with open_to_read(invocation) as repository:
        states = States(invocation, repository)
        with _for_roots(states, arguments.path):
            root, path = recorded_path(states, arguments.path)
            result = log(repository, root, path, LogOptions(all=arguments.all))
        print_log(
            invocation, repository, result, newest=arguments.number, content=arguments.content
        )
    return Exit.DONE


@contextmanager
def _for_roots(states: States, word: str) -> Iterator[None]:
    """Where a root or a snapshot of it has the place of a path, say how its paths are written."""
    try:
        yield
    except (NotFoundError, UsageError) as error:
        label = word.partition("@")[0]
        if ":" not in word and any(root.label == label for root in states.roots):
            error.hint = (
                f"{label} is a root; `snapfs log {label}@latest:` is about all of it, "
                f"{label}@latest:PATH about a path in it"
            )
        raise


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("log PATH [-n N] [--content] [-a]",),
    description="""\
Shows every version of a file or directory, oldest first: the snapshots that have it, from the first to the
last, the time of the first, size, mode, digest, and what changed: a letter as `snapfs diff` has it and
words for what differs. A path that exists no more is looked up as well. PATH is an ordinary path, `:PATH`
one from the root; the snapshot of a reference such as `photos@latest:a.jpg` does not matter here.

Where the file had another name before, by the rule by which diff says `R`, its versions under that name
come first; where it got another name afterwards, the log goes on under that, unless PATH came again
later. A file that was renamed and changed between two snapshots is `-` and `+`, as in diff.

Of a directory each state of all that is in it is a version, with `content` for what differs: its digest is
equal wherever the same state stands. With `--content` each version of a text comes with its difference
from the one before.""",
    examples=(
        Example("snapfs log notes.txt", "which snapshot has the good version?"),
        Example("snapfs log src/ -n 5", "the last five states of a directory"),
        Example("snapfs log --content :etc/hosts", "what changed each time; a path from the root"),
    ),
    schemas=("log/1", "diff-text/1"),
)
