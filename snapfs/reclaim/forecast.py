"""What deleting a set of snapshots would free: the very numbers that `collect_rows` then gives, without a lock.

Nothing is folded for it, so that it can be asked of a repository that only may be read, and while others
write: one transaction that reads sees one state.
"""

from __future__ import annotations

from collections.abc import Iterable

from snapfs.catalog import rows, usage
from snapfs.model.snapshot import Snapshot
from snapfs.reclaim.packs import Freed, doomed
from snapfs.repository.opened import Repository


def forecast(repository: Repository, snapshots: Iterable[Snapshot]) -> Freed:
    """What deleting exactly this set would free, with what earlier runs left to be freed.

    A snapshot that is gone already counts as one that frees nothing.
    """
    catalog = repository.catalog
    ids = {snapshot.id for snapshot in snapshots}
    with catalog.read():
        chains = [
            [one.id for one in rows.snapshot_rows(catalog, row.root.id)]
            for row in rows.roots(catalog)
        ]
        going = [one for chain in chains for one in usage.together(chain, ids)]
        found = usage.reclaimed(catalog, going)
        left = doomed(repository)
    return Freed(
        found.freed_bytes + sum(left.values()), found.reclaimable_bytes, found.packs + len(left)
    )
