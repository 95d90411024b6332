"""``snapfs show``: everything about one snapshot."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.params import argument
from snapfs.cli.frame.states import States
from snapfs.cli.frame.streams import terminal_columns
from snapfs.cli.frame.where import open_to_read
from snapfs.cli.render.bars import LEAST, MOST, bar
from snapfs.cli.render.changes import DiffSummary, stat_line
from snapfs.cli.render.progress import SHOWN_PROBLEMS
from snapfs.cli.render.table import BETWEEN, width
from snapfs.cli.render.text import Called, entry_counts, facts, local_time, reference
from snapfs.diff import ShowResult, show
from snapfs.errors import Exit
from snapfs.model.quote import printable, quote
from snapfs.model.units import format_count, format_size
from snapfs.progress import with_reason


@dataclass(frozen=True, slots=True)
class Arguments(Common):
    snapshot: str | None = argument(
        "[SNAP]", completes="snapshot", about="the snapshot (default: the newest)"
    )


def run(arguments: Arguments, invocation: Invocation) -> int:
    with open_to_read(invocation) as repository:
        states = States(invocation, repository)
        stored = states.snapshot_of(arguments.snapshot)
        result = show(repository, stored.snapshot)
    if invocation.json:
        invocation.emit("show/1", Called(reference(result.root, result.snapshot)), result)
    else:
        _print(invocation, result)
    return Exit.DONE


def _print(invocation: Invocation, result: ShowResult) -> None:
    snapshot, root, clock = result.snapshot, result.root, invocation.clock
    pairs = [
        ("snapshot", f"{reference(root, snapshot)}  (number {snapshot.id})"),
        ("directory", quote(root.path) if root.path is not None else "none, it is a stream"),
        ("host", printable(root.host)),
        ("time", local_time(snapshot.created_ns, clock)),
        ("finished", local_time(snapshot.finished_ns, clock)),
        ("message", printable(snapshot.message)),
        ("tags", " ".join(snapshot.tags)),
        ("pinned", "yes, it cannot be deleted" if snapshot.pinned else ""),
        ("complete", "" if snapshot.complete else "no, see the problems"),
        ("entries", entry_counts(snapshot.files, snapshot.dirs, snapshot.others)),
        ("size", format_size(snapshot.total_bytes)),
        ("stored", f"{format_size(snapshot.stored_bytes)} when it was taken"),
    ]
    if result.previous is not None:
        summary = DiffSummary(
            modified=result.modified,
            added=result.added,
            removed=result.removed,
            renamed=result.renamed,
            unread=result.unread,
            added_bytes=result.added_bytes,
            removed_bytes=result.removed_bytes,
        )
        pairs.append((f"since {result.previous.name}", stat_line(summary)))
        if invocation.out.is_terminal:
            labels = max(width(what) for what, value in pairs if value)
            pairs.extend(_picture(summary, terminal_columns() - labels - len(BETWEEN)))
    pairs.extend(("rule", printable(rule)) for rule in result.rules)
    limit = None if invocation.common.verbose else SHOWN_PROBLEMS
    pairs.extend(
        (
            "problem",
            f"{quote(problem.path or b'.')}: {printable(with_reason(problem.what, problem.errno))}",
        )
        for problem in result.problems[:limit]
    )
    more = len(result.problems[limit:]) if limit is not None else 0
    if more:
        count = format_count(more, "more problem")
        pairs.append(("problem", f"and {count}; --verbose lists all"))
    facts(invocation.out, pairs)


def _picture(summary: DiffSummary, room: int) -> list[tuple[str, str]]:
    """A bar for each kind of change, where there are several to set beside each other."""
    counts = [
        (what, count)
        for what, count in (
            ("modified", summary.modified),
            ("added", summary.added),
            ("removed", summary.removed),
            ("renamed", summary.renamed),
        )
        if count
    ]
    largest = max((count for _, count in counts), default=0)
    columns = min(MOST, room - len(f" {largest:,}"))
    if len(counts) < 2 or columns < LEAST:
        return []
    return [(f"  {what}", f"{bar((count,), largest, columns)} {count:,}") for what, count in counts]


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("show [SNAP]",),
    description="""\
Shows one snapshot: its counts and sizes, what changed since the one before it in the chain (as
`snapfs diff --stat` counts it, on a terminal with bars), the rules it was taken with, and what could not
be read: the first 20 of that, all of it with `--verbose` and `--json`.""",
    examples=(
        Example("snapfs show", "the newest snapshot of the root I stand in"),
        Example("snapfs show photos@latest~1", "the one before it"),
    ),
    schemas=("show/1",),
)
