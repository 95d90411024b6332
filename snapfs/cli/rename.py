"""``snapfs rename``: another name or message for a snapshot."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Changing
from snapfs.cli.frame.params import argument, option
from snapfs.cli.frame.states import States
from snapfs.cli.frame.where import open_to_write
from snapfs.cli.render.changed import print_changed
from snapfs.errors import Exit, UsageError
from snapfs.model.names import check_name, parse_text
from snapfs.repository.edits import rename_snapshot


@dataclass(frozen=True, slots=True)
class Arguments(Changing):
    snapshot: str = argument("OLD", required=True, completes="snapshot", about="the snapshot")
    name: str | None = argument("[NEW]", parse=check_name, about="its new name")
    message: str | None = option(
        "-m", "--message", metavar="TEXT", parse=parse_text, about="its new message"
    )


def run(arguments: Arguments, invocation: Invocation) -> int:
    if arguments.name is None and arguments.message is None:
        raise UsageError("rename wants a NEW name, or a message with -m")
    with open_to_write(invocation) as repository:
        stored = States(invocation, repository).snapshot_of(arguments.snapshot)
        changed = rename_snapshot(
            repository,
            stored.snapshot,
            name=arguments.name,
            message=arguments.message,
            dry_run=arguments.dry_run,
        )
    print_changed(invocation, stored.root, stored.snapshot, changed, dry_run=arguments.dry_run)
    return Exit.DONE


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("rename OLD [NEW] [-m TEXT]",),
    description="""\
Gives a snapshot another name, another message, or both. Its number, its place in the chain and its
time stay.""",
    examples=(
        Example("snapfs rename latest before-upgrade", "a name to remember"),
        Example("snapfs rename latest -m 'all tests pass'", "a message only"),
    ),
    schemas=("snapshot/1",),
)
