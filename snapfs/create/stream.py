"""`create` of a stream: register its label if it is new, and take a snapshot of what comes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace

from snapfs.capture.append import AppendOptions
from snapfs.capture.stream import Owned, Source, take_stream
from snapfs.create.options import CreateOptions, CreateResult
from snapfs.create.outcome import end_note, free_left, registered, result_of
from snapfs.errors import SnapfsError
from snapfs.fs.handles import is_name
from snapfs.fs.temporary import is_temporary
from snapfs.model.snapshot import NewRoot, Root
from snapfs.progress import Progress
from snapfs.repository.opened import Repository
from snapfs.repository.roots import take_back_root
from snapfs.repository.runs import RunNote, recorded

LONGEST_NAME = 255
"""Bytes of a name that every filesystem takes."""


def is_file_name(name: bytes) -> bool:
    """Whether the one file of a stream can be called so, and be restored."""
    return 0 < len(name) <= LONGEST_NAME and is_name(name) and not is_temporary(name)


def create_stream(
    repository: Repository,
    root: Root | NewRoot,
    name: bytes,
    source: Source,
    options: CreateOptions,
    *,
    progress: Progress,
) -> CreateResult:
    """Take a snapshot whose one file ``name`` holds what ``source`` gives; it is this user's.

    Of the options those count that do not speak of a directory. In a dry run ``source`` is read as well. Raises
    what the source raises, and then there is no snapshot and no new root; UsageError (the name is taken), LockedError,
    StorageFullError, CatalogBehindError.
    """
    started_ns = repository.clock.now_ns()
    with ExitStack() as stack:
        note = stack.enter_context(recorded(repository))
        note.silent = options.dry_run
        used, known = stack.enter_context(
            registered(repository, root, note, dry_run=options.dry_run)
        )
        is_new = isinstance(root, NewRoot) and not options.dry_run
        with _unless_it_fails(used, known, note) if is_new else nullcontext():
            done = take_stream(
                used,
                known,
                Owned(name, os.geteuid(), os.getegid()),
                source,
                AppendOptions(
                    name=options.name,
                    message=options.message,
                    tags=options.tags,
                    time_ns=options.time_ns,
                    skip_if_unchanged=options.skip_if_unchanged,
                    dry_run=options.dry_run,
                ),
                progress=progress,
            )
        if not options.dry_run:
            free_left(used, progress=progress)
        result = result_of(known, done)
        end_note(note, result)
    return replace(result, duration_ns=repository.clock.now_ns() - started_ns)


@contextmanager
def _unless_it_fails(repository: Repository, root: Root, note: RunNote) -> Iterator[None]:
    """Take a new root back if its first stream fails.

    Nobody could tell what it is: that of a directory at least says where its next snapshot comes from.
    """
    try:
        yield
    except BaseException:
        with suppress(SnapfsError):
            take_back_root(repository, root)
            note.root_ids = ()
        raise
