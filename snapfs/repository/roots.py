"""Registering a directory or a stream as a root."""

from __future__ import annotations

import os
from dataclasses import replace

from snapfs.catalog import rows
from snapfs.catalog.database import Catalog
from snapfs.catalog.fold import leave_pending
from snapfs.errors import UsageError
from snapfs.model.names import label_from_path, unique_name
from snapfs.model.snapshot import NewRoot, Root
from snapfs.repository.changes import change
from snapfs.repository.locks import root_lock
from snapfs.repository.opened import Repository
from snapfs.repository.replay import drop_root, root_to_json


def add_root(repository: Repository, wanted: NewRoot) -> Root:
    """Register a directory or a stream, or give the root that it is already.

    Raises UsageError if it lies inside or around another root of this host without ``nested``, or
    if the label is taken.
    """
    with change(repository) as made:
        catalog = repository.catalog
        planned = _planned(catalog, wanted)
        if isinstance(planned, Root):
            return planned
        root = Root(
            catalog.take("root"),
            wanted.host,
            wanted.path,
            planned,
            repository.clock.now_ns(),
        )
        rows.put_root(catalog, root)
        made.record("add-root", {"root": root_to_json(root), "options": "{}"})
    return root


def take_back_root(repository: Repository, root: Root) -> None:
    """Forget a root that was just registered, unless it has got a snapshot. Raises LockedError if it is in use."""
    with (
        repository.locks.hold(root_lock(root.id), exclusive=True, wait_s=0),
        change(repository) as made,
    ):
        catalog = repository.catalog
        if rows.root(catalog, root.id) is None or rows.snapshot_rows(catalog, root.id):
            return
        drop_root(catalog, root.id)
        leave_pending(catalog)  # as the record says, which is that of `snapfs roots remove`
        made.record(
            "delete", {"snapshots": [[root.id, []]], "drop_root": root.id, "collect": False}
        )


def plan_root(repository: Repository, wanted: NewRoot) -> Root | NewRoot:
    """What `add_root` would give: a root, or the new one with its label. Raises as that does."""
    with repository.catalog.read():
        planned = _planned(repository.catalog, wanted)
    return planned if isinstance(planned, Root) else replace(wanted, label=planned)


def _planned(catalog: Catalog, wanted: NewRoot) -> Root | str:
    """The root that the directory or the stream is already, or the label that it gets."""
    taken = {row.root.label for row in rows.roots(catalog)}
    for row in rows.roots(catalog):
        other = row.root
        if wanted.path is None:
            if other.path is None and other.label == wanted.label:
                return other
            continue
        if other.host != wanted.host or other.path is None:
            continue
        if other.path == wanted.path:
            return other
        if not wanted.nested:
            refuse_nested(wanted.path, other)
    if wanted.label is not None and wanted.label in taken:
        raise UsageError(
            f"there is a root {wanted.label} already",
            subject=wanted.label,
            hint="choose another label",
        )
    return wanted.label or unique_name(label_from_path(wanted.path or b""), taken)


def refuse_nested(path: bytes, other: Root) -> None:
    """Raises UsageError if ``path`` lies inside or around another root of the same host."""
    assert other.path is not None
    inside = path.startswith(other.path.rstrip(b"/") + b"/")
    around = other.path.startswith(path.rstrip(b"/") + b"/")
    if inside or around:
        where = "inside" if inside else "around"
        raise UsageError(
            f"{os.fsdecode(path)} lies {where} root {other.label}",
            subject=other.label,
            hint="give --nested if it is to be a root of its own",
        )
