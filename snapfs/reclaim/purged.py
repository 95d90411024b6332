"""What a purge has to do once it is committed, by itself or in the next run that can.

Rows are gone then, but bytes of what was taken out may still stand in old records of the journal, in
packs, in free pages of the catalog, and in what killed runs and rebuilds left. A mark in the catalog, set
in the same transaction, says so until all of it is removed; each step may be done again. ``locks/gc`` is
held exclusively, so that every unfinished pack, and every finished one that the catalog does not know, is
a leftover.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from snapfs import faults
from snapfs.blocks.packreader import PackReader
from snapfs.catalog import compiled as sql
from snapfs.catalog.vacuum import cut_log, wipe
from snapfs.errors import SnapfsError
from snapfs.progress import Progress
from snapfs.reclaim.packs import remove_doomed
from snapfs.repository.changes import restart_journal
from snapfs.repository.journalfile import JOURNAL_FOLDER, file_number
from snapfs.repository.oldcatalog import NEW_CATALOG, OLD_CATALOG, remove_database
from snapfs.repository.opened import Repository
from snapfs.repository.setaside import QUARANTINE
from snapfs.repository.takeout import UNFINISHED
from snapfs.storage.contract import MissingObjectError, is_temporary


def finish_purge(
    repository: Repository, *, wait_s: float | None, progress: Progress
) -> tuple[str, ...]:
    """Remove what may hold bytes of what was taken out; what could not be removed, and why.

    The caller holds ``locks/gc`` exclusively. Trouble is told in what is returned, and the mark stays.
    """
    left: list[str] = []
    try:
        progress.phase("restarting journal")
        restart_journal(repository)
        faults.point("purge.journal-restarted")
        remove_doomed(repository)
        left += _remove_leftovers(repository)
        faults.point("purge.packs-removed")
        progress.phase("rewriting catalog")
        if not wipe(repository.catalog, wait_s):
            left.append("the catalog's log: somebody reads the catalog")
        faults.point("purge.wiped")
        if not left:
            with repository.catalog.write() as catalog:
                catalog.drop_meta(UNFINISHED)
            cut_log(repository.catalog, 0)
    except SnapfsError as error:
        left.append(f"what it had not come to yet: {error.message}")
    left += _quarantined(repository)
    return tuple(left)


def _remove_leftovers(repository: Repository) -> Iterator[str]:
    """Files that no catalog and no journal needs; gives those that could not be removed."""
    for database in (NEW_CATALOG, OLD_CATALOG):
        try:
            remove_database(database, repository.fd)
        except OSError as error:
            yield f"{database.decode()}: {error.strerror}"
    backend = repository.backend
    with repository.catalog.write():  # whoever is at work on an unfinished journal file holds one
        for name in backend.names(JOURNAL_FOLDER):
            if not file_number(name):
                yield from _remove(repository, f"{JOURNAL_FOLDER}/{name}")
    known = {str(row[1]) for row in repository.catalog.execute(sql.PACKS)}
    for name in backend.names("packs"):
        if name in known:
            continue
        if is_temporary(name) or _is_ours(repository, name):
            yield from _remove(repository, f"packs/{name}")
        else:
            yield f"packs/{name}: no pack of this repository"
    for folder in (JOURNAL_FOLDER, "packs"):
        with suppress(MissingObjectError):
            backend.sync(folder)


def _is_ours(repository: Repository, name: str) -> bool:
    try:
        with PackReader(repository.backend, name) as reader:
            return reader.repository_id() == repository.config.id
    except SnapfsError:
        return False


def _remove(repository: Repository, key: str) -> Iterator[str]:
    try:
        with suppress(MissingObjectError):
            repository.backend.remove(key)
    except SnapfsError as error:
        yield f"{key}: {error.message}"


def _quarantined(repository: Repository) -> list[str]:
    """What was set aside because it is damaged may hold anything, and may be the last of something else."""
    if not repository.backend.names(QUARANTINE):
        return []
    return [
        f"{QUARANTINE}/: what is damaged cannot be told apart; remove it if nothing of it is needed"
    ]
