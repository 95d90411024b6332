"""One connection to a catalog: how it is opened, what its transactions mean, what its errors become.

Every read of more than one statement runs inside `Catalog.read` (two SELECTs outside a transaction
may see two states), every change inside `Catalog.write` (BEGIN IMMEDIATE; a read is never upgraded).
All SQLite-only settings are in this module.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import string
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any

from snapfs import interruption
from snapfs.catalog import compiled as sql
from snapfs.errors import (
    DamageError,
    LockedError,
    NoRepositoryError,
    RepositoryError,
    SnapfsError,
    StorageFullError,
)
from snapfs.storage.path import absolute
from snapfs.storage.room import free_bytes, no_inode_left

BUSY_TIMEOUT_S = 120.0
_BUSY_STEP_S = 0.2
SIDES = (b"-wal", b"-shm", b"-journal")
"""What SQLite keeps beside a database, by the end of the name."""
CACHE_KIB = 24 * 1024
TEMP_CACHE_KIB = 16 * 1024
COUNTERS = ("root", "snapshot", "inode", "content", "segment", "pack", "attr", "xattr", "run")

STAGE_TABLES = (
    "STAGE", "SCAN_PATH", "LOST", "STAGE_ATTR", "STAGE_PACK", "STAGE_SEGMENT", "STAGE_BLOCK",
    "STAGE_CONTENT", "STAGE_FILE", "STAGE_PROBLEM", "DAMAGED_BLOCK", "NAMED_BLOCK", "LOST_CONTENT",
    "LOST_INODE", "KEPT_DIGEST",
)  # fmt: skip

# Bytes of a path that may stand in a URI as they are.
_PLAIN = frozenset(b"/._-" + string.ascii_letters.encode() + string.digits.encode())

UnfitValues = sqlite3.ProgrammingError
"""A statement got values of another number or kind than it takes."""

Params = Sequence[Any] | dict[str, Any]


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Turn SQLite's errors into ours, naming the file."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise  # a fault of ours, not of the file
    except sqlite3.Error as error:
        raise translate(error, path) from error
    except UnicodeDecodeError as error:
        # A text value, or the name in one of SQLite's own messages about a damaged schema.
        raise DamageError(
            f"{path} is damaged (text is not UTF-8)",
            subject=path,
            hint="run snapfs rebuild-catalog",
        ) from error


def translate(error: sqlite3.Error, path: str) -> SnapfsError:
    """The error of ours that says what SQLite's means."""
    text = str(error)
    name = _errorname(error)
    if name.startswith("SQLITE_FULL") or "disk is full" in text:
        return StorageFullError(f"no space left for {path}", subject=path)
    if _is_busy(error):
        return LockedError(f"{path} is in use by another process", subject=path)
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return DamageError(
            f"{path} is damaged ({text})", subject=path, hint="run snapfs rebuild-catalog"
        )
    if name.startswith("SQLITE_CONSTRAINT"):
        return DamageError(
            f"{path} contradicts itself ({text})", subject=path, hint="run snapfs rebuild-catalog"
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_PERM")):
        return RepositoryError(f"{path} cannot be written ({text})", subject=path)
    if name.startswith("SQLITE_CANTOPEN"):
        if no_inode_left(os.path.dirname(os.fsencode(path))):
            return StorageFullError(
                f"no inode left for {path}", subject=path, hint="remove some files from its disk"
            )
        return RepositoryError(f"{path} cannot be opened ({text})", subject=path)
    if name.startswith("SQLITE_IOERR"):
        return DamageError(f"reading or writing {path} failed ({text})", subject=path)
    if "no such table" in text or "no such column" in text:
        return DamageError(
            f"{path} is not a whole catalog ({text})", subject=path,
            hint="run snapfs rebuild-catalog",
        )  # fmt: skip
    return RepositoryError(f"{path}: {text}", subject=path)


def _errorname(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", "") or ""


def _is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection is in the way."""
    return _errorname(error).startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _require_plain(name: str, st: os.stat_result, *, way_out: str, linked: bool = False) -> None:
    """RepositoryError for what SQLite must not open: it would wait for a pipe for ever, and write through,
    and as root give to the catalog's owner, a file that somebody linked there (unless ``linked``).
    """
    if not stat.S_ISREG(st.st_mode):
        raise RepositoryError(f"{name} is no plain file", subject=name, hint=way_out)
    if st.st_nlink > 1 and not linked:
        raise RepositoryError(
            f"{name} has another name elsewhere (hard link)", subject=name,
            hint="put a copy in its place",
        )  # fmt: skip


def _no_room(path: bytes) -> bool:
    """Whether the map that SQLite makes beside a WAL database might not find a block."""
    return free_bytes(os.path.dirname(path) or b".") < 1 << 20


def _tables(db: sqlite3.Connection) -> set[tuple[Any, ...]]:
    """Tables and indexes, with the text that made them. The first catalogs had tables that are not strict."""
    plain = "replace(replace(sql, ', STRICT', ''), ' STRICT', '')"
    return set(
        db.execute(
            "SELECT CAST(type AS BLOB), CAST(name AS BLOB), CAST(tbl_name AS BLOB),"
            f" CAST({plain} AS BLOB) FROM sqlite_master WHERE name NOT LIKE 'sqlite_stat%'"
        )
    )


class Catalog:
    """A connection; not for use from several threads at once."""

    def __init__(self, path: bytes, *, write: bool, durable: bool = True) -> None:
        """Open an existing catalog. Not ``durable``: nobody needs it before the file is synced whole.

        Raises NoRepositoryError if the file is missing, DamageError if it is not a catalog,
        RepositoryError if its version is unknown.
        """
        self.path = path
        self.name = os.fsdecode(path)
        self._depth = 0
        self._closed = False
        self._running = False
        try:
            st = os.lstat(path)
        except FileNotFoundError as error:
            raise NoRepositoryError(f"{self.name} is missing", subject=self.name) from error
        except OSError as error:
            raise RepositoryError(
                f"{self.name} cannot be opened: {error.strerror}", subject=self.name
            ) from error
        _require_plain(
            self.name, st, linked=not write,
            way_out="put the real catalog there, or remove it and run snapfs rebuild-catalog",
        )  # fmt: skip
        for side in SIDES:
            with suppress(FileNotFoundError):
                name = os.fsdecode(path + side)
                _require_plain(name, os.lstat(path + side), way_out="remove it")
        with translated(self.name):
            self._db = self._open_to_write(durable) if write else self._open_to_read()
        with translated(self.name):
            self._check()
        interruption.enter(self)

    def _open_to_write(self, durable: bool) -> sqlite3.Connection:
        db = self._connect("rw")
        name, number = ("FULL", 2) if durable else ("OFF", 0)
        db.execute(f"PRAGMA synchronous={name}")
        if db.execute("PRAGMA synchronous").fetchone()[0] != number:
            raise RepositoryError(f"{self.name}: SQLite does not sync as asked")
        return db

    def _open_to_read(self) -> sqlite3.Connection:
        wal = self.path + b"-wal"
        merged = not os.path.exists(wal) or os.path.getsize(wal) == 0
        if merged and _no_room(self.path):
            return self._connect("ro&immutable=1")
        reader: sqlite3.Connection | None = None
        try:
            reader = self._connect("ro")
            reader.execute(sql.META_GET, {"key": "id"}).fetchone()
            return reader
        except sqlite3.OperationalError:
            # A WAL database needs a -shm file even to be read; where none can be made (full disk,
            # read-only medium) and no -wal waits to be merged, the file alone is the whole truth.
            if reader is not None:
                reader.close()
            if not merged:
                raise
            return self._connect("ro&immutable=1")

    def _connect(self, mode: str) -> sqlite3.Connection:
        quoted = "".join(
            chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in absolute(self.path)
        )
        db = sqlite3.connect(
            f"file:{quoted}?mode={mode}",
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            db.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
            # A window of staged files is updated in any order: it has to stay in memory.
            db.execute(f"PRAGMA temp.cache_size=-{TEMP_CACHE_KIB}")
        except sqlite3.Error:
            db.close()
            raise
        return db

    def _check(self) -> None:
        if self._db.execute("PRAGMA application_id").fetchone()[0] != sql.APPLICATION_ID:
            raise DamageError(
                f"{self.name} is not a snapfs catalog",
                subject=self.name,
                hint="run snapfs rebuild-catalog",
            )
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version != sql.USER_VERSION:
            raise RepositoryError(
                f"{self.name} has catalog version {version}, this snapfs knows {sql.USER_VERSION}",
                subject=self.name,
                hint="use the snapfs that wrote it, or a newer one",
            )

    @classmethod
    def make(cls, path: bytes) -> str:
        """Create an empty catalog; returns the journal mode in force ("wal" where that holds)."""
        name = os.fsdecode(path)
        with translated(name):
            db = sqlite3.connect(path, isolation_level=None)
            try:
                db.execute("PRAGMA auto_vacuum=INCREMENTAL")
                db.execute(f"PRAGMA application_id={sql.APPLICATION_ID}")
                db.execute(f"PRAGMA user_version={sql.USER_VERSION}")
                mode = str(db.execute("PRAGMA journal_mode=WAL").fetchone()[0])
                db.execute("PRAGMA synchronous=FULL")
                db.execute("BEGIN IMMEDIATE")
                for statement in sql.CREATE:
                    db.execute(statement)
                for counter in COUNTERS:
                    db.execute(sql.COUNTER_SET, {"counter": counter, "value": 1})
                db.execute("COMMIT")
            finally:
                db.close()
        return mode

    def close(self) -> None:
        """Close; an open transaction is rolled back."""
        self._closed = True
        self._db.close()

    def copy_to(self, other: Catalog) -> None:
        """Make ``other`` the same as this one."""
        with translated(self.name):
            self._db.backup(other._db)

    def in_our_words(self, error: BaseException | None) -> SnapfsError | None:
        """What an error of SQLite means that came outside of `read` and `write`; None for any other."""
        if not isinstance(error, sqlite3.Error) or isinstance(error, sqlite3.ProgrammingError):
            return None
        return translate(error, self.name)

    def interrupt(self) -> None:
        """End the statement that runs, if one of `execute` or `executemany` does; from another thread."""
        if self._running:
            with suppress(sqlite3.Error):  # closed meanwhile
                self._db.interrupt()

    @property
    def in_transaction(self) -> bool:
        # A generator that was left in a transaction may be told to end after all is closed.
        return not self._closed and self._db.in_transaction

    @contextmanager
    def read(self) -> Iterator[Catalog]:
        """One consistent state for all statements inside; may be nested."""
        with translated(self.name):
            if self._depth == 0:
                self._db.execute("BEGIN")
            self._depth += 1
            try:
                yield self
            finally:
                self._depth = max(0, self._depth - 1)
                if self._depth == 0 and self.in_transaction:
                    self._db.execute("COMMIT")

    @contextmanager
    def write(self, wait_s: float = BUSY_TIMEOUT_S) -> Iterator[Catalog]:
        """One atomic change; rolled back if the block raises. LockedError if another takes longer."""
        if self._depth:
            raise RuntimeError("a read transaction cannot become a write")
        with translated(self.name):
            self._begin_to_write(wait_s)
            self._depth += 1
            try:
                yield self
                self._db.execute("COMMIT")
            except BaseException:
                if self.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            finally:
                self._depth = max(0, self._depth - 1)

    def _begin_to_write(self, wait_s: float) -> None:
        """Wait for another writer by short steps: SQLite hears nothing of signals while it waits."""
        end = time.monotonic() + wait_s
        self._wait_for(_BUSY_STEP_S)
        try:
            while True:
                try:
                    self._db.execute("BEGIN IMMEDIATE")
                    return
                except sqlite3.OperationalError as error:
                    if not _is_busy(error) or time.monotonic() > end:
                        raise
        finally:
            self._wait_for(BUSY_TIMEOUT_S)

    def _wait_for(self, seconds: float) -> None:
        self._db.execute(f"PRAGMA busy_timeout={int(seconds * 1000)}").fetchall()

    @contextmanager
    def scratch(self) -> Iterator[Catalog]:
        """Bulk work on temporary tables only: one transaction, so that rows cost no commit each."""
        with translated(self.name):
            self._db.execute("BEGIN")
            try:
                yield self
            finally:
                if self.in_transaction:
                    self._db.execute("COMMIT")

    def abandon(self) -> None:
        """Roll back whatever is open: a signal may come between a transaction's end and its context's."""
        self._depth = 0
        if self.in_transaction:
            self._db.execute("ROLLBACK")

    def execute(self, statement: str, params: Params = ()) -> sqlite3.Cursor:
        self._running = True
        try:
            return self._db.execute(statement, params)
        except sqlite3.OperationalError:
            interruption.hear()
            raise
        finally:
            self._running = False

    def executemany(self, statement: str, rows: Iterable[Params]) -> sqlite3.Cursor:
        self._running = True
        try:
            return self._db.executemany(statement, rows)
        except sqlite3.OperationalError:
            interruption.hear()
            raise
        finally:
            self._running = False

    def one(self, statement: str, params: Params = ()) -> Any:
        """The first row, or None."""
        return self.execute(statement, params).fetchone()

    def value(self, statement: str, params: Params = ()) -> Any:
        """The first column of the first row, or None."""
        row = self.execute(statement, params).fetchone()
        return None if row is None else row[0]

    def take(self, counter: str, amount: int = 1) -> int:
        """The first of ``amount`` fresh ids, never given again (inside a write)."""
        end = self.value(sql.COUNTER_TAKE, {"counter": counter, "amount": amount})
        if end is None:
            raise DamageError(
                f"{self.name} is damaged: it has lost counter {counter}",
                subject=self.name,
                hint="run snapfs rebuild-catalog",
            )
        return int(end) - amount

    def meta(self, key: str) -> str | None:
        found = self.value(sql.META_GET, {"key": key})
        return None if found is None else str(found)

    def set_meta(self, key: str, value: str) -> None:
        self.execute(sql.META_SET, {"key": key, "value": value})

    def drop_meta(self, key: str) -> None:
        self.execute(sql.META_DROP, {"key": key})

    def stage_tables(self) -> None:
        """Make the temporary tables of the stage, empty."""
        clearing = (getattr(sql, f"STAGE_CLEAR_{name}") for name in STAGE_TABLES)
        for statement in (*sql.CREATE_STAGE, *clearing):
            self.execute(statement)

    def quick_check(self) -> list[str]:
        """What SQLite's own check finds wrong with the file (empty: nothing)."""
        try:
            found = [row[0] for row in self.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
            # A bit that changed in the text of a table passes that check.
            with closing(sqlite3.connect(":memory:")) as fresh:
                for statement in sql.CREATE:
                    fresh.execute(statement)
                if _tables(fresh) != _tables(self._db):
                    found.append("the tables are not as they were made")
        except sqlite3.Error as error:
            return [str(error)]
        return found

    def shrink(self) -> None:
        """Give free pages back to the filesystem (auto_vacuum=INCREMENTAL)."""
        self._db.execute("PRAGMA incremental_vacuum").fetchall()

    def checkpoint(self) -> bool:
        """Merge the WAL into the file and cut it, as far as readers allow; whether all of it. Waits for nobody."""
        self._wait_for(0)
        try:
            return not self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            self._wait_for(BUSY_TIMEOUT_S)
