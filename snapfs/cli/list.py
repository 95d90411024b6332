"""``snapfs list``: the snapshots of a root, or the roots."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.params import argument, flag, option
from snapfs.cli.frame.states import States
from snapfs.cli.frame.where import open_to_read
from snapfs.cli.render.roots import print_root_summaries, say_none
from snapfs.cli.render.text import Named, print_snapshots, reference
from snapfs.errors import Exit, UsageError
from snapfs.model.snapshot import Root, Snapshot
from snapfs.model.units import parse_count


@dataclass(frozen=True, slots=True)
class Arguments(Common):
    roots: tuple[str, ...] = argument(
        "[ROOT...]", many=True, completes="root",
        about="labels or paths of roots (default: the root I stand in)",
    )  # fmt: skip
    all: bool = flag("-a", "--all", about="the snapshots of every root")
    number: int | None = option(
        "-n", "--number", metavar="N", parse=parse_count, about="only the newest N of each root"
    )
    sort: str = option(
        "--sort", metavar="ORDER", default="chain", choices=("chain", "time"),
        about="chain: in order of arrival; time: by the time they stand for",
    )  # fmt: skip


def run(arguments: Arguments, invocation: Invocation) -> int:
    with open_to_read(invocation) as repository:
        states = States(invocation, repository)
        # Without a root of its own, a choice of snapshots is one of those of every root.
        chooses = arguments.number is not None or arguments.sort == "time"
        if arguments.all and (arguments.roots or _named(invocation)):
            raise UsageError(
                "list: --all and a ROOT exclude each other", hint="leave out one of them"
            )
        if arguments.all:
            roots = list(states.roots)
        elif arguments.roots or arguments.root is not None:
            roots = [states.root(word) for word in arguments.roots or (None,)]
        else:
            here = states.standing_in()
            if here is None and len(states.roots) != 1 and not chooses:
                print_root_summaries(invocation, repository)
                if reason := states.not_here():
                    invocation.say(reason)
                return Exit.DONE
            single = here is not None or len(states.roots) == 1
            roots = [states.root()] if single else list(states.roots)
        rows = [(root, snapshot) for root in roots for snapshot in _chosen(arguments, states, root)]
        if arguments.sort == "time":
            rows.sort(key=lambda row: row[1].created_ns)
        if invocation.json:
            for root, snapshot in rows:
                named = Named(reference(root, snapshot), root.label)
                invocation.emit("list/1", named, snapshot)
        elif rows:
            print_snapshots(invocation.out, rows, invocation.clock, several=len(roots) > 1)
        elif not any(states.chain(root) for root in roots):
            say_none(invocation, roots, repository.path)
    return Exit.DONE


def _named(invocation: Invocation) -> bool:
    """Whether a root was named on the command line; one in the settings is what --all overrides."""
    return invocation.common.root is not None and "root" not in invocation.origins


def _chosen(arguments: Arguments, states: States, root: Root) -> list[Snapshot]:
    chain = list(states.chain(root))
    if arguments.sort == "time":
        chain.sort(key=lambda snapshot: snapshot.created_ns)
    return chain if arguments.number is None else chain[max(0, len(chain) - arguments.number) :]


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("list [ROOT...] [-a] [-n N] [--sort ORDER]",),
    description="""\
Lists the snapshots of the root I stand in, or of each ROOT, oldest first: number, name, time, files,
size of all files, and what taking it added to the repository; on a terminal with room a bar for that, beside
the largest.

Outside every root of several it lists the roots: number of snapshots, the newest and its size; with
`-n` or `--sort time` the snapshots of all roots.""",
    examples=(
        Example("snapfs list", "of the root I stand in"),
        Example("snapfs list photos -n 5", "the newest five of a root"),
        Example("snapfs list --all --json | jq -r .reference", "for a script"),
    ),
    schemas=("list/1", "roots/1"),
)
