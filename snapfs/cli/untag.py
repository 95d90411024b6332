"""``snapfs untag``: take tags off a snapshot."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Changing
from snapfs.cli.frame.params import argument
from snapfs.cli.frame.states import States
from snapfs.cli.frame.where import open_to_write
from snapfs.cli.render.changed import print_changed
from snapfs.cli.render.text import reference
from snapfs.errors import Exit
from snapfs.model.names import check_name
from snapfs.repository.edits import tag_snapshot


@dataclass(frozen=True, slots=True)
class Arguments(Changing):
    snapshot: str = argument("SNAP", required=True, completes="snapshot", about="the snapshot")
    tags: tuple[str, ...] = argument(
        "TAG...", many=True, required=True, parse=check_name, about="tags to take off"
    )


def run(arguments: Arguments, invocation: Invocation) -> int:
    with open_to_write(invocation) as repository:
        stored = States(invocation, repository).snapshot_of(arguments.snapshot)
        before = stored.snapshot
        changed = tag_snapshot(
            repository, before, add=(), remove=arguments.tags, dry_run=arguments.dry_run
        )
    print_changed(invocation, stored.root, before, changed, dry_run=arguments.dry_run)
    missing = [tag for tag in dict.fromkeys(arguments.tags) if tag not in before.tags]
    if missing:
        name = reference(stored.root, before)
        invocation.say(f"{name} had no {' '.join(f'#{tag}' for tag in missing)}")
    return Exit.DONE


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("untag SNAP TAG...",),
    description="""\
Takes tags off a snapshot. A tag that it does not have is no error; it says so.""",
    examples=(Example("snapfs untag latest tested", "one tag less"),),
    schemas=("snapshot/1",),
)
