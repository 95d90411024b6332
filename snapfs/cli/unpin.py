"""``snapfs unpin``: let snapshots be deleted again."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Changing
from snapfs.cli.frame.params import argument
from snapfs.cli.pin import set_pins


@dataclass(frozen=True, slots=True)
class Arguments(Changing):
    snapshots: tuple[str, ...] = argument(
        "SNAP...", many=True, required=True, completes="snapshot", about="the snapshots"
    )


def run(arguments: Arguments, invocation: Invocation) -> int:
    return set_pins(invocation, arguments.snapshots, pinned=False, dry_run=arguments.dry_run)


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("unpin SNAP...",),
    description="""\
Takes the protection of `snapfs pin` away.""",
    examples=(Example("snapfs unpin before-upgrade", "it can be deleted again"),),
    schemas=("snapshot/1",),
)
