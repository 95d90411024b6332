"""One SELECT over the views, with a limit on its time and on its rows."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

from snapfs.catalog.database import translated
from snapfs.catalog.queries import (
    HEAP_BYTES,
    LONGEST_VALUE,
    PLACED,
    TEMPORARY_BYTES,
    QueryCatalog,
    Row,
)
from snapfs.catalog.watch import Reason
from snapfs.errors import SnapfsError, UsageError
from snapfs.model.units import exact_size
from snapfs.query.mistakes import VIEWS_LISTED, mistake
from snapfs.repository.opened import CATALOG, Repository

_PLACED = re.compile(rf"\b({'|'.join(sorted(PLACED))})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """How much a query may take; None for as much as it wants.

    ``overdue`` is called, from another thread, where a query cannot be stopped at its time.
    """

    timeout_s: float | None = 30.0
    rows: int | None = 10_000
    overdue: Callable[[], None] | None = None


class Cut(Enum):
    """Why the rows are not all that there are."""

    TIME = 1
    ROWS = 2


class Answer:
    """The columns of a query and, read once, its rows; afterwards ``cut`` says what was left out."""

    def __init__(self, catalog: QueryCatalog, text: str, options: QueryOptions) -> None:
        """To be made within `QueryCatalog.watch`."""
        self.columns: tuple[str, ...] = ()
        self.cut: Cut | None = None
        self._catalog = catalog
        self._text = text
        self._most = options.rows
        self._batches: Iterator[list[Row]] = iter(())
        with self._told():
            catalog.begin(placed=_PLACED.search(text) is not None)
            self.columns, self._batches = catalog.run(text)
            if not self.columns:
                raise UsageError("the query is empty", subject="sql", hint=VIEWS_LISTED)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows."""
        count = 0
        while self.cut is None:
            if self._catalog.watch.is_used_up():
                self.cut = Cut.TIME
                return
            batch: list[Row] = []
            with self._told():
                batch = next(self._batches, [])
            if not batch:
                return
            for row in batch:
                if count == self._most:
                    self.cut = Cut.ROWS
                    return
                count += 1
                yield row

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors in our words; that the time is over is none."""
        try:
            yield
        except (MemoryError, sqlite3.Error, ValueError) as error:
            self._tell(error)

    def _tell(self, error: Exception) -> None:
        if isinstance(error, MemoryError):
            raise _too_much("memory", HEAP_BYTES) from error
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code == sqlite3.SQLITE_INTERRUPT and self._catalog.watch.reason is Reason.TIME:
            self.cut = Cut.TIME
        elif code == sqlite3.SQLITE_INTERRUPT and self._catalog.watch.reason is Reason.SPACE:
            raise _too_much("temporary space", TEMPORARY_BYTES) from error
        elif code == sqlite3.SQLITE_TOOBIG:
            raise UsageError(
                f"a value of the query, or the query itself, is longer than {LONGEST_VALUE:,} bytes",
                subject="sql",
            ) from error
        elif code in {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_MISMATCH} or (
            not isinstance(error, sqlite3.DatabaseError)
        ):
            raise mistake(error, self._text) from error
        else:
            raise error


def _too_much(what: str, limit: int) -> SnapfsError:
    return SnapfsError(
        f"the query needs more than {exact_size(limit)} of {what}", subject="sql",
        hint="ask for less: fewer rows to sort, group or join",
    )  # fmt: skip


@contextmanager
def query(repository: Repository, text: str, options: QueryOptions) -> Iterator[Answer]:
    """Run a SELECT on a connection of its own. Raises UsageError for a mistake in it, SnapfsError
    where it needs too much memory or temporary space.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError("the query is not UTF-8", subject="sql") from error
    if "\0" in text:
        raise UsageError("the query has a NUL in it", subject="sql")
    path = os.path.join(repository.path, CATALOG)
    catalog = QueryCatalog(path, timeout_s=options.timeout_s, overdue=options.overdue)
    try:
        with translated(catalog.name), catalog.watch:
            yield Answer(catalog, text, options)
    finally:
        catalog.close()
