"""What earlier runs had to leave to a later one: blocks that were being read, and a purge that was killed."""

from __future__ import annotations

from contextlib import suppress

from snapfs.catalog.fold import is_pending
from snapfs.errors import LockedError, SnapfsError
from snapfs.progress import NullProgress
from snapfs.reclaim.packs import collect_pending
from snapfs.reclaim.purged import finish_purge
from snapfs.repository.locks import GC
from snapfs.repository.opened import Repository
from snapfs.repository.takeout import is_unfinished


def free_pending(repository: Repository) -> int:
    """At the end of a run that is no delete: free what this or an earlier one had to leave; bytes.

    The caller holds no lock. If somebody is reading still, a later run does it.
    """
    if not is_pending(repository.catalog) and not is_unfinished(repository.catalog):
        return 0
    try:
        with repository.locks.hold(GC, exclusive=True, wait_s=0):
            freed = 0
            if is_pending(repository.catalog):
                freed = collect_pending(repository).freed_bytes
            finish_pending_purge(repository)
            return freed
    except LockedError:
        return 0


def finish_pending_purge(repository: Repository) -> None:
    """Finish a purge that was killed, as far as it can be done now; ``locks/gc`` is held exclusively."""
    if is_unfinished(repository.catalog):
        # Whatever hinders it does not concern what this run was asked for.
        with suppress(SnapfsError):
            finish_purge(repository, wait_s=0, progress=NullProgress())
