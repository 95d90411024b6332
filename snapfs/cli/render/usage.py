"""What takes the space, as tables with bars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.render.table import Bars, Column, print_table
from snapfs.cli.render.text import facts, local_time
from snapfs.model.quote import quote
from snapfs.model.units import format_count, format_size
from snapfs.usage import PathUsage, SetUsage, UsageResult

_BATCH = 1000
"""Paths that are aligned together."""
_SNAPSHOT_COLUMNS = (
    Column("no", right=True, gives_way=2),
    Column("snapshot"),
    Column("time", gives_way=1),
    Column("size", right=True, gives_way=5),
    Column("unique", right=True),
    Column("shared", right=True, gives_way=3),
    Column("packed", right=True, gives_way=4),
)
_PATH_COLUMNS = (
    Column("stored", right=True),
    Column("unique", right=True, gives_way=1),
    Column("path"),
)


def print_usage(invocation: Invocation, result: UsageResult) -> None:
    """The snapshots of a root; bars of the size of each, its unique bytes first."""
    rows = [
        (
            str(one.snapshot.id),
            one.snapshot.name,
            local_time(one.snapshot.created_ns, invocation.clock),
            format_size(one.logical_bytes),
            format_size(one.unique_bytes),
            format_size(one.shared_bytes),
            format_size(one.sole_stored_bytes),
        )
        for one in result.snapshots
    ]
    parts = [(one.unique_bytes, one.shared_bytes) for one in result.snapshots]
    bars = Bars(len(_SNAPSHOT_COLUMNS), parts)
    print_table(invocation.out, _SNAPSHOT_COLUMNS, rows, bars)


def print_set(invocation: Invocation, references: Sequence[str], answer: SetUsage) -> None:
    """What deleting a set would do."""
    count = format_count(len(answer.snapshots), "snapshot")
    facts(
        invocation.out,
        [
            ("deleting", references[0] if len(references) == 1 else count),
            ("size", f"{format_size(answer.logical_bytes)} of files"),
            ("frees", f"{_exactly(answer.freed_bytes)}, {format_count(answer.packs, 'pack')}"),
            ("reclaimable", f"{_exactly(answer.reclaimable_bytes)}, in packs still needed"),
            ("pinned", f"{', '.join(answer.pinned)}: unpin comes first" if answer.pinned else ""),
        ],
    )

    if answer.unfinished:
        invocation.say(
            "a run is at work or was killed; the next command that writes finishes its change, "
            "and then this may change as well"
        )


def _exactly(size: int) -> str:
    return format_size(size) if size < 1024 else f"{format_size(size)} ({size:,} B)"


def print_paths(
    invocation: Invocation, paths: Iterable[PathUsage], begin: Callable[[], None]
) -> None:
    """Paths, in the order given; bars beside the first, which is all of them. ``begin`` is called before."""
    rest = iter(paths)
    scale: int | None = None
    while batch := list(islice(rest, _BATCH)):
        begin()
        if scale is None:
            scale = batch[0].stored_bytes
        rows = [
            (format_size(one.stored_bytes), format_size(one.unique_bytes), quote(one.path or b"."))
            for one in batch
        ]
        parts = [(one.unique_bytes, one.stored_bytes - one.unique_bytes) for one in batch]
        print_table(invocation.out, _PATH_COLUMNS, rows, Bars(2, parts, scale))
