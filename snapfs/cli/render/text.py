"""Snapshots, entries, changes and counts as lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from snapfs.cli.frame.streams import Output
from snapfs.cli.render.table import Bars, Column, plain_lines, print_table
from snapfs.clock import Clock
from snapfs.model.moment import format_local
from snapfs.model.quote import printable, quote, quote_text
from snapfs.model.snapshot import Root, RootSummary, Snapshot
from snapfs.model.units import format_count, format_size

_SNAPSHOT_COLUMNS = (
    Column("no", right=True),
    Column("snapshot"),
    Column("time", gives_way=2),
    Column("files", right=True, gives_way=5),
    Column("size", right=True, gives_way=4),
    Column("stored", right=True, gives_way=3),
    # Shortened from its end, where the message is; before that are the tags.
    Column("", gives_way=1, least=8),
)
_ROOT_COLUMNS = (
    Column("root"),
    Column("directory", gives_way=5, least=12, keeps_end=True),
    Column("snapshots", right=True, gives_way=4),
    Column("newest", gives_way=2),
    Column("size", right=True, gives_way=3),
)
# Without it two roots of one path would look alike.
_HOST_COLUMN = Column("host", gives_way=1, least=8, stays=True)


@dataclass(frozen=True, slots=True)
class Called:
    """How a snapshot is called on the command line, beside a result that says all else."""

    reference: str | None
    """ROOT@SNAPSHOT, as other commands take it; null if none was taken"""


@dataclass(frozen=True, slots=True)
class Named:
    """How a snapshot is called on the command line."""

    reference: str
    """ROOT@SNAPSHOT, as other commands take it"""
    root: str
    """label of the root"""


@dataclass(frozen=True, slots=True)
class Mode:
    """Whether it was done."""

    dry_run: bool
    """true if nothing was changed: it says what would be"""


def reference(root: Root, snapshot: Snapshot) -> str:
    """``photos@s20260601-120000.000``."""
    # Names that could move a cursor come only from a catalog that somebody edited.
    return printable(f"{root.label}@{snapshot.name}")


def create_line(root: Root) -> str:
    """What to type for the next snapshot of a root: a stream's has to be told where it comes from."""
    label = quote_text(root.label)
    if root.path is None:
        return f"snapfs create --from-command COMMAND --label {label}"
    return f"snapfs create {label}"


def local_time(moment_ns: int, clock: Clock) -> str:
    """``2026-06-01 14:30:05``, local time."""
    try:
        offset_s = clock.utc_offset_s(moment_ns)
    except (OverflowError, OSError):
        # Filesystems keep years that the C library has no local time for.
        offset_s = 0
    return format_local(moment_ns, offset_s)


def remarks(snapshot: Snapshot) -> str:
    """What sets a snapshot apart: pinned, incomplete, tags, message."""
    marks = []
    if snapshot.pinned:
        marks.append("pinned")
    if not snapshot.complete:
        marks.append("incomplete")
    marks.extend(f"#{tag}" for tag in snapshot.tags)
    if snapshot.message:
        marks.append(printable(snapshot.message))
    return " ".join(marks)


def print_snapshots(
    out: Output, rows: Iterable[tuple[Root, Snapshot]], clock: Clock, *, several: bool
) -> None:
    """A table; with ``several`` roots snapshots are named with their root. The bars are of what each stored."""
    rows = list(rows)
    table = [
        (
            str(snapshot.id),
            reference(root, snapshot) if several else snapshot.name,
            local_time(snapshot.created_ns, clock),
            f"{snapshot.files:,}",
            format_size(snapshot.total_bytes),
            format_size(snapshot.stored_bytes),
            remarks(snapshot),
        )
        for root, snapshot in rows
    ]
    stored = Bars(len(_SNAPSHOT_COLUMNS) - 1, [(snapshot.stored_bytes,) for _, snapshot in rows])
    print_table(out, _SNAPSHOT_COLUMNS, table, stored)


def print_roots(out: Output, summaries: Sequence[RootSummary], clock: Clock, host: str) -> None:
    """A table of roots with count, newest and size; those of another host than ``host`` name it."""
    foreign = any(summary.root.host != host for summary in summaries)
    table = []
    for root, count, newest in ((s.root, s.snapshots, s.newest) for s in summaries):
        row = [
            root.label,
            quote(root.path) if root.path is not None else "(stream)",
            f"{count:,}",
            local_time(newest.created_ns, clock) if newest else "never",
            format_size(newest.total_bytes) if newest else "",
        ]
        if foreign:
            row.append("" if root.host == host else printable(root.host))
        table.append(row)
    print_table(out, (*_ROOT_COLUMNS, _HOST_COLUMN) if foreign else _ROOT_COLUMNS, table)


def facts(out: Output, pairs: Sequence[tuple[str, str]]) -> None:
    """Aligned ``what  value`` lines; those without a value are left out."""
    rows = [(what, value) for what, value in pairs if value]
    for line in plain_lines((), rows):
        out.line(line)


def entry_counts(files: int, dirs: int, others: int) -> str:
    """``68,000 files, 4,200 directories, 3 others``."""
    parts = [format_count(files, "file"), format_count(dirs, "directory", "directories")]
    if others:
        parts.append(format_count(others, "other"))
    return ", ".join(parts)


def change_counts(added: int, changed: int, removed: int, *, unchanged: bool) -> str:
    """``600 new, 12 changed, 3 removed``; ``nothing changed`` if so."""
    counts = ((added, "new"), (changed, "changed"), (removed, "removed"))
    parts = [f"{count:,} {word}" for count, word in counts if count]
    what = "nothing changed" if unchanged else "only times of directories changed"
    return ", ".join(parts) or what
