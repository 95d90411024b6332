"""Small changes of names: snapshots get a name, message, tags, a pin; roots a label and a place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from snapfs.catalog import rows
from snapfs.errors import NotFoundError, UsageError
from snapfs.model.quote import quote
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

    def edit(now: Snapshot) -> Snapshot:
        return replace(
            now,
            name=now.name if name is None else name,
            message=now.message if message is None else message,
        )

    (changed,) = _edit(repository, (snapshot,), edit, dry_run=dry_run)
    return changed


def tag_snapshot(
    repository: Repository,
    snapshot: Snapshot,
    *,
    add: Sequence[str],
    remove: Sequence[str],
    dry_run: bool = False,
) -> Snapshot:
    """Add and remove tags."""

    def edit(now: Snapshot) -> Snapshot:
        return replace(now, tags=tuple(sorted((set(now.tags) | set(add)) - set(remove))))

    (changed,) = _edit(repository, (snapshot,), edit, dry_run=dry_run)
    return changed


def pin_snapshots(
    repository: Repository, snapshots: Sequence[Snapshot], *, pinned: bool, dry_run: bool = False
) -> tuple[Snapshot, ...]:
    """Pin or unpin."""
    return _edit(repository, snapshots, lambda now: replace(now, pinned=pinned), dry_run=dry_run)


Edit = Callable[[Snapshot], Snapshot]
"""What a snapshot is to be, from what it is."""


def _edit(
    repository: Repository, snapshots: Sequence[Snapshot], edit: Edit, *, dry_run: bool
) -> tuple[Snapshot, ...]:
    """The snapshots as they are then; a dry run checks the same and changes nothing."""
    if dry_run:
        with repository.catalog.read():
            return tuple(_planned(repository, snapshot, edit)[1] for snapshot in snapshots)
    roots = sorted({snapshot.root_id for snapshot in snapshots})
    with ExitStack() as stack:
        note = stack.enter_context(recorded(repository, *roots))
        for root_id in roots:
            lock = root_lock(root_id)
            stack.enter_context(
                repository.locks.hold(lock, exclusive=True, wait_s=repository.lock_wait_s)
            )
        changes: list[str] = []
        changed = tuple(_edit_one(repository, snapshot, edit, changes) for snapshot in snapshots)
        note.silent = not changes
        note.summary = "; ".join(changes)
        return changed


def _edit_one(
    repository: Repository, snapshot: Snapshot, edit: Edit, changes: list[str]
) -> Snapshot:
    with change(repository) as made:
        catalog = repository.catalog
        now, wanted = _planned(repository, snapshot, edit)
        if wanted == now:
            return now
        name, message, pinned, tags = wanted.name, wanted.message, int(wanted.pinned), wanted.tags
        set_snapshot(catalog, now.id, name, message, pinned=pinned, tags=tags)
        made.record(
            "edit-snapshot",
            {
                "snapshot": now.id,
                "name": name,
                "message": message,
                "pinned": pinned,
                "tags": list(tags),
            },
        )
        changed = rows.snapshot(catalog, now.id)
        assert changed is not None
    changes.append(_told(now, changed))
    return changed


def _told(before: Snapshot, after: Snapshot) -> str:
    """What an edit did, for the record of runs."""
    parts = [f"is now {after.name}"] if after.name != before.name else []
    parts += ["has another message"] if after.message != before.message else []
    parts += [f"+{tag}" for tag in after.tags if tag not in before.tags]
    parts += [f"-{tag}" for tag in before.tags if tag not in after.tags]
    if after.pinned != before.pinned:
        parts.append("pinned" if after.pinned else "unpinned")
    return f"{before.name}: {', '.join(parts)}"


def _planned(repository: Repository, snapshot: Snapshot, edit: Edit) -> tuple[Snapshot, Snapshot]:
    """A snapshot as it is and as it is to be."""
    now = rows.snapshot(repository.catalog, snapshot.id)
    if now is None:
        raise NotFoundError(f"snapshot {snapshot.name} is gone", subject=snapshot.name)
    wanted = edit(now)
    _check_name(repository, now, wanted.name)
    return now, wanted


def _check_name(repository: Repository, now: Snapshot, name: str) -> None:
    if name == now.name:
        return
    if any(other.name == name for other in rows.snapshots(repository.catalog, now.root_id)):
        raise UsageError(
            f"there is a snapshot {name} already", subject=name, hint="choose another name"
        )


def rename_root(repository: Repository, root: Root, label: str, *, dry_run: bool = False) -> Root:
    """Give a root another label. Raises UsageError if it is taken."""
    return _edit_root(repository, replace(root, label=label), nested=True, dry_run=dry_run)


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
    if root.path is None:
        raise UsageError(f"{root.label} is a stream, it has no directory", subject=root.label)
    wanted = replace(root, host=host, path=path)
    stays = (root.host, root.path) == (host, path)
    return _edit_root(repository, wanted, nested=nested or stays, dry_run=dry_run)


def _edit_root(repository: Repository, wanted: Root, *, nested: bool, dry_run: bool) -> Root:
    if dry_run:
        with repository.catalog.read():
            _check_root(repository, wanted, nested=nested)
        return wanted
    with (
        recorded(repository, wanted.id) as note,
        repository.locks.hold(root_lock(wanted.id), exclusive=True, wait_s=repository.lock_wait_s),
        change(repository) as made,
    ):
        _check_root(repository, wanted, nested=nested)
        set_root(repository.catalog, wanted)
        made.record("edit-root", {"root": root_to_json(wanted)})
        place = "" if wanted.path is None else f" at {quote(wanted.path)}"
        note.summary = f"is now {wanted.label}{place}"
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
