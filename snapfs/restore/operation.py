"""`restore`: choose what is wanted, take a safety snapshot, write it.

One read transaction spans the whole run, so that a snapshot deleted meanwhile is restored to its end;
``locks/gc`` is held shared, so that no pack goes away.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace

from snapfs import faults
from snapfs.catalog import rows, streams
from snapfs.catalog.rows import SnapshotRow
from snapfs.errors import NotFoundError, SnapfsError, UsageError
from snapfs.fs.rules import Rules
from snapfs.inplace.known import KnownFiles
from snapfs.inplace.protect import Protection
from snapfs.inplace.safety import spare_held, take_safety
from snapfs.inplace.saved import Saved
from snapfs.inplace.source import live_directory, refuse_repository, stored_source
from snapfs.materialize import owners
from snapfs.materialize.apply import materialize
from snapfs.materialize.wanted import (
    MaterializeOptions,
    MaterializeResult,
    Overwrite,
    WantedDir,
)
from snapfs.model.kinds import Kind
from snapfs.model.snapshot import Root, Snapshot
from snapfs.progress import Problem, Progress
from snapfs.repository.locks import restore_lock
from snapfs.repository.opened import Repository
from snapfs.repository.reserve import make_reserve
from snapfs.repository.runs import recorded
from snapfs.restore.options import OwnerRule, RestoreOptions, RestorePlan, RestoreResult
from snapfs.restore.selection import Filter, Selection
from snapfs.restore.stakes import Stakes
from snapfs.tree.state import spared

TOLD = 1000
"""Deletions that a plan names; more only count."""


def plan_restore(
    repository: Repository,
    root: Root,
    snapshot: Snapshot,
    options: RestoreOptions,
    *,
    progress: Progress,
) -> RestorePlan:
    """Count what `restore` would do, by doing it without writing."""
    deletes: list[bytes] = []

    def deleting(parts: tuple[bytes, ...], name: bytes) -> None:
        if len(deletes) < TOLD:
            deletes.append(b"/".join((*parts, name)))

    dry = replace(options, dry_run=True)
    done = _write(
        repository, root, snapshot, dry, progress=progress, deleting=deleting, tell=options.dry_run
    )
    return RestorePlan(
        _target(root, options),
        done.created,
        done.overwritten,
        done.deleted,
        done.left_alone + done.unchanged,
        done.written_bytes,
        done.problems,
        tuple(sorted(deletes)),
    )


def restore(
    repository: Repository,
    root: Root,
    snapshot: Snapshot,
    options: RestoreOptions,
    *,
    progress: Progress,
    on_safety: Callable[[Snapshot], None] = lambda _: None,
) -> RestoreResult:
    """Write a snapshot, or a part of it. ``on_safety`` is told of the safety snapshot once it is there.

    Raises UsageError (no target, target not empty), NotFoundError (no such path), StorageFullError,
    SnapfsError if the safety snapshot cannot be complete: then nothing was changed. LockedError if
    another restore of this root in place is at work.
    """
    started_ns = repository.clock.now_ns()
    target = _target(root, options)
    with recorded(repository, root.id) as note, ExitStack() as stack:
        note.silent = not options.in_place or options.dry_run
        if options.in_place and not options.dry_run:
            stack.enter_context(
                repository.locks.hold(
                    restore_lock(root.id), exclusive=True, wait_s=repository.lock_wait_s
                )
            )
            note.begin()
        safety: Snapshot | None = None
        if options.in_place and options.safety and not options.dry_run and os.path.isdir(target):
            _check_paths(repository, root, snapshot, options, target)
            safety = _take_safety(repository, root, snapshot, options, progress)
            on_safety(safety)
            faults.point("restore.safety-taken")
        done = _write(repository, root, snapshot, options, progress=progress, safety=safety)
        if options.in_place and not options.dry_run:
            make_reserve(repository.fd, repository.handed)  # a full disk may have cost it
        note.exit = 3 if done.problems else 0
        note.summary = (
            f"{snapshot.name}: {done.created} created, {done.overwritten} overwritten, "
            f"{done.deleted} deleted"
        )
        return RestoreResult(
            target=target,
            snapshot=snapshot,
            created=done.created,
            overwritten=done.overwritten,
            deleted=done.deleted,
            left_alone=done.left_alone,
            unchanged=done.unchanged,
            written_bytes=done.written_bytes,
            safety=safety,
            problems=done.problems,
            duration_ns=repository.clock.now_ns() - started_ns,
        )


def _take_safety(
    repository: Repository,
    root: Root,
    snapshot: Snapshot,
    options: RestoreOptions,
    progress: Progress,
) -> Snapshot:
    inode, _, kept = _place(repository, root, snapshot)
    assert root.path is not None
    rules = Rules.from_text(kept.rules)
    return take_safety(
        repository,
        root,
        rules,
        kept,
        spare=spare_held(repository, root, rules, kept),
        message=f"before restore of {snapshot.name}",
        refuse=Stakes(repository.catalog, inode, snapshot, options, root.path).refuse,
        progress=progress,
    )


def _target(root: Root, options: RestoreOptions) -> bytes:
    if options.in_place:
        return live_directory(root, otherwise="give --to DIR")
    if options.to is None:
        raise UsageError("restore needs a target", hint="give --to DIR or --in-place")
    return options.to


def _write(
    repository: Repository,
    root: Root,
    snapshot: Snapshot,
    options: RestoreOptions,
    *,
    progress: Progress,
    deleting: Callable[[tuple[bytes, ...], bytes], None] | None = None,
    tell: bool = True,
    safety: Snapshot | None = None,
) -> MaterializeResult:
    """``tell``: whether patterns that match nothing are named, which is once for a question and its run.
    ``safety`` has to hold what goes or is replaced.
    """
    target = _target(root, options)
    _check_target(repository, target, options)
    catalog = repository.catalog
    with ExitStack() as stack:
        stack.enter_context(repository.locks.hold_blocks(repository.lock_wait_s))
        stack.enter_context(catalog.read())
        inode, at, kept = _place(repository, root, snapshot)
        chosen = Filter(options.include, options.exclude)
        selection = Selection(catalog, inode, at, chosen)
        sound = selection.agrees(kept.tree_digest)
        known = KnownFiles(repository, at, in_place=options.in_place, sparse=options.sparse)
        selection.on_directory = known.enter
        wanted = _wanted(selection, snapshot, options, target)
        first = next(wanted, None)
        if first is None:
            raise NotFoundError(f"{snapshot.name} has nothing of that", subject=snapshot.name)
        everything = not (options.paths or options.include or options.exclude)
        entries: int | None = None
        total_bytes: int | None = None
        if everything:
            entries = snapshot.files + snapshot.dirs + snapshot.others
            total_bytes = snapshot.total_bytes
        elif progress.foretells:
            part = Selection(catalog, inode, at, chosen)
            entries, total_bytes = _totals(_wanted(part, snapshot, options, target))
        progress.phase(
            "comparing" if options.dry_run else "restoring",
            entries=entries,
            total_bytes=total_bytes,
        )
        faults.point("restore.planned")
        prefix = options.paths[0] if len(options.paths) == 1 and not _keeps(options) else b""
        untouched = repository.own_folders().has
        rules = Rules.from_text(kept.rules)
        brought = spared(catalog, root.id, rules.spared)
        protection = Protection(rules, target, prefix, untouched, brought, chosen.left_alone)
        if not sound:
            what = (
                f"the catalog is damaged: this is not {snapshot.name} as it was; run snapfs verify"
            )
            progress.problem(Problem(b"", 0, what))
        done = materialize(
            target,
            _chain(first, wanted),
            stored_source(repository, streams.Linked(catalog, at, everything=not options.paths)),
            MaterializeOptions(
                overwrite=_policy(options),
                delete=options.delete and sound,
                spare_unread=options.in_place,
                sparse=options.sparse,
                dry_run=options.dry_run,
                owner=_owner(repository, root, options),
                same=known.same,
                protected=protection,
                untouched=untouched,
                saved=None if safety is None else Saved(catalog, root.id, safety.id),
                deleting=deleting,
            ),
            progress=progress,
        )
        for line in chosen.unused() if tell else ():
            progress.note(f"matched nothing: {line.source} {os.fsdecode(line.text)}")
        return done if sound else replace(done, problems=done.problems + 1)


def _check_paths(
    repository: Repository,
    root: Root,
    snapshot: Snapshot,
    options: RestoreOptions,
    target: bytes,
) -> None:
    """NotFoundError for a mistyped path, before a safety snapshot is taken for nothing."""
    catalog = repository.catalog
    with catalog.read():
        inode, at, _ = _place(repository, root, snapshot)
        selection = Selection(catalog, inode, at, Filter((), ()))
        selection.gone(options.paths, snapshot.name, _may_go(options, target))


def _may_go(options: RestoreOptions, target: bytes) -> Callable[[bytes], bool]:
    """Says of a path that the snapshot does not have whether it is there to be deleted."""
    return lambda path: (
        options.in_place and options.delete and os.path.lexists(os.path.join(target, path))
    )


def _place(
    repository: Repository, root: Root, snapshot: Snapshot
) -> tuple[int, int | None, SnapshotRow]:
    """The root's inode, where to read the snapshot, and its row. NotFoundError if it is gone."""
    row = rows.root(repository.catalog, root.id)
    kept = rows.snapshot_row(repository.catalog, snapshot.id)
    if row is None or row.inode_id is None or kept is None:
        raise NotFoundError(f"snapshot {snapshot.name} is gone", subject=snapshot.name)
    return row.inode_id, None if row.head_id == snapshot.id else snapshot.id, kept


def _policy(options: RestoreOptions) -> Overwrite:
    if options.overwrite is not None:
        return options.overwrite
    # In place, what is known to be as wanted is not written again.
    return Overwrite.IF_CHANGED if options.in_place else Overwrite.ALWAYS


def _keeps(options: RestoreOptions) -> bool:
    return options.keep_paths or options.in_place or len(options.paths) > 1


def _wanted(
    selection: Selection, snapshot: Snapshot, options: RestoreOptions, target: bytes
) -> Iterator[WantedDir]:
    if not options.paths:
        return selection.content_of(b"", snapshot.name)
    if _keeps(options):
        return selection.at_paths(
            options.paths,
            snapshot.name,
            in_root=options.in_place,
            may_go=_may_go(options, target),
        )
    return selection.content_of(options.paths[0], snapshot.name)


def _totals(wanted: Iterable[WantedDir]) -> tuple[int, int]:
    """Entries and bytes of files; each name counts."""
    entries = total_bytes = 0
    for directory in wanted:
        for entry in directory.children:
            entries += 1
            total_bytes += entry.size if entry.kind == Kind.FILE else 0
    return entries, total_bytes


def _chain(first: WantedDir, rest: Iterator[WantedDir]) -> Iterator[WantedDir]:
    yield first
    yield from rest


def _owner(repository: Repository, root: Root, options: RestoreOptions) -> owners.OwnerRule:
    if options.owner == OwnerRule.NONE:
        return owners.OwnerRule.nobody()
    if options.owner == OwnerRule.NAME:
        users, groups = repository.owners(root.id)
        return owners.OwnerRule.by_name(users=users, groups=groups)
    return owners.OwnerRule()


def _check_target(repository: Repository, target: bytes, options: RestoreOptions) -> None:
    name = os.fsdecode(target)
    refuse_repository(repository, target)
    if options.in_place or options.overwrite is not None:
        return
    try:
        with os.scandir(target) as entries:
            if next(entries, None) is not None:
                raise UsageError(
                    f"{name} is not empty",
                    subject=name,
                    hint="give --overwrite always|if-changed|if-newer|never",
                )
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        raise UsageError(f"{name} is no directory", subject=name) from error
    except OSError as error:
        raise SnapfsError(f"{name} cannot be read: {error.strerror}", subject=name) from error
