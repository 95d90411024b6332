"""What rename, tag, untag, pin and unpin print: the snapshot as it is now, or would be."""

from __future__ import annotations

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.render.text import Mode, Named, reference, remarks
from snapfs.model.quote import printable
from snapfs.model.snapshot import Root, Snapshot


def print_changed(
    invocation: Invocation, root: Root, before: Snapshot, after: Snapshot, *, dry_run: bool
) -> None:
    """Its reference on stdout; on stderr its marks, or what would be of a dry run."""
    name = reference(root, after)
    if invocation.json:
        invocation.emit("snapshot/1", Named(name, root.label), after, Mode(dry_run))
        return
    invocation.out.line(name)
    marks = remarks(after)
    if dry_run:
        invocation.say(
            f"{reference(root, before)} {_would(before, after)}; dry run, nothing changed"
        )
    elif marks:
        invocation.say(f"{name}: {marks}")


def _would(before: Snapshot, after: Snapshot) -> str:
    """``would be renamed to b3, get #x``, from what differs."""
    parts = []
    if after.name != before.name:
        parts.append(f"be renamed to {after.name}")
    if after.pinned != before.pinned:
        parts.append("be pinned" if after.pinned else "be unpinned")
    if after.message != before.message:
        said = (
            f"get the message {printable(after.message)}" if after.message else "lose its message"
        )
        parts.append(said)
    for verb, one, other in (("get", after, before), ("lose", before, after)):
        tags = [f"#{tag}" for tag in one.tags if tag not in other.tags]
        if tags:
            parts.append(f"{verb} {' '.join(tags)}")
    return f"would {', '.join(parts) or 'stay as it is'}"
