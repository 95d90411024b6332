"""Collecting dead blocks and removing packs that are wholly dead.

Rows go first, in a transaction; the files follow. A pack whose rows are gone stands in ``doomed_pack``
until its file is removed, so that a killed run leaves nothing behind for ever. Both need ``locks/gc``
exclusively: whoever decodes or writes blocks holds it shared.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from snapfs import faults
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.catalog.fold import collect, is_pending
from snapfs.repository.changes import change
from snapfs.repository.opened import Repository
from snapfs.storage.contract import MissingObjectError


@dataclass(frozen=True, slots=True)
class Freed:
    """Sizes in bytes."""

    freed_bytes: int
    """what the packs folder shrinks by"""
    reclaimable_bytes: int
    """dead bytes in packs that stay"""
    packs: int
    """pack files that go"""


NOTHING = Freed(0, 0, 0)


def collect_rows(catalog: Catalog) -> Freed:
    """Drop the rows of dead blocks and packs, inside a write."""
    catalog.stage_tables()
    freed, reclaimable, names = collect(catalog)
    return Freed(freed, reclaimable, len(names))


def collect_pending(repository: Repository) -> Freed:
    """What earlier runs had to leave: orphans first, then the files of doomed packs."""
    freed = NOTHING
    if repository.catalog.value(sql.ORPHANS) or is_pending(repository.catalog):
        with change(repository) as made:
            freed = collect_rows(repository.catalog)
            made.record("collect", {})
    remove_doomed(repository)
    return freed


def doomed(repository: Repository) -> dict[str, int]:
    """Sizes of the files of packs whose rows are gone, by name: a killed run left them."""
    found = {}
    for name, _ in repository.catalog.execute(sql.DOOMED):
        with suppress(MissingObjectError):
            found[name] = repository.backend.size(f"packs/{name}")
    return found


def remove_doomed(repository: Repository) -> None:
    """Remove the files of packs whose rows are gone."""
    names = [row[0] for row in repository.catalog.execute(sql.DOOMED)]
    for name in names:
        with suppress(MissingObjectError):
            repository.backend.remove(f"packs/{name}")
        faults.point("delete.pack-removed")
    if names:
        repository.backend.sync("packs")
        with repository.catalog.write() as catalog:
            catalog.executemany(sql.DOOMED_DELETE, [{"name": name} for name in names])
