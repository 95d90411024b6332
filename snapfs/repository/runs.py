"""The record of commands that changed something: who, when, with what result."""

from __future__ import annotations

import contextlib
import os
import pwd
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from snapfs.catalog import compiled as sql
from snapfs.catalog import rows
from snapfs.catalog.database import BUSY_TIMEOUT_S, Catalog
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
    """when it ended; null if it was killed, or is at work still"""
    user_id: int
    """who ran it, as a number"""
    user: str | None
    """who ran it, as a name if that is known here"""
    exit: int | None
    """its exit code; null if it has not ended"""
    summary: str
    """what it did, or why it failed"""


class RunNote:
    """Filled by the operation while it runs. Set ``silent`` for a run that changed nothing."""

    def __init__(self, repository: Repository, root_ids: Sequence[int]) -> None:
        self.root_ids = tuple(root_ids)
        """roots it works on: each has it among its runs"""
        self.exit = int(Exit.DONE)
        self.summary = ""
        self.silent = False
        self._repository = repository
        self._started_ns = repository.clock.now_ns()
        self._rows = range(0)

    def begin(self) -> None:
        """Write down that it is at work, so that one that is killed is known as well."""
        # The catalog is not touched where no block is free.
        if has_room(self._repository.fd):
            with contextlib.suppress(SnapfsError):
                self._put(_PATIENCE_S, None, None)

    def end(self, wait_s: float) -> None:
        """Write down how it ended; trouble in that is passed over."""
        if self.silent:
            return
        with contextlib.suppress(SnapfsError):
            self._put(wait_s, self._repository.clock.now_ns(), self.exit)

    def _put(self, wait_s: float, finished_ns: int | None, code: int | None) -> None:
        roots: Sequence[int | None] = self.root_ids or (None,)
        with self._repository.catalog.write(wait_s) as catalog:
            if not self._rows:
                made = self._insert(catalog, roots, finished_ns, code)
            else:
                made = self._rows
                for id_, root_id in zip(made, roots, strict=True):
                    end = {"run": id_, "root": root_id, "new_finished_ns": finished_ns,
                           "new_exit": code, "new_summary": self.summary}  # fmt: skip
                    catalog.execute(sql.RUN_END, end)
        self._rows = made  # not before it is committed: another run may be given the numbers

    def _insert(
        self,
        catalog: Catalog,
        roots: Sequence[int | None],
        finished_ns: int | None,
        code: int | None,
    ) -> range:
        words = [word.decode("utf-8", "backslashreplace") for word in self._repository.command_line]
        first = catalog.take("run", len(roots))
        ids = range(first, first + len(roots))
        for id_, root_id in zip(ids, roots, strict=True):
            row = (
                id_, shlex.join(words), root_id, self._started_ns, finished_ns, os.getuid(), code,
                self.summary,
            )  # fmt: skip
            catalog.execute(sql.PUT_RUN, row)
        return ids


@contextmanager
def recorded(repository: Repository, *root_ids: int) -> Iterator[RunNote]:
    """Write down for each root how the block ended, also when it failed."""
    note = RunNote(repository, root_ids)
    try:
        yield note
    except SnapfsError as error:
        note.exit, note.summary = int(error.exit_code), error.message
        if not isinstance(error, StorageFullError) or has_room(repository.fd):
            note.end(_PATIENCE_S)
        raise
    except BaseException as error:
        note.exit = int(getattr(error, "exit_code", Exit.FAILED))
        note.summary = type(error).__name__
        repository.catalog.abandon()
        note.end(_PATIENCE_S)
        raise
    note.end(BUSY_TIMEOUT_S)


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
