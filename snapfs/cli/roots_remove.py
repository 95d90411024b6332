"""``snapfs roots remove``: forget a root and all its snapshots."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.hints import refuse_pinned
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Changing
from snapfs.cli.frame.params import argument
from snapfs.cli.frame.states import States
from snapfs.cli.frame.where import open_to_write
from snapfs.cli.render.deleted import gain, what_stays
from snapfs.cli.render.text import Mode
from snapfs.delete import DeleteOptions, remove_root
from snapfs.errors import Exit
from snapfs.model.quote import quote
from snapfs.model.snapshot import StoredSide
from snapfs.model.units import format_count, format_size
from snapfs.progress import NullProgress


@dataclass(frozen=True, slots=True)
class Arguments(Changing):
    old: str = argument("ROOT", required=True, completes="root", about="label or path of the root")


def run(arguments: Arguments, invocation: Invocation) -> int:
    with open_to_write(invocation, spend_reserve=True) as repository:
        states = States(invocation, repository)
        root = states.named_root(arguments.old)
        stored = [StoredSide(root, snapshot) for snapshot in states.chain(root)]
        refuse_pinned(repository, stored, dry_run=arguments.dry_run)
        if invocation.must_ask(yes=arguments.yes, dry_run=arguments.dry_run):
            plan = remove_root(
                repository, root, options=DeleteOptions(dry_run=True), progress=NullProgress()
            )
            count = format_count(len(plan.snapshots), "snapshot")
            lines = [
                f"{root.label}, {quote(root.path or b'a stream')}, in {quote(repository.path)}:",
                *(f"  {snapshot.name}" for snapshot in plan.snapshots),
                gain(plan.freed_bytes, plan.reclaimable_bytes),
            ]
            invocation.confirm(lines, f"Remove the root and its {count}?")
        with invocation.progress() as progress:
            options = DeleteOptions(dry_run=arguments.dry_run)
            result = remove_root(repository, root, options=options, progress=progress)
    if invocation.json:
        invocation.emit("delete/1", result, Mode(arguments.dry_run))
    else:
        verb = "would remove" if arguments.dry_run else "removed"
        count = format_count(len(result.snapshots), "snapshot")
        invocation.out.line(root.label)
        parts = [
            f"{verb} {root.label} and {count}, {format_size(result.freed_bytes)} freed",
            *what_stays(result),
            "the directory itself is as it was",
        ]
        invocation.say("; ".join(parts))
    return Exit.DONE


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("roots remove ROOT",),
    description="Removes a root and all its snapshots from the repository, after asking. The directory "
    "itself stays as it is. A root with a pinned snapshot is not removed.",
    examples=(Example("snapfs roots remove old-photos", "free what only it needs"),),
    schemas=("delete/1",),
)
