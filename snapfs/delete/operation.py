"""`delete`: fold any set of snapshots into their neighbours and free the packs that are then dead.

Folding never waits for readers: if ``locks/gc`` is busy, the bytes stay pending and the next delete
or create frees them. The plan is worked out without a change (`reclaim.forecast`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from snapfs import faults
from snapfs.catalog import rows
from snapfs.catalog.fold import fold, leave_pending
from snapfs.errors import LockedError, NotFoundError, PinnedError, StorageFullError
from snapfs.model.snapshot import Root, Snapshot
from snapfs.progress import Progress
from snapfs.reclaim.forecast import forecast
from snapfs.reclaim.packs import (
    NOTHING,
    Freed,
    collect_rows,
    doomed,
    remove_doomed,
)
from snapfs.reclaim.pending import finish_pending_purge
from snapfs.repository.changes import change, dump_if_due, heal
from snapfs.repository.locks import GC, root_lock
from snapfs.repository.opened import Repository
from snapfs.repository.replay import drop_root
from snapfs.repository.reserve import give_up_reserve, make_reserve
from snapfs.repository.runs import recorded


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How to delete."""

    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class DeletePlan:
    """What a delete would do. Sizes in bytes."""

    snapshots: tuple[Snapshot, ...]
    """snapshots that go, by root, oldest first"""
    freed_bytes: int
    """what the packs folder shrinks by now"""
    reclaimable_bytes: int
    """dead bytes in packs that stay, for prune"""
    packs: int
    """pack files that go"""


@dataclass(frozen=True, slots=True)
class DeleteResult:
    """What a delete did. Sizes in bytes."""

    snapshots: tuple[Snapshot, ...]
    """snapshots that went, by root, oldest first"""
    freed_bytes: int
    """what the packs folder shrank by"""
    pending_bytes: int
    """what the next delete or create frees, because someone was reading"""
    reclaimable_bytes: int
    """dead bytes in packs that stay, for prune"""
    packs_removed: int
    """pack files removed"""
    duration_ns: int
    """time it took"""


def plan_delete(repository: Repository, snapshots: Sequence[Snapshot]) -> DeletePlan:
    """Say what deleting exactly this set would free. Raises PinnedError naming the pinned ones."""
    chosen = _checked(snapshots)
    freed = forecast(repository, chosen)
    return DeletePlan(_shown(chosen), freed.freed_bytes, freed.reclaimable_bytes, freed.packs)


def _checked(snapshots: Sequence[Snapshot]) -> tuple[Snapshot, ...]:
    """The set in order of root and, within it, newest first: each fold then meets its neighbour."""
    unique = {snapshot.id: snapshot for snapshot in snapshots}
    pinned = [snapshot.name for snapshot in unique.values() if snapshot.pinned]
    if pinned:
        raise PinnedError(
            f"pinned: {', '.join(pinned)}", subject=pinned[0], hint="snapfs unpin comes first"
        )
    return tuple(sorted(unique.values(), key=lambda one: (one.root_id, -one.id)))


def _shown(chosen: Sequence[Snapshot]) -> tuple[Snapshot, ...]:
    return tuple(sorted(chosen, key=lambda one: (one.root_id, one.id)))


def delete(
    repository: Repository,
    snapshots: Sequence[Snapshot],
    options: DeleteOptions,
    *,
    progress: Progress,
) -> DeleteResult:
    """Delete a set of snapshots, in any order.

    Raises PinnedError, NotFoundError (one is gone already), LockedError. A full disk is met by giving
    up the reserve.
    """
    return _delete(repository, snapshots, None, options, progress)


def remove_root(
    repository: Repository, root: Root, *, options: DeleteOptions, progress: Progress
) -> DeleteResult:
    """Delete all snapshots of a root and forget it. Raises PinnedError."""
    return _delete(repository, repository.snapshots(root.id), root, options, progress)


def _delete(
    repository: Repository,
    snapshots: Sequence[Snapshot],
    root: Root | None,
    options: DeleteOptions,
    progress: Progress,
) -> DeleteResult:
    started_ns = repository.clock.now_ns()
    if options.dry_run:
        plan = plan_delete(repository, snapshots)
        return DeleteResult(
            plan.snapshots, plan.freed_bytes, 0, plan.reclaimable_bytes, plan.packs,
            repository.clock.now_ns() - started_ns,
        )  # fmt: skip
    chosen = _checked(snapshots)
    roots = sorted({one.root_id for one in chosen} | ({root.id} if root else set()))
    with recorded(repository, *roots) as note:
        note.begin()
        try:
            result = _run(repository, chosen, roots, root, started_ns, progress)
        except StorageFullError:
            if not give_up_reserve(repository.fd):
                raise
            result = _run(repository, chosen, roots, root, started_ns, progress)
        make_reserve(repository.fd, repository.handed)
        note.summary = f"{len(chosen)} deleted, {result.freed_bytes} bytes freed"
        if root is not None:
            note.root_ids = ()
        return result


def _run(
    repository: Repository,
    chosen: Sequence[Snapshot],
    roots: Sequence[int],
    root: Root | None,
    started_ns: int,
    progress: Progress,
) -> DeleteResult:
    with ExitStack() as stack:
        for root_id in roots:
            stack.enter_context(
                repository.locks.hold(
                    root_lock(root_id), exclusive=True, wait_s=repository.lock_wait_s
                )
            )
        try:
            stack.enter_context(repository.locks.hold(GC, exclusive=True, wait_s=0))
            collecting = True
        except LockedError:
            collecting = False
        faults.point("delete.locked")
        heal(repository)
        progress.phase("folding", entries=len(chosen))
        left = doomed(repository) if collecting else {}
        if collecting:
            remove_doomed(repository)
        freed = _fold(repository, chosen, roots, root, collecting)
        faults.point("delete.committed")
        pending = 0
        if collecting:
            faults.point("delete.rows-collected")
            remove_doomed(repository)
            with repository.catalog.write() as catalog:
                catalog.shrink()
            finish_pending_purge(repository)
        else:
            pending, freed = freed.freed_bytes, Freed(0, freed.reclaimable_bytes, 0)
            progress.note("blocks are being read: what became free is pending for the next run")
        dump_if_due(repository)
        repository.catalog.checkpoint()
    return DeleteResult(
        _shown(chosen),
        freed.freed_bytes + sum(left.values()),
        pending,
        freed.reclaimable_bytes,
        freed.packs + len(left),
        repository.clock.now_ns() - started_ns,
    )


def _fold(
    repository: Repository,
    chosen: Sequence[Snapshot],
    roots: Sequence[int],
    root: Root | None,
    collecting: bool,
) -> Freed:
    catalog = repository.catalog
    pending = NOTHING
    if not collecting and chosen:
        pending = forecast(repository, chosen)  # what the next run will free
    with change(repository, command="delete") as made:
        catalog.stage_tables()
        for snapshot in chosen:
            now = rows.snapshot_row(catalog, snapshot.id)
            if now is None:
                raise NotFoundError(
                    f"snapshot {snapshot.name} is gone already", subject=snapshot.name
                )
            if now.pinned:
                raise PinnedError(
                    f"pinned: {now.name}", subject=now.name, hint="snapfs unpin comes first"
                )
        by_root = {
            root_id: [one.id for one in chosen if one.root_id == root_id] for root_id in roots
        }
        for root_id, ids in by_root.items():
            for snapshot_id in ids:
                fold(catalog, root_id, snapshot_id)
        if root is not None:
            drop_root(catalog, root.id)
        if collecting:
            freed = collect_rows(catalog)
        else:
            freed = pending
            leave_pending(catalog)
        made.record(
            "delete",
            {
                "snapshots": [[root_id, ids] for root_id, ids in by_root.items()],
                "drop_root": None if root is None else root.id,
                "collect": collecting,
            },
        )
    return freed
