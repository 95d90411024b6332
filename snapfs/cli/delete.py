"""``snapfs delete``: delete snapshots by name or range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.hints import refuse_pinned
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Changing
from snapfs.cli.frame.params import argument
from snapfs.cli.frame.states import States
from snapfs.cli.frame.where import open_to_read, open_to_write
from snapfs.cli.render.deleted import gain, what_stays
from snapfs.cli.render.table import plain_lines
from snapfs.cli.render.text import Mode, local_time, reference
from snapfs.delete import DeleteOptions, DeleteResult, delete, plan_delete
from snapfs.errors import Exit
from snapfs.model.quote import quote
from snapfs.model.snapshot import StoredSide
from snapfs.model.units import format_count, format_duration, format_size


@dataclass(frozen=True, slots=True)
class Arguments(Changing):
    snapshots: tuple[str, ...] = argument(
        "SNAP|A..B...", many=True, required=True, completes="range",
        about="snapshots, or ranges from A to B inclusive",
    )  # fmt: skip


def run(arguments: Arguments, invocation: Invocation) -> int:
    # What it would do can be asked of a repository that may only be read.
    opened = (
        open_to_read(invocation)
        if arguments.dry_run
        else open_to_write(invocation, spend_reserve=True)
    )
    with opened as repository:
        states = States(invocation, repository)
        chosen = states.snapshots_of(arguments.snapshots)
        refuse_pinned(repository, chosen, dry_run=arguments.dry_run)
        snapshots = tuple(stored.snapshot for stored in chosen)
        options = DeleteOptions(
            dry_run=arguments.dry_run,
        )
        if invocation.must_ask(yes=arguments.yes, dry_run=arguments.dry_run):
            plan = plan_delete(repository, snapshots)
            lines = [
                f"In {quote(repository.path)}:",
                *_lines(invocation, chosen),
                gain(plan.freed_bytes, plan.reclaimable_bytes),
            ]
            invocation.confirm(lines, f"Delete {format_count(len(snapshots), 'snapshot')}?")
        with invocation.progress() as progress:
            result = delete(repository, snapshots, options, progress=progress)
    if invocation.json:
        invocation.emit("delete/1", result, Mode(arguments.dry_run))
        return Exit.DONE
    for stored in chosen:
        invocation.out.line(reference(stored.root, stored.snapshot))
    invocation.say(_summary(result, dry_run=arguments.dry_run))
    return Exit.DONE


def _lines(invocation: Invocation, chosen: Sequence[StoredSide]) -> list[str]:
    rows = [
        (
            f"  {reference(one.root, one.snapshot)}",
            local_time(one.snapshot.created_ns, invocation.clock),
        )
        for one in chosen
    ]
    return plain_lines((), rows)


def _summary(result: DeleteResult, *, dry_run: bool) -> str:
    count = format_count(len(result.snapshots), "snapshot")
    freed = format_size(result.freed_bytes)
    done = (
        f"would delete {count}, freeing {freed}" if dry_run else f"deleted {count}, freed {freed}"
    )
    parts = [done, *what_stays(result)]
    return f"{'; '.join(parts)}; {format_duration(result.duration_ns)}"


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("delete SNAP|A..B... [-n] [-y]",),
    description="""\
Deletes snapshots, any of them and in any order; the others stay as they are. `A..B` means from A to B
inclusive, in the order of the chain. Every name is listed before it asks.

What is freed at once are packs that no snapshot needs any more. Dead blocks in packs that others still
need are counted. If a reader holds blocks just now, the next delete or create frees them.

A pinned snapshot is never deleted: exit code 1, and nothing was done.""",
    examples=(
        Example("snapfs delete photos@s1", "one snapshot"),
        Example("snapfs delete latest~2..latest~1 --dry-run", "what deleting a range would free"),
    ),
    schemas=("delete/1",),
)
