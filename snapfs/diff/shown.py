"""`show`: one snapshot with what changed since the one before."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from snapfs.catalog import rows
from snapfs.catalog.rows import ProblemRow
from snapfs.diff.operation import DiffOptions, diff
from snapfs.errors import NotFoundError
from snapfs.fs.rules import Rules
from snapfs.model.snapshot import Root, Snapshot, StoredSide
from snapfs.progress import NullProgress
from snapfs.repository.opened import Repository


@dataclass(frozen=True, slots=True)
class ShowResult:
    """A snapshot and its changes. Sizes in bytes."""

    root: Root
    """its root"""
    snapshot: Snapshot
    """the snapshot"""
    previous: Snapshot | None
    """the snapshot before it"""
    added: int
    """entries that the one before does not have"""
    removed: int
    """entries that only the one before has"""
    modified: int
    """entries that differ"""
    renamed: int
    """entries that moved"""
    unread: int
    """entries that could not be read"""
    added_bytes: int
    """by how much files grew or were added"""
    removed_bytes: int
    """by how much files shrank or were removed"""
    rules: tuple[str, ...]
    """what was left out"""
    problems: tuple[ProblemRow, ...]
    """what could not be captured whole"""


def show(repository: Repository, snapshot: Snapshot) -> ShowResult:
    """Look at a snapshot."""
    catalog = repository.catalog
    root = next((one for one in repository.roots() if one.id == snapshot.root_id), None)
    row = rows.snapshot_row(catalog, snapshot.id)
    if root is None or row is None:
        raise NotFoundError(f"snapshot {snapshot.name} is gone", subject=snapshot.name)
    chain = repository.snapshots(root.id)
    previous = next((one for one in reversed(chain) if one.id < snapshot.id), None)
    letters: Counter[str] = Counter()
    added_bytes = removed_bytes = 0
    if previous is None:
        letters["+"] = snapshot.files + snapshot.dirs + snapshot.others
        added_bytes = snapshot.total_bytes
    else:
        sides = StoredSide(root, previous), StoredSide(root, snapshot)
        for change in diff(repository, *sides, DiffOptions(), progress=NullProgress()):
            letters[change.letter] += 1
            added_bytes += max(0, change.grown_bytes)
            removed_bytes += max(0, -change.grown_bytes)
    return ShowResult(
        root=root,
        snapshot=snapshot,
        previous=previous,
        added=letters["+"],
        removed=letters["-"],
        modified=letters["M"],
        renamed=letters["R"],
        unread=letters["!"],
        added_bytes=added_bytes,
        removed_bytes=removed_bytes,
        rules=Rules.from_text(row.rules).describe(),
        problems=rows.problems(catalog, snapshot.id),
    )
