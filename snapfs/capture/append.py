"""Making what was captured the next snapshot of its root, under the root's lock.

Directories and streams are captured in their own ways; what comes before and after is the same and is
here. Order of writes: packs durable, journal record durable, one transaction (``repository.changes``).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import NamedTuple

from snapfs import faults
from snapfs.capture.adopt import adopt_packs, give_back, remove_unfinished
from snapfs.capture.capture import Captured
from snapfs.capture.store import BlockStore
from snapfs.capture.stored import broken_packs
from snapfs.catalog import compiled as sql
from snapfs.catalog import rows
from snapfs.catalog.commit import commit, record_blocks
from snapfs.catalog.rows import RootRow, SnapshotRow
from snapfs.errors import NotFoundError, SnapfsError, StorageFullError, UsageError
from snapfs.fs.machine import group_name, user_name
from snapfs.model.names import default_snapshot_name
from snapfs.model.snapshot import Root, Snapshot
from snapfs.model.units import format_count
from snapfs.progress import Problem, Progress
from snapfs.repository.changes import change, dump_if_due, heal, known_tail
from snapfs.repository.locks import root_lock
from snapfs.repository.opened import Repository
from snapfs.repository.replay import snapshot_to_json
from snapfs.repository.reserve import make_reserve, require_room


@dataclass(frozen=True, slots=True)
class AppendOptions:
    """What the next snapshot is to be. ``name`` None: after the time; ``time_ns`` None: now."""

    name: str | None = None
    message: str = ""
    tags: tuple[str, ...] = ()
    time_ns: int | None = None
    skip_if_unchanged: bool = False
    dry_run: bool = False
    checksum: bool = False
    refuse: Callable[[Problem], None] | None = None
    """is told of each problem before there is a snapshot; raises so that there will be none"""


class Head(NamedTuple):
    """A root and its snapshots as they are while its lock is held."""

    row: RootRow
    chain: Sequence[SnapshotRow]

    @property
    def newest(self) -> SnapshotRow | None:
        """The newest snapshot."""
        return self.chain[-1] if self.chain else None


@dataclass(frozen=True, slots=True)
class Appended:
    """What came of it. Sizes in bytes."""

    snapshot: Snapshot | None
    captured: Captured
    unchanged: bool
    first: bool
    metadata_bytes: int
    sizes: tuple[int, int, int, int]
    """files, directories, other entries and bytes of the state, made a snapshot or not"""
    damaged: bool
    """whether packs are damaged, and it was not looked whether the source still has what they held"""


Capture = Callable[[Head, BlockStore], Captured]
"""Fills a stage with what differs from the head; blocks go into the store."""


def append(
    repository: Repository,
    root: Root,
    options: AppendOptions,
    capture: Capture,
    rules: Callable[[], str],
    *,
    progress: Progress,
) -> Appended:
    """Capture and commit. ``rules`` is asked after that for what the snapshot keeps of its rules.

    Raises UsageError (the name is taken), LockedError, StorageFullError, CatalogBehindError.
    """
    try:
        return _append(repository, root, options, capture, rules, progress)
    except StorageFullError:
        give_back(repository, root.id)
        raise


def _append(
    repository: Repository,
    root: Root,
    options: AppendOptions,
    capture: Capture,
    rules: Callable[[], str],
    progress: Progress,
) -> Appended:
    started_ns = repository.clock.now_ns()
    wait_s = repository.lock_wait_s
    with ExitStack() as stack:
        stack.enter_context(
            repository.locks.hold(root_lock(root.id), exclusive=True, wait_s=wait_s)
        )
        stack.enter_context(repository.locks.hold_blocks(wait_s))
        faults.point("create.locked")
        if not options.dry_run:
            require_room(repository.fd, repository.handed, repository.name)
        heal(repository)
        if not options.dry_run:
            remove_unfinished(repository, root.id)
            adopt_packs(repository)
        head = Head(_row(repository, root), rows.snapshot_rows(repository.catalog, root.id))
        name = _name(options, head.chain, started_ns)
        before = _size(repository)
        store = _block_store(repository, options)
        if store.broken:
            progress.note(
                f"{format_count(len(store.broken), 'pack')} of the repository missing or cut off: run snapfs "
                "verify; snapfs create --checksum stores again what the directory still has of them"
            )
        try:
            captured = capture(head, store)
        except BaseException:
            with suppress(SnapfsError):
                remove_unfinished(repository, root.id)
            raise
        faults.point("create.walked")
        if options.refuse is not None:
            for _, path, number, what in repository.catalog.execute(sql.STAGE_PROBLEMS).fetchall():
                options.refuse(Problem(path, number, what))
        if captured.totals.repository_seen:
            progress.note(f"the repository {repository.name} lies inside and is left out")
        faults.point("create.packs-durable")
        unchanged = captured.unchanged and bool(head.chain)
        made: Snapshot | None = None
        if not options.dry_run and not (unchanged and options.skip_if_unchanged):
            progress.phase("writing catalog")
            made = _commit(repository, head, captured, name, options, rules(), started_ns)
            faults.point("create.committed")
            dump_if_due(repository)
            make_reserve(repository.fd, repository.handed)
        elif captured.stored_bytes:
            adopt_packs(
                repository
            )  # no snapshot, but damaged blocks of older ones were stored again
        return Appended(
            made, captured, unchanged, not head.chain, max(0, _size(repository) - before),
            _sizes(head.newest, captured),
            bool(store.broken) and not options.checksum,
        )  # fmt: skip


def _row(repository: Repository, root: Root) -> RootRow:
    row = rows.root(repository.catalog, root.id)
    if row is None:
        raise NotFoundError(f"root {root.label} is gone", subject=root.label)
    return row


def _block_store(repository: Repository, options: AppendOptions) -> BlockStore:
    """Where the blocks of a run go, and which of those that are known it stores again."""
    if options.dry_run:
        return BlockStore(None)
    return BlockStore(
        repository.backend,
        repository.fd,
        repository.config.id,
        repository.handed,
        broken=broken_packs(repository.catalog, repository.backend),
        reread=options.checksum,
    )


def _name(options: AppendOptions, chain: Sequence[SnapshotRow], now_ns: int) -> str:
    taken = {row.name for row in chain}
    if options.name is not None:
        if options.name in taken:
            raise UsageError(
                f"there is a snapshot {options.name} already",
                subject=options.name,
                hint="choose another name",
            )
        return options.name
    at_ns = now_ns if options.time_ns is None else options.time_ns
    while (name := default_snapshot_name(at_ns)) in taken:
        at_ns += 1_000_000
    return name


def _size(repository: Repository) -> int:
    """Bytes of catalog and journal."""
    pages = repository.catalog.value("PRAGMA page_count")
    tail = known_tail(repository)
    return int(pages) * 4096 + (0 if tail is None else tail.offset)


def _commit(
    repository: Repository,
    head: Head,
    captured: Captured,
    name: str,
    options: AppendOptions,
    rules: str,
    started_ns: int,
) -> Snapshot:
    root, newest = head.row, head.newest
    created_ns = started_ns if options.time_ns is None else options.time_ns
    tags = tuple(sorted(set(options.tags)))
    with change(repository, command="create") as made:
        catalog = repository.catalog
        row = _snapshot_row(
            repository, root, newest, captured, name, created_ns, options.message, rules,
            catalog.take("snapshot"),
        )  # fmt: skip
        done = commit(
            catalog, root.root.id, row, newest.id if newest else None, tags, wasted=captured.wasted
        )
        owners = _owners(repository, root.root.id, captured)
        made.record(
            "create",
            {
                "snapshot": snapshot_to_json(row),
                "previous": newest.id if newest else None,
                "tags": list(tags),
                "owners": owners,
                "inode_base": done.inode_base,
                "unused": done.unused,
            },
            record_blocks(catalog, done),
        )
    found = repository.snapshot(row.id)
    if found is None:
        raise SnapfsError(f"snapshot {name} was deleted meanwhile")
    return found


def _sizes(head: SnapshotRow | None, captured: Captured) -> tuple[int, int, int, int]:
    """Files, directories, other entries and bytes, of which those with several names count once."""
    counts = captured.counts
    files = (head.files if head else 0) + counts.files_in - counts.files_out
    dirs = (head.dirs if head else 1) + counts.dirs_in - counts.dirs_out
    entries = (head.files + head.dirs + head.others if head else 1) + counts.all_in - counts.all_out
    size = (head.logical_bytes if head else 0) + counts.bytes_in - captured.old_bytes
    return files, dirs, entries - files - dirs, size


def _snapshot_row(
    repository: Repository,
    root: RootRow,
    head: SnapshotRow | None,
    captured: Captured,
    name: str,
    created_ns: int,
    message: str,
    rules: str,
    id_: int,
) -> SnapshotRow:
    counts = captured.counts
    files, dirs, others, logical_bytes = _sizes(head, captured)
    unread = any(
        what != "changed while read" for *_, what in repository.catalog.execute(sql.STAGE_PROBLEMS)
    )
    digest = captured.root_digest
    return SnapshotRow(
        id=id_,
        uid=secrets.token_bytes(16),
        root_id=root.root.id,
        name=name,
        created_ns=created_ns,
        finished_ns=repository.clock.now_ns(),
        utc_offset_s=repository.clock.utc_offset_s(created_ns),
        message=message,
        pinned=0,
        complete=int(not unread),
        rules=rules,
        tree_digest=digest if digest is not None else (head.tree_digest if head else b""),
        files=files,
        dirs=dirs,
        others=others,
        logical_bytes=logical_bytes,
        added=counts.added,
        removed=counts.removed,
        modified=counts.modified,
        read_bytes=captured.read_bytes,
        new_bytes=counts.bytes_in,
        stored_bytes=captured.stored_bytes,
    )


def _owners(repository: Repository, root_id: int, captured: Captured) -> list[tuple[str, int, str]]:
    """Names of owners that are new or have changed, kept for restores elsewhere."""
    users, groups = rows.owners(repository.catalog, root_id)
    found: list[tuple[str, int, str]] = []
    for kind, number in captured.stage.owners():
        name = user_name(number) if kind == "uid" else group_name(number)
        known = (users if kind == "uid" else groups).get(number)
        if name is not None and name != known:
            found.append((kind, number, name))
            repository.catalog.execute(sql.OWNER_PUT, (root_id, kind, number, name))
    return found
