"""The catalog beside the one in use: one that is to be made again, and one that a rebuild makes."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from types import NoneType

from snapfs.catalog import compiled as sql
from snapfs.catalog.database import SIDES, Catalog
from snapfs.errors import DamageError, SnapfsError
from snapfs.fs.patterns import PURGED
from snapfs.repository.beyond import LostChanges, untold_loss
from snapfs.repository.changes import set_tail, tail_of
from snapfs.repository.journal import Journal, JournalTail
from snapfs.repository.opened import CATALOG
from snapfs.repository.replay import apply_record
from snapfs.repository.takeout import is_unfinished
from snapfs.storage.contract import Backend, MissingObjectError

NEW_CATALOG = b"tmp-" + CATALOG
"""What a rebuild makes, until it is complete."""
OLD_CATALOG = CATALOG + b".old"
"""What a rebuild put something else in place of."""
FILES = (b"", *SIDES)
"""A database and the files that SQLite keeps beside it, by the end of the name."""


def remove_database(name: bytes, folder_fd: int) -> None:
    """Remove a database and what SQLite keeps beside it, as far as they are there."""
    for suffix in FILES:
        with suppress(FileNotFoundError):
            os.unlink(name + suffix, dir_fd=folder_fd)


def sound_tail(path: bytes, repository_id: bytes) -> JournalTail | None:
    """Where the catalog at ``path`` stands in the journal, if it is sound."""
    try:
        old = Catalog(path, write=False)
    except SnapfsError:
        return None
    try:
        with old.read():
            tail = tail_of(old)
            if tail is None or old.meta("id") != repository_id.hex():
                return None
            return None if old.quick_check() else tail
    except SnapfsError:
        return None
    finally:
        old.close()


def catch_up(log: Journal, backend: Backend, catalog: Catalog, tail: JournalTail) -> JournalTail:
    """Apply what follows ``tail``, where the catalog stands, as far as it is sound, whatever is damaged in front
    of it; where it stands then.
    """
    with suppress(DamageError, MissingObjectError):
        for record in log.records(tail.file, headless=True, after=tail):
            with catalog.write():
                apply_record(catalog, backend, record.pieces)
                set_tail(catalog, record.tail)
            tail = record.tail
    return tail


def untold_loss_at(path: bytes) -> LostChanges | None:
    """What the catalog at ``path`` says to be lost and not told yet, as far as it can be read."""
    try:
        with closing(Catalog(path, write=False)) as old, old.read():
            return untold_loss(old)
    except SnapfsError:
        return None


def carry_runs(path: bytes, catalog: Catalog) -> None:
    """Take over what the catalog at ``path`` tells of runs, which stand in no journal.

    Nothing is taken from one that cannot be read.
    """
    try:
        old = Catalog(path, write=False)
    except SnapfsError:
        return
    try:
        with old.read():
            rows = old.execute(sql.DUMP_RUN).fetchall()
    except SnapfsError:
        return
    finally:
        old.close()
    with catalog.write():
        known = {row[0] for row in catalog.execute(sql.DUMP_RUN)}
        new = [row for row in rows if row[0] not in known and _is_run(row)]
        if is_unfinished(catalog):
            # The journal had a purge that the old catalog had not: which of these have the path in them
            # nobody knows any more.
            new = [(*row[:1], PURGED, *row[2:7], "") for row in new]
        catalog.executemany(sql.PUT_RUN, new)
        beyond = 1 + max((row[0] for row in new), default=0)
        catalog.execute(sql.COUNTER_SET, {"counter": "run", "value": beyond})


def _is_run(row: tuple[object, ...]) -> bool:
    """Whether the values have the types that they should."""
    expected: tuple[type | tuple[type, ...], ...] = (
        int, str, (int, NoneType), int, (int, NoneType), int, (int, NoneType), str,
    )  # fmt: skip
    return all(isinstance(value, kind) for value, kind in zip(row, expected, strict=True))
