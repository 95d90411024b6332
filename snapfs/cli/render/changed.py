"""What rename, tag, untag, pin and unpin print: the snapshot as it is now."""

from __future__ import annotations

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.render.text import Named, reference, remarks
from snapfs.model.snapshot import Root, Snapshot


def print_changed(invocation: Invocation, root: Root, snapshot: Snapshot, *, dry_run: bool) -> None:
    """Its reference on stdout, its marks on stderr."""
    name = reference(root, snapshot)
    if invocation.json:
        invocation.emit("snapshot/1", Named(name, root.label), snapshot)
        return
    invocation.out.line(name)
    marks = remarks(snapshot)
    if dry_run:
        invocation.say(f"{name}: dry run, nothing changed")
    elif marks:
        invocation.say(f"{name}: {marks}")
