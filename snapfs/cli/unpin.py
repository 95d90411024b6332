"""``snapfs unpin``: let snapshots be deleted again."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Changing
from snapfs.cli.frame.params import argument
from snapfs.cli.frame.states import States
from snapfs.cli.frame.where import open_to_write
from snapfs.cli.render.changed import print_changed
from snapfs.errors import Exit
from snapfs.repository.edits import pin_snapshots


@dataclass(frozen=True, slots=True)
class Arguments(Changing):
    snapshots: tuple[str, ...] = argument(
        "SNAP...", many=True, required=True, completes="snapshot", about="the snapshots"
    )


def run(arguments: Arguments, invocation: Invocation) -> int:
    with open_to_write(invocation) as repository:
        states = States(invocation, repository)
        chosen = [states.snapshot_of(text) for text in arguments.snapshots]
        changed = pin_snapshots(
            repository,
            [stored.snapshot for stored in chosen],
            pinned=False,
            dry_run=arguments.dry_run,
        )
        for stored, after in zip(chosen, changed, strict=True):
            print_changed(
                invocation, stored.root, stored.snapshot, after, dry_run=arguments.dry_run
            )
    return Exit.DONE


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("unpin SNAP...",),
    description="""\
Takes the protection of `snapfs pin` away.""",
    examples=(Example("snapfs unpin before-upgrade", "it can be deleted again"),),
    schemas=("snapshot/1",),
)
