"""`create`: register the directory if it is new, and take a snapshot of it."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack, closing
from dataclasses import replace

from snapfs.capture.listed import Listed
from snapfs.capture.take import TakeOptions, take
from snapfs.catalog.spill import Spill
from snapfs.create.explain import explain
from snapfs.create.listing import Placing
from snapfs.create.options import CreateOptions, CreateResult
from snapfs.create.outcome import end_note, free_left, registered, result_of
from snapfs.errors import NotFoundError, UsageError
from snapfs.fs.handles import lies_in
from snapfs.fs.rules import RuleLine, Rules, read_pattern_file
from snapfs.model.snapshot import NewRoot, Root
from snapfs.progress import Progress
from snapfs.repository.opened import Repository
from snapfs.repository.runs import recorded


def create(
    repository: Repository, root: Root | NewRoot, options: CreateOptions, *, progress: Progress
) -> CreateResult:
    """Take a snapshot of a root, which is registered first if it is new.

    Raises NotFoundError (the directory is gone), UsageError (the name is taken, a rule makes no
    sense), LockedError, StorageFullError, CatalogBehindError.
    """
    started_ns = repository.clock.now_ns()
    path = root.path
    if path is None:
        raise UsageError("the root is a stream without a directory")
    rules = rules_of(options)
    with ExitStack() as stack:
        note = stack.enter_context(recorded(repository))
        note.silent = options.dry_run
        root_fd = _open_root(path, root)
        stack.callback(os.close, root_fd)
        _refuse_repository(repository, root_fd, path)
        explained = explain(root_fd, rules, options.explain)
        listed: Listed | None = None
        if options.changed is not None:
            listed = Listed(stack.enter_context(closing(Spill())), rules)
            for place in map(Placing(path, root_fd, root.label), options.changed):
                listed.add(place)
        used, known = stack.enter_context(
            registered(repository, root, note, dry_run=options.dry_run)
        )
        if used is not repository:
            # The one that is used instead leaves out itself alone.
            rules = replace(rules, patterns=(*rules.patterns, *_own(repository, path)))
        taken = take(
            used,
            known,
            root_fd,
            rules,
            _take_options(options, listed),
            progress=progress,
        )
        if not options.dry_run:
            free_left(used, progress=progress)
        unused = taken.matcher.unused() if taken.whole else ()
        result = replace(
            result_of(known, taken),
            unused_rules=tuple(f"{line.source}: {os.fsdecode(line.text)}" for line in unused),
            whole=taken.whole,
            explained=explained,
            problems=taken.captured.stage.problems + taken.unread_rules,
        )
        end_note(note, result)
    return replace(result, duration_ns=repository.clock.now_ns() - started_ns)


def _own(repository: Repository, directory: bytes) -> tuple[RuleLine, ...]:
    """The pattern that leaves out the repository where it lies in the directory."""
    below = os.path.realpath(directory) + b"/"
    place = os.path.realpath(repository.path)
    if not place.startswith(below):
        return ()
    pattern = re.sub(rb"([\\*?\[\] ])", rb"\\\1", place[len(below) :])
    return (RuleLine(b"/" + pattern, "the repository"),)


def _open_root(path: bytes, root: Root | NewRoot) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        name = os.fsdecode(path)
        hint = ""
        if isinstance(root, Root):
            hint = f"if it moved: snapfs roots move {root.label} NEW-PATH"
        raise NotFoundError(
            f"directory {name} cannot be opened: {error.strerror}", subject=name, hint=hint
        ) from error


def _refuse_repository(repository: Repository, root_fd: int, path: bytes) -> None:
    st = os.fstat(repository.fd)
    if lies_in(root_fd, (st.st_dev, st.st_ino)):
        name = os.fsdecode(path)
        raise UsageError(
            f"{name} is the repository or lies in it",
            subject=name,
            hint="name a directory outside of it",
        )


def rules_of(options: CreateOptions) -> Rules:
    """The rules that a run's options make. Raises UsageError for a pattern file that is not there."""
    lines = [RuleLine(text, "--exclude") for text in options.exclude]
    for path in options.exclude_from:
        try:
            lines += read_pattern_file(path)
        except OSError as error:
            name = os.fsdecode(path)
            raise UsageError(
                f"pattern file {name} cannot be read: {error.strerror}", subject=name
            ) from error
    return Rules(
        patterns=tuple(lines),
        caches=options.exclude_caches,
        if_present=options.exclude_if_present,
        one_file_system=options.one_file_system,
        larger_than=options.exclude_larger_than,
    )


def _take_options(options: CreateOptions, listed: Listed | None) -> TakeOptions:
    return TakeOptions(
        name=options.name,
        message=options.message,
        tags=options.tags,
        time_ns=options.time_ns,
        skip_if_unchanged=options.skip_if_unchanged,
        dry_run=options.dry_run,
        checksum=options.checksum,
        ignore_ctime=options.ignore_ctime,
        ignore_inode=options.ignore_inode,
        listed=listed,
    )
