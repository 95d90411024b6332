"""Files that are moved out of the way, and those that a killed repair left: nothing is removed that held data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from snapfs import faults
from snapfs.blocks.pack import pack_key
from snapfs.blocks.packreader import PackReader
from snapfs.capture.adopt import REPAIR_STEM
from snapfs.errors import DamageError, SnapfsError
from snapfs.repository.journalfile import JOURNAL_FOLDER
from snapfs.repository.oldcatalog import OLD_CATALOG
from snapfs.repository.opened import CATALOG, Repository
from snapfs.repository.setaside import QUARANTINE, is_pack_name, known_packs
from snapfs.storage.contract import MissingObjectError, StorageError, is_temporary


def move_away(repository: Repository, packs: Iterable[str]) -> Iterator[str]:
    """Move packs that nothing needs any more; where each is now, unless it was not there."""
    for name in packs:
        with suppress(MissingObjectError):
            yield repository.backend.set_aside(pack_key(name), QUARANTINE)
            faults.point("repair.pack-moved")


def leftovers(repository: Repository) -> list[str]:
    """Damaged packs that the catalog does not know: a repair was killed before it moved them.

    A sound one is of a run that was killed and will be taken in; one of another repository is not ours.
    """
    known = known_packs(repository.catalog)
    return [
        name
        for name in repository.backend.names("packs")
        if name not in known and is_pack_name(name) and _is_damaged(repository, name)
    ]


def _is_damaged(repository: Repository, name: str) -> bool:
    try:
        with PackReader(repository.backend, name) as reader:
            try:
                if reader.repository_id() != repository.config.id:
                    return False
            except DamageError:
                return True
            return bool(reader.check(deep=True))
    except DamageError:
        return True
    except SnapfsError:
        return False


def possible_packs(repository: Repository) -> Iterator[str]:
    """Keys of all files that may be packs: what lies with them or in quarantine, whatever it is called, and what
    stands where a catalog or a journal file should.
    """
    backend = repository.backend
    for folder in ("packs", QUARANTINE):
        for name in backend.names(folder):
            if not is_temporary(name):
                yield f"{folder}/{name}"
    keys = [
        os.fsdecode(database)
        for database in (CATALOG, OLD_CATALOG)
        # Closing a descriptor of one that is in use would take SQLite's locks away.
        if os.path.join(repository.path, database) != repository.catalog.path
    ]
    for key in keys + [f"{JOURNAL_FOLDER}/{name}" for name in backend.names(JOURNAL_FOLDER)]:
        with suppress(SnapfsError), PackReader(backend, key, key=key) as reader:
            reader.repository_id()
            yield key


def remove_unfinished(repository: Repository) -> None:
    """Remove unfinished packs of repairs that were killed; nobody else is at work."""
    for name in repository.backend.names("packs"):
        if is_temporary(name) and name.startswith(f"tmp-{REPAIR_STEM}-"):
            with suppress(StorageError):
                repository.backend.remove(pack_key(name))


def give_back(repository: Repository, packs: Iterable[str]) -> None:
    """After a repair that met a full disk: remove the new packs, which nothing needs."""
    for name in packs:
        with suppress(SnapfsError):
            repository.backend.remove(pack_key(name))
