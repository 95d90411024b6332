"""Named points at which a test may stop or kill the process: how crash safety is proved.

``point`` does nothing unless ``arm`` was called, which only the command line does, and only when
``SNAPFS_CRASH_AT`` is set. Worker processes are never armed: what dies is the parent alone, as when
the kernel kills it, and its workers must notice by themselves.

A point stands *after* what its name says has happened.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

POINTS: tuple[str, ...] = (
    "create.locked",  # the locks are held, nothing is written yet
    "create.walked",  # the live tree is compared, changes are staged
    "create.packs-durable",  # every new block is in a finished pack, no record names it
    "create.journal-durable",  # the record is written, the catalog knows nothing
    "create.committing",  # the statements of the transaction ran, COMMIT did not
    "create.committed",  # the snapshot is visible, the lock is still held
    "delete.locked",
    "delete.journal-durable",
    "delete.committing",
    "delete.committed",  # rows are folded, no pack is removed yet
    "delete.rows-collected",  # rows of dead blocks and packs are gone, the files are still there
    "delete.pack-removed",  # once for each pack file
    "purge.locked",
    "purge.packs-durable",  # what lives on of packs with dead bytes is in new ones, no record names them
    "purge.journal-durable",
    "purge.committing",
    "purge.committed",  # no state has the path any more; the journal and free pages have it still
    "purge.journal-restarted",
    "purge.packs-removed",
    "purge.wiped",  # nothing of it is left, the mark that says so has to go
    "restore.safety-taken",
    "restore.planned",
    "restore.file-written",  # a file is complete under its temporary name (parent process only)
    "restore.files-done",  # every file is in place, times of directories are not
    "restore.synced",
    "revert.safety-taken",
    "revert.planned",  # what is to be done is settled, nothing is done yet
    "pack.written",  # a pack is complete under its temporary name (parent process only)
    "pack.renamed",
    "journal.record-started",  # a part of a record is written
    "repair.packs-durable",  # what was found is in new packs, no record names them
    "repair.journal-durable",
    "repair.committing",
    "repair.committed",  # the catalog names the new packs, the damaged ones lie where they were
    "repair.pack-moved",  # once for each damaged pack
    "rebuild.journal-begun",  # where it is damaged: the new file is durable, nothing is moved away
    "rebuild.packs-moved",  # those that only lost changes knew
    "rebuild.replayed",  # the new catalog is complete beside the old one
    "rebuild.replaced",
)
"""Every point there is; ``arm`` refuses others, a test kills each command at each of its own."""


@dataclass
class _Armed:
    point: str
    signal: signal.Signals
    remaining: int


_armed: _Armed | None = None


def arm(spec: str) -> None:
    """Make one point act: ``[kill@|stop@]POINT[:N]``, the N-th time (default 1) it is reached.

    ``kill`` (the default) is SIGKILL to this process alone, ``stop`` is SIGSTOP, so that a test can
    look, send a signal and let it go on. Raises ValueError for anything else.
    """
    global _armed  # noqa: PLW0603 - one process, one armed point
    action, found, rest = spec.rpartition("@")
    name, _, count = rest.partition(":")
    if (found and action not in ("kill", "stop")) or name not in POINTS:
        raise ValueError(f"no such fault point: {spec}")
    which = signal.SIGSTOP if action == "stop" else signal.SIGKILL
    _armed = _Armed(name, which, int(count) if count else 1)


def point(name: str) -> None:
    """Tell that ``name`` (one of ``POINTS``) is reached."""
    if _armed is None or _armed.point != name:
        return
    _armed.remaining -= 1
    if _armed.remaining == 0:
        os.kill(os.getpid(), _armed.signal)
