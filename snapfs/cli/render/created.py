"""What ``create`` prints."""

from __future__ import annotations

import os

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.render.text import Called, Mode, change_counts, entry_counts, reference
from snapfs.create import CreateResult
from snapfs.model.quote import printable, quote
from snapfs.model.units import format_count, format_duration, format_size


def print_created(
    invocation: Invocation, result: CreateResult, *, dry_run: bool, skip_if_unchanged: bool
) -> None:
    """The reference on stdout; the summary on stderr."""
    name = reference(result.root, result.snapshot) if result.snapshot is not None else None
    if invocation.json:
        invocation.emit("create/1", Called(name), result, Mode(dry_run))
        return
    for explained in result.explained:
        verdict = "left out" if explained.excluded else "kept"
        rule = (
            f" by {printable(explained.rule)} ({printable(explained.source)})"
            if explained.rule
            else ""
        )
        invocation.out.line(f"{quote(explained.path or b'.')}: {verdict}{rule}")
    for rule in result.unused_rules:
        invocation.say(f"matched nothing: {rule}")
    try:
        if name is not None:
            invocation.out.line(name)
            invocation.out.flush()
    finally:  # also where nobody takes the name: the snapshot is there
        invocation.say(summary(result, dry_run=dry_run, skip_if_unchanged=skip_if_unchanged))


def summary(result: CreateResult, *, dry_run: bool, skip_if_unchanged: bool) -> str:
    """One line: files, changed, bytes read, stored, time."""
    skipped = skip_if_unchanged and result.unchanged
    stored = f"stored {format_size(result.stored_bytes)}"
    if result.metadata_bytes:
        stored += f" + {format_size(result.metadata_bytes)} of metadata"
    changes = change_counts(result.new, result.changed, result.removed, unchanged=result.unchanged)
    if result.new and result.removed:
        changes += " (what was renamed is both new and removed)"
    parts = [
        f"{entry_counts(result.files, result.dirs, result.others)}, {format_size(result.total_bytes)}",
        "first snapshot" if result.first else changes,
        f"read {format_size(result.read_bytes)}, {stored}, {format_duration(result.duration_ns)}",
    ]
    if not result.whole:
        parts.append("looked only at what is listed")
    if result.problems:
        incomplete = result.snapshot is not None and not result.snapshot.complete
        so = ", so it is incomplete" if incomplete else ""
        parts.append(format_count(result.problems, "problem") + so)
    text = f"{result.root.label}: {'; '.join(parts)}"
    if dry_run:
        text += f"; {'no snapshot would be taken, ' if skipped else ''}dry run, nothing stored"
    elif skipped:
        text += "; unchanged, no snapshot taken"
    return text


def say_first_words(invocation: Invocation, repository: bytes, result: CreateResult) -> None:
    """After the first create: where the repository is, what it saves from, how to get a file back."""
    root = result.root
    invocation.say(f"The repository is {quote(repository)}; -r PATH or SNAPFS_REPO names another.")
    if root.path is not None and _same_disk(repository, root.path):
        invocation.say(
            "It is on the same disk as the directory: that saves from mistakes, not from a dead disk."
        )
    invocation.say(f"To get a file back: snapfs restore {root.label}@latest:FILE --to DIR")


def _same_disk(one: bytes, other: bytes) -> bool:
    try:
        return os.stat(one).st_dev == os.stat(other).st_dev
    except OSError:
        return False
