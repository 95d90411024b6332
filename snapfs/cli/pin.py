"""``snapfs pin``: protect snapshots from deletion."""

from __future__ import annotations

from collections.abc import Sequence
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
    return set_pins(invocation, arguments.snapshots, pinned=True, dry_run=arguments.dry_run)


def set_pins(
    invocation: Invocation, references: Sequence[str], *, pinned: bool, dry_run: bool
) -> int:
    """Pin the snapshots, or unpin them."""
    with open_to_write(invocation) as repository:
        states = States(invocation, repository)
        chosen = [states.snapshot_of(text) for text in references]
        before = [stored.snapshot for stored in chosen]
        changed = pin_snapshots(repository, before, pinned=pinned, dry_run=dry_run)
        for stored, after in zip(chosen, changed, strict=True):
            print_changed(invocation, stored.root, stored.snapshot, after, dry_run=dry_run)
    return Exit.DONE


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("pin SNAP...",),
    description="""\
Protects snapshots: a pinned snapshot is never deleted, neither by name nor by a rule.""",
    examples=(Example("snapfs pin before-upgrade", "keep it whatever happens"),),
    schemas=("snapshot/1",),
)
