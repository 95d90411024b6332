"""The record of commands that changed something: who, when, with what result."""

from __future__ import annotations

import contextlib
import os
import pwd
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from snapfs.catalog import compiled as sql
from snapfs.catalog import rows
from snapfs.catalog.database import BUSY_TIMEOUT_S
from snapfs.errors import Exit, SnapfsError, StorageFullError
from snapfs.model.snapshot import Root
from snapfs.repository.opened import Repository
from snapfs.repository.reserve import has_room

ALL_RUNS = -1
_PATIENCE_S = 1.0
"""How long the record of a run that has failed may wait for another writer: its user waits for the end."""


@dataclass(frozen=True, slots=True)
class Run:
    """One command that changed something, or tried to."""

    id: int
    """number of the run"""
    command: str
    """the command line"""
    root: str | None
    """label of the root it worked on"""
    started_ns: int
    """when it began"""
    finished_ns: int | None
    """when it ended"""
    user_id: int
    """who ran it, as a number"""
    user: str | None
    """who ran it, as a name if that is known here"""
    exit: int | None
    """its exit code"""
    summary: str
    """what it did, or why it failed"""


class RunNote:
    """Filled by the operation while it runs."""

    def __init__(self) -> None:
        self.root_id: int | None = None
        self.exit = int(Exit.DONE)
        self.summary = ""
        self.silent = False


@contextmanager
def recorded(repository: Repository, root_id: int | None = None) -> Iterator[RunNote]:
    """Write one row when the block ends, also when it fails; trouble in writing it is passed over.

    Set ``silent`` for a run that changed nothing.
    """
    note = RunNote()
    note.root_id = root_id
    started_ns = repository.clock.now_ns()
    try:
        yield note
    except SnapfsError as error:
        note.exit, note.summary = int(error.exit_code), error.message
        # The catalog is not touched where no block is free.
        if not isinstance(error, StorageFullError) or has_room(repository.fd):
            with contextlib.suppress(SnapfsError):
                _write(repository, note, started_ns, _PATIENCE_S)
        raise
    except BaseException as error:
        note.exit = int(getattr(error, "exit_code", Exit.FAILED))
        note.summary = type(error).__name__
        repository.catalog.abandon()
        with contextlib.suppress(SnapfsError):
            _write(repository, note, started_ns, _PATIENCE_S)
        raise
    with contextlib.suppress(SnapfsError):
        _write(repository, note, started_ns, BUSY_TIMEOUT_S)


def _write(repository: Repository, note: RunNote, started_ns: int, wait_s: float) -> None:
    if note.silent:
        return
    words = [word.decode("utf-8", "backslashreplace") for word in repository.command_line]
    catalog = repository.catalog
    with catalog.write(wait_s):
        catalog.execute(
            sql.PUT_RUN,
            (
                catalog.take("run"),
                shlex.join(words),
                note.root_id,
                started_ns,
                repository.clock.now_ns(),
                os.getuid(),
                note.exit,
                note.summary,
            ),
        )


_COLUMNS: rows.Columns = (
    ("id", "int"), ("command", "str"), ("root", "int | NoneType"), ("start", "int"),
    ("end", "int | NoneType"), ("uid", "int"), ("exit", "int | NoneType"), ("summary", "str"),
)  # fmt: skip


def runs(
    repository: Repository, *, root: Root | None, failed: bool, limit: int | None
) -> tuple[Run, ...]:
    """Recorded runs, oldest first; the newest ``limit`` of them."""
    labels = {row.root.id: row.root.label for row in rows.roots(repository.catalog)}
    params = {
        "root": None if root is None else root.id,
        "failed": int(failed),
        "most": ALL_RUNS if limit is None else limit,
    }
    found = []
    for row in rows.checked(repository.catalog, "run", _COLUMNS, sql.RUNS, params):
        id_, command, root_id, started_ns, finished_ns, uid, code, summary = row
        label = labels.get(root_id) if root_id is not None else None
        found.append(
            Run(id_, command, label, started_ns, finished_ns, uid, _user(uid), code, summary)
        )
    return tuple(reversed(found))


def _user(uid: int) -> str | None:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None
