"""Small changes of names: snapshots get a name, message, tags, a pin; roots a label and a place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from snapfs.catalog import rows
from snapfs.errors import NotFoundError, UsageError
from snapfs.model.snapshot import Root, Snapshot
from snapfs.repository.changes import change
from snapfs.repository.locks import root_lock
from snapfs.repository.opened import Repository
from snapfs.repository.replay import root_to_json, set_root, set_snapshot
from snapfs.repository.roots import refuse_nested
from snapfs.repository.runs import recorded


def rename_snapshot(
    repository: Repository,
    snapshot: Snapshot,
    *,
    name: str | None,
    message: str | None,
    dry_run: bool = False,
) -> Snapshot:
    """Give a snapshot another name or message. Raises UsageError if its root has the name already."""
    if dry_run:
        with repository.catalog.read():
            _check_name(repository, snapshot, snapshot.name if name is None else name)
        return snapshot
    return _edit(
        repository,
        snapshot,
        lambda now: (
            now.name if name is None else name,
            now.message if message is None else message,
            now.pinned,
            now.tags,
        ),
    )


def tag_snapshot(
    repository: Repository, snapshot: Snapshot, *, add: Sequence[str], remove: Sequence[str]
) -> Snapshot:
    """Add and remove tags."""
    return _edit(
        repository,
        snapshot,
        lambda now: (
            now.name,
            now.message,
            now.pinned,
            tuple(sorted((set(now.tags) | set(add)) - set(remove))),
        ),
    )


def pin_snapshot(repository: Repository, snapshot: Snapshot, *, pinned: bool) -> Snapshot:
    """Pin or unpin."""
    return _edit(repository, snapshot, lambda now: (now.name, now.message, pinned, now.tags))


Edited = tuple[str, str, bool, tuple[str, ...]]


def _edit(
    repository: Repository, snapshot: Snapshot, edit: Callable[[Snapshot], Edited]
) -> Snapshot:
    lock = root_lock(snapshot.root_id)
    with (
        recorded(repository, snapshot.root_id),
        repository.locks.hold(lock, exclusive=True, wait_s=repository.lock_wait_s),
        change(repository) as made,
    ):
        catalog = repository.catalog
        now = rows.snapshot(catalog, snapshot.id)
        if now is None:
            raise NotFoundError(f"snapshot {snapshot.name} is gone", subject=snapshot.name)
        name, message, pinned, tags = edit(now)
        if (name, message, pinned, tags) == (now.name, now.message, now.pinned, now.tags):
            return now
        _check_name(repository, now, name)
        set_snapshot(catalog, now.id, name, message, pinned=int(pinned), tags=tags)
        made.record(
            "edit-snapshot",
            {
                "snapshot": now.id,
                "name": name,
                "message": message,
                "pinned": int(pinned),
                "tags": list(tags),
            },
        )
        changed = rows.snapshot(catalog, now.id)
        assert changed is not None
        return changed


def _check_name(repository: Repository, now: Snapshot, name: str) -> None:
    if name == now.name:
        return
    if any(other.name == name for other in rows.snapshots(repository.catalog, now.root_id)):
        raise UsageError(
            f"there is a snapshot {name} already", subject=name, hint="choose another name"
        )


def rename_root(repository: Repository, root: Root, label: str, *, dry_run: bool = False) -> Root:
    """Give a root another label. Raises UsageError if it is taken."""
    done = _edit_root(repository, replace(root, label=label), nested=True, dry_run=dry_run)
    return root if dry_run else done


def move_root(
    repository: Repository,
    root: Root,
    path: bytes,
    host: str,
    *,
    nested: bool = False,
    dry_run: bool = False,
) -> Root:
    """Say where the directory of a root is now.

    Raises UsageError if that is a root already, or lies inside or around one without ``nested``.
    """
    wanted = replace(root, host=host, path=path)
    stays = (root.host, root.path) == (host, path)
    done = _edit_root(repository, wanted, nested=nested or stays, dry_run=dry_run)
    return root if dry_run else done


def _edit_root(repository: Repository, wanted: Root, *, nested: bool, dry_run: bool) -> Root:
    if dry_run:
        with repository.catalog.read():
            _check_root(repository, wanted, nested=nested)
        return wanted
    with (
        recorded(repository, wanted.id),
        repository.locks.hold(root_lock(wanted.id), exclusive=True, wait_s=repository.lock_wait_s),
        change(repository) as made,
    ):
        _check_root(repository, wanted, nested=nested)
        set_root(repository.catalog, wanted)
        made.record("edit-root", {"root": root_to_json(wanted)})
    return wanted


def _check_root(repository: Repository, wanted: Root, *, nested: bool) -> None:
    """Raises UsageError if another root has the label or the place."""
    for row in rows.roots(repository.catalog):
        other = row.root
        if other.id == wanted.id:
            continue
        if other.label == wanted.label:
            raise UsageError(
                f"there is a root {wanted.label} already",
                subject=wanted.label,
                hint="choose another label",
            )
        if wanted.path is None or other.path is None or other.host != wanted.host:
            continue
        if other.path == wanted.path:
            raise UsageError(f"that directory is root {other.label} already", subject=other.label)
        if not nested:
            refuse_nested(wanted.path, other)
