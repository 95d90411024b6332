"""What taking a snapshot of a directory and of a stream have in common at their end, and in a dry run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from snapfs.capture.append import Appended
from snapfs.create.options import CreateResult
from snapfs.model.snapshot import Root
from snapfs.repository.make import make_repository
from snapfs.repository.opened import Repository
from snapfs.repository.runs import RunNote


@contextmanager
def thrown_away() -> Iterator[Repository]:
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


def end_note(note: RunNote, result: CreateResult) -> None:
    """Say in the record of runs what came of it."""
    note.exit = 3 if result.problems or result.damaged else 0
    name = result.snapshot.name if result.snapshot else "no snapshot"
    note.summary = f"{name}: {result.new} new, {result.changed} changed, {result.removed} removed"
