"""The repository for commands that make a missing one. Apart, since what only reads need not load it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.where import choose, open_to_write, refuse_planting
from snapfs.repository.make import make_repository
from snapfs.repository.opened import Repository, repository_at


@contextmanager
def open_or_make(invocation: Invocation, *, dry_run: bool) -> Iterator[Repository]:
    """The repository for what takes snapshots, made if there is none; for a dry run one that is thrown away."""
    chosen = choose(invocation)
    if repository_at(chosen.path):
        with open_to_write(invocation) as repository:
            yield repository
        return
    refuse_planting(chosen)
    if not dry_run:
        with make_repository(
            chosen.path, lock_wait_s=invocation.lock_wait_s, command_line=invocation.words
        ) as repository:
            yield repository
        return
    with (
        tempfile.TemporaryDirectory(prefix="snapfs-dry-run-") as folder,
        make_repository(os.path.join(os.fsencode(folder), b"repository")) as repository,
    ):
        yield repository
