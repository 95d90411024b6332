"""What taking a snapshot of a directory and of a stream have in common: the root before, and what comes after."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from snapfs.capture.append import Appended
from snapfs.create.options import CreateResult
from snapfs.model.snapshot import NewRoot, Root
from snapfs.model.units import format_size
from snapfs.progress import Progress
from snapfs.reclaim.pending import free_pending
from snapfs.repository.make import make_repository
from snapfs.repository.opened import Repository
from snapfs.repository.roots import add_root, plan_root
from snapfs.repository.runs import RunNote


@contextmanager
def registered(
    repository: Repository, root: Root | NewRoot, note: RunNote, *, dry_run: bool
) -> Iterator[tuple[Repository, Root]]:
    """A root, which is registered if it is new, and the repository that gets its snapshot.

    A dry run registers nothing: where it would, it gets another repository, which is gone after the block.
    Raises as `add_root`.
    """
    with ExitStack() as stack:
        if dry_run and isinstance(root, NewRoot):
            root = plan_root(repository, root)
        if dry_run and isinstance(root, NewRoot):
            repository = stack.enter_context(_thrown_away())
        known = add_root(repository, root) if isinstance(root, NewRoot) else root
        note.root_ids = (known.id,)
        if not dry_run:
            note.begin()
        yield repository, known


@contextmanager
def _thrown_away() -> Iterator[Repository]:
    """A repository for a dry run that would register a root."""
    with (
        tempfile.TemporaryDirectory(prefix="snapfs-dry-run-") as folder,
        make_repository(os.path.join(os.fsencode(folder), b"repository")) as repository,
    ):
        yield repository


def result_of(root: Root, done: Appended) -> CreateResult:
    """What came of it, as far as rules and time have no part in it."""
    counts = done.captured.counts
    files, dirs, others, size = done.sizes
    return CreateResult(
        root=root,
        snapshot=done.snapshot,
        unchanged=done.unchanged,
        first=done.first,
        files=files,
        dirs=dirs,
        others=others,
        total_bytes=size,
        new=counts.added,
        changed=counts.modified,
        removed=counts.removed,
        read_bytes=done.captured.read_bytes,
        stored_bytes=done.captured.stored_bytes,
        metadata_bytes=done.metadata_bytes,
        unused_rules=(),
        whole=True,
        damaged=done.damaged,
        explained=(),
        problems=done.captured.stage.problems,
        duration_ns=0,
    )


def free_left(repository: Repository, *, progress: Progress) -> None:
    """Free the packs that earlier deletes left, and say how much that was."""
    if freed := free_pending(repository):
        progress.note(f"freed {format_size(freed)} of packs that nothing needs any more")


def end_note(note: RunNote, result: CreateResult) -> None:
    """Say in the record of runs what came of it."""
    note.exit = 3 if result.problems or result.damaged else 0
    name = result.snapshot.name if result.snapshot else "no snapshot"
    note.summary = f"{name}: {result.new} new, {result.changed} changed, {result.removed} removed"
