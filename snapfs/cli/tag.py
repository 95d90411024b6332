"""``snapfs tag``: add tags to a snapshot."""

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
from snapfs.model.names import check_name
from snapfs.repository.edits import tag_snapshot


@dataclass(frozen=True, slots=True)
class Arguments(Changing):
    snapshot: str = argument("SNAP", required=True, completes="snapshot", about="the snapshot")
    tags: tuple[str, ...] = argument(
        "TAG...", many=True, required=True, parse=check_name, about="tags to add"
    )


def run(arguments: Arguments, invocation: Invocation) -> int:
    with open_to_write(invocation) as repository:
        stored = States(invocation, repository).snapshot_of(arguments.snapshot)
        before = stored.snapshot
        changed = tag_snapshot(
            repository, before, add=arguments.tags, remove=(), dry_run=arguments.dry_run
        )
    print_changed(invocation, stored.root, before, changed, dry_run=arguments.dry_run)
    return Exit.DONE


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("tag SNAP TAG...",),
    description="""\
Adds tags to a snapshot. Tags are words made as names are; lists show them, and later rules of retention
can go by them.""",
    examples=(Example("snapfs tag latest release tested", "two tags at once"),),
    schemas=("snapshot/1",),
)
