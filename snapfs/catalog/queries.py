"""A connection on which somebody else's SQL runs: it reads the views, and nothing else.

Each view stands in another one whose name is drawn anew for every query. SQLite says which view a table
is read for, and only what is read for one of those is allowed: a query can give a part of itself the name
of a view that is documented, but not one that it cannot know. Statements other than SELECT, and functions
that are not listed here, are refused when the query is compiled; the file is open for reading besides.
How long values, statements and programs may get is limited, and so is SQLite's memory.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from snapfs import interruption
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.catalog.watch import Watch

VIEWS = ("snapshots", "entries", "changes", "blocks", "usage", "roots", "runs")
PLACED = frozenset({"entries", "changes"})
"""Views that stand on where directories were."""

LONGEST_VALUE = 1_000_000
"""Bytes of a text or of bytes, and of a row where it is sorted."""
HEAP_BYTES = 256 << 20
"""What SQLite may hold in memory. Once set it stays so for the process."""
TEMPORARY_BYTES = 2 << 30
"""What it may put on the disk."""
_ROWS_AT_ONCE, _BYTES_AT_ONCE, _AT_ONCE_S = 200, 1 << 20, 0.2
"""Rows that are read together, and after how many bytes and seconds no more are."""

_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: LONGEST_VALUE,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 100,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 500,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 100,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 200_000,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1000,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 100,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}

FUNCTIONS = frozenset((
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "avg", "ceil", "ceiling",
    "char", "coalesce", "concat", "concat_ws", "cos", "cosh", "count", "cume_dist",
    "current_date", "current_time", "current_timestamp", "date", "datetime", "degrees",
    "dense_rank", "exp", "first_value", "floor", "format", "glob", "group_concat", "hex", "if",
    "ifnull", "iif", "instr", "json", "json_array", "json_array_length", "json_each",
    "json_error_position", "json_extract", "json_group_array", "json_group_object", "json_insert",
    "json_object", "json_patch", "json_pretty", "json_quote", "json_remove", "json_replace",
    "json_set", "json_tree", "json_type", "json_valid", "julianday", "lag", "last_value", "lead",
    "length", "like", "likelihood", "likely", "ln", "log", "log10", "log2", "lower", "ltrim",
    "max", "median", "min", "mod", "nth_value", "ntile", "nullif", "octet_length", "percent_rank",
    "percentile", "percentile_cont", "percentile_disc", "pi", "pow", "power", "printf", "quote",
    "radians", "random", "randomblob", "rank", "replace", "round", "row_number", "rtrim", "sign",
    "sin", "sinh", "sqlite_version", "sqrt", "strftime", "string_agg", "substr", "substring",
    "subtype", "sum", "tan", "tanh", "time", "timediff", "total", "trim", "trunc", "typeof",
    "unhex", "unicode", "unistr", "unistr_quote", "unixepoch", "unlikely", "upper", "zeroblob",
    "->", "->>",
))  # fmt: skip
"""What a query may call; of SQLite's own functions these neither write, load nor tell of anything else."""

_JSON_TABLES = ("json_each", "json_tree")

Row = tuple[Any, ...]
"""Values as SQLite has them; text that is not UTF-8 has surrogate escapes."""


class QueryCatalog(Catalog):
    """A connection for one query of a user."""

    def __init__(
        self, path: bytes, *, timeout_s: float | None, overdue: Callable[[], None] | None = None
    ) -> None:
        """Raises as `Catalog` does. ``overdue`` is called if the query does not end with its time."""
        super().__init__(path, write=False)
        self.watch = Watch(self._db.interrupt, timeout_s, TEMPORARY_BYTES, overdue)
        self._inner: frozenset[str] = frozenset()
        self._tables: frozenset[str] = frozenset()
        self._failure: sqlite3.OperationalError | None = None

    def begin(self, *, placed: bool) -> None:
        """Make the views; ``placed``: with what `PLACED` ones stand on. Then only `run` is of use.

        To be called within `watch`. The state that is read is one until the catalog is closed.
        """
        with self._working():
            self._db.execute("BEGIN")
            for statement in (*sql.CREATE_QUERY, sql.QUERY_CHAIN):
                self._db.execute(statement)
            if placed:
                self._place()
            token = os.urandom(16).hex()
            for name in VIEWS:
                inner, text = f"{name}_{token}", getattr(sql, f"VIEW_{name.upper()}")
                self._db.execute(f"CREATE TEMP VIEW {inner} AS {text}")
                self._db.execute(f"CREATE TEMP VIEW {name} AS SELECT * FROM {inner}")
            self._inner = frozenset(f"{name}_{token}" for name in VIEWS)
            self._lock_up()

    def _place(self) -> None:
        for statement in (
            sql.QUERY_FOLDERS,
            sql.QUERY_OLD_FOLDERS,
            sql.QUERY_NAMES,
            sql.QUERY_OLD_NAMES,
            sql.QUERY_TOPS,
            *sql.CREATE_QUERY_INDEX,
        ):
            self._db.execute(statement)
        depth = 0
        # In a catalog where a directory is below itself, one is at two places at a time: the key says so.
        while self._db.execute(sql.QUERY_LEVEL, {"depth": depth}).rowcount:
            depth += 1
        while self._db.execute(sql.QUERY_JOIN_PLACES).rowcount:
            pass
        self._db.execute(sql.QUERY_DROP_PLACES)

    def _lock_up(self) -> None:
        for table in _JSON_TABLES:
            # With the first use SQLite makes an entry in its own memory, which looks like a write.
            self._db.execute(f"SELECT 1 FROM {table}('[]')").fetchall()
        tables = "SELECT name FROM sqlite_master UNION SELECT name FROM sqlite_temp_master"
        for names in (tables, "PRAGMA module_list"):
            self._tables |= {name.lower() for (name,) in self._db.execute(names)} - {*VIEWS}
        self._db.execute("PRAGMA query_only=ON")
        self._db.execute("PRAGMA trusted_schema=OFF")
        self._db.execute(f"PRAGMA hard_heap_limit={HEAP_BYTES}").fetchall()
        for category, limit in _LIMITS.items():
            self._db.setlimit(category, limit)
        # Names need not be UTF-8: what is not comes back as it went in.
        self._db.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        self._db.set_authorizer(self._allowed)

    def _allowed(
        self, action: int, one: str | None, two: str | None, _base: str | None, within: str | None
    ) -> int:
        if action in {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE}:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            known = one in VIEWS or one in self._inner or one in _JSON_TABLES
            allowed = (
                known or within in self._inner or (two == "" and not self._is_table(one or ""))
            )
            return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_FUNCTION and (two or "").lower() in FUNCTIONS:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    def _is_table(self, name: str) -> bool:
        """Where no column is asked for, a name may also be that of a WITH."""
        name = name.lower()
        return name in self._tables or name.startswith(("sqlite_", "pragma_"))

    def run(self, text: str) -> tuple[tuple[str, ...], Iterator[list[Row]]]:
        """The columns of a query, and its rows by the hundred as they are asked for.

        Raises what sqlite3 does. Where `Watch.reason` says why, the query was stopped.
        """
        with self._working():
            cursor = self._db.execute(text)
            first = self._batch(cursor)
        return tuple(column[0] for column in cursor.description or ()), self._rest(cursor, first)

    def _rest(self, cursor: sqlite3.Cursor, rows: list[Row]) -> Iterator[list[Row]]:
        while rows:
            yield rows
            with self._working():
                rows = self._batch(cursor)

    @contextmanager
    def _working(self) -> Iterator[None]:
        self._running = True
        try:
            with self.watch.working():
                yield
        except sqlite3.OperationalError:
            interruption.hear()
            raise
        finally:
            self._running = False

    def _batch(self, cursor: sqlite3.Cursor) -> list[Row]:
        """The next rows; those that came before a failure are good."""
        if self._failure is not None:
            raise self._failure
        rows: list[Row] = []
        size, end = 0, time.monotonic() + _AT_ONCE_S
        try:
            while len(rows) < _ROWS_AT_ONCE and size < _BYTES_AT_ONCE and time.monotonic() < end:
                row = cursor.fetchone()
                if row is None:
                    break
                rows.append(row)
                size += sum(len(value) for value in row if isinstance(value, str | bytes))
        except sqlite3.OperationalError as error:
            if not rows:
                raise
            self._failure = error
        return rows
