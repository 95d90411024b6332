"""Changes that are lost with a part of the journal, in words."""

from __future__ import annotations

from collections.abc import Iterator

from snapfs.cli.render.text import local_time
from snapfs.clock import Clock
from snapfs.model.quote import printable
from snapfs.model.units import format_count
from snapfs.repository.beyond import LostChanges


def lost_lines(lost: LostChanges | None, *, dry_run: bool = False) -> Iterator[str]:
    """A line for all, and one for each snapshot and root, as far as they are known."""
    if lost is None:
        return
    clock = Clock()
    least = "at least " if lost.unreadable else ""
    changes = least + format_count(lost.records, "change")
    after = "" if lost.after_ns is None else f" after {local_time(lost.after_ns, clock)}"
    if lost.certain:
        yield f"lost: {changes} of the repository made{after}: {printable(lost.what)}"
    else:
        what = f"all that was changed{after}: {printable(lost.what)}"
        yield f"lost, unless it is of a run that was killed: {what}"
    for label in lost.roots:
        yield f"lost: root {printable(label)}"
    for one in lost.snapshots:
        name = printable(f"{one.root}@{one.name}")
        yield f"lost: snapshot {name} of {local_time(one.created_ns, clock)}"
    if lost.unreadable:
        unread = format_count(lost.unreadable, "change")
        yield f"lost: what {unread} of these did cannot be read any more"
    if lost.packs:
        verb = "would be moved" if dry_run else "moved"
        packs = format_count(len(lost.packs), "pack")
        yield f"{verb} to quarantine, since only lost changes knew them: {packs}"
