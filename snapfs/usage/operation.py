"""`usage`: how much of its bytes each snapshot alone holds, and what deleting a set would free.

Nothing is changed and no lock is taken: it works on a repository that may only be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from snapfs.catalog import rows
from snapfs.catalog import usage as holding
from snapfs.errors import DamageError, RepositoryError
from snapfs.model.snapshot import Root, Snapshot
from snapfs.progress import Progress
from snapfs.reclaim.forecast import forecast
from snapfs.repository.changes import journal, known_tail
from snapfs.repository.journal import Ahead
from snapfs.repository.opened import Repository
from snapfs.repository.takeout import is_unfinished


@dataclass(frozen=True, slots=True)
class SnapshotUsage:
    """A snapshot and its bytes: ``unique_bytes`` and ``shared_bytes`` together are its logical bytes."""

    snapshot: Snapshot
    """the snapshot"""
    logical_bytes: int
    """size of all files"""
    unique_bytes: int
    """bytes of files that no other snapshot of any root has, each once, before compression"""
    shared_bytes: int
    """the rest: what other snapshots have too, what is in several of its files, and holes"""
    sole_stored_bytes: int
    """what the unique bytes take in the packs: deleting this snapshot alone frees them, or leaves them to
    prune"""


@dataclass(frozen=True, slots=True)
class UsageResult:
    """The snapshots of a root, oldest first."""

    root: Root
    """their root"""
    snapshots: tuple[SnapshotUsage, ...]
    """each with its bytes"""


@dataclass(frozen=True, slots=True)
class SetUsage:
    """What deleting exactly these snapshots would do. Sizes in bytes."""

    snapshots: tuple[Snapshot, ...]
    """the snapshots, by root, oldest first"""
    pinned: tuple[str, ...]
    """names of those that are pinned: unpin comes before delete"""
    logical_bytes: int
    """sizes of all their files, as if each snapshot were a copy"""
    freed_bytes: int
    """what the packs folder would shrink by now, with what earlier deletes left to be freed"""
    reclaimable_bytes: int
    """dead bytes that it would leave in packs that stay, for prune"""
    packs: int
    """pack files that would go"""
    unfinished: bool
    """true if a change is under way, or was when its run was killed: delete finishes that one first, which
    may change what this set frees"""


@dataclass(frozen=True, slots=True)
class PathOptions:
    """How paths are told apart."""

    depth: int = 1
    """names of a path; what lies deeper counts for it"""


@dataclass(frozen=True, slots=True)
class PathUsage:
    """What lies below a path in any of the snapshots. Stored sizes: in the packs, compressed."""

    path: bytes
    """path from the root; empty for all of them together, which comes first"""
    stored_bytes: int
    """blocks that versions of files below it use, each once"""
    unique_bytes: int
    """those of them that are used neither below another of the paths, nor by other snapshots or roots"""


def usage(repository: Repository, root: Root, *, progress: Progress) -> UsageResult:
    """All snapshots of a root, each with what it alone holds. One pass over the changes of all of them."""
    catalog = repository.catalog
    progress.phase("reading the catalog")
    with catalog.read():
        chain = rows.snapshots(catalog, root.id)
        going = holding.apart([one.id for one in chain])
        holding.find_sole(catalog, going, orphans=False)
        sole = holding.sole_bytes(catalog)
    found = []
    for one in chain:
        raw, stored = sole.get(one.id, (0, 0))
        shared = max(0, one.total_bytes - raw)
        found.append(SnapshotUsage(one, one.total_bytes, raw, shared, stored))
    return UsageResult(root, tuple(found))


def usage_of_set(
    repository: Repository, snapshots: Sequence[Snapshot], *, progress: Progress
) -> SetUsage:
    """What `delete` of exactly this set would free, pinned ones included."""
    chosen = sorted({one.id: one for one in snapshots}.values(), key=lambda o: (o.root_id, o.id))
    progress.phase("reading the catalog")
    with repository.catalog.read():
        freed = forecast(repository, chosen)
        unfinished = _is_unfinished(repository)
    return SetUsage(
        snapshots=tuple(chosen),
        pinned=tuple(one.name for one in chosen if one.pinned),
        logical_bytes=sum(one.total_bytes for one in chosen),
        freed_bytes=freed.freed_bytes,
        reclaimable_bytes=freed.reclaimable_bytes,
        packs=freed.packs,
        unfinished=unfinished,
    )


def _is_unfinished(repository: Repository) -> bool:
    """Whether the journal tells of a change that the catalog does not have yet, or a purge has to go on."""
    if is_unfinished(repository.catalog):
        return True
    try:
        return isinstance(journal(repository).verify_tail(known_tail(repository)), Ahead)
    except (DamageError, RepositoryError):
        return False  # what is damaged there is told to whoever is to write


def usage_by_path(
    repository: Repository,
    root: Root,
    snapshots: Sequence[Snapshot],
    options: PathOptions,
    *,
    progress: Progress,
) -> Iterator[PathUsage]:
    """Which paths of a root hold the space in some of its snapshots: all together, then the largest first."""
    catalog = repository.catalog
    ids = {one.id for one in snapshots}
    progress.phase("reading the catalog")
    with catalog.read():
        chain = [one.id for one in rows.snapshot_rows(catalog, root.id)]
        if not chain:
            return
        going = holding.together(chain, ids)
        holding.find_sole(catalog, going, orphans=False)
        for found in holding.by_path(catalog, root.id, chain[-1], options.depth):
            yield PathUsage(*found)
