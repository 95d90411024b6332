"""What a command finds out about a million paths, in order and to be looked up, without holding it.

A few entries are held; when there are more, they go into a private database that has no name and ends
with the process. It is no part of any catalog and known to nobody else.
"""

from __future__ import annotations

import marshal
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from snapfs.catalog.database import translate, translated

HELD = 10_000
"""Entries of one collection that are held."""

_CACHE_KIB = 8 * 1024
_AT_ONCE = 500
_NAME = "the temporary database"

V = TypeVar("V")


def _itself(value: Any) -> Any:
    return value


class Spill:
    """Makes collections that overflow into one private database. `close` must be called."""

    def __init__(self) -> None:
        self._db: sqlite3.Connection | None = None
        self._tables = 0

    def close(self) -> None:
        """Give up what they hold."""
        if self._db is not None:
            self._db.close()

    def map(
        self,
        pack: Callable[[V], Any] = _itself,
        unpack: Callable[[Any], V] = _itself,
    ) -> SpilledMap[V]:
        """A mapping from bytes to values that ``pack`` turns into plain tuples, numbers and bytes."""
        return SpilledMap(self, pack, unpack)

    def groups(self) -> SpilledGroups:
        """A mapping from numbers to sets of bytes."""
        return SpilledGroups(self)

    def table(self, columns: str) -> tuple[sqlite3.Connection, str]:
        """The database, with another table in it."""
        if self._db is None:
            # A name of no bytes stands for a file that is made where temporary files are, and unlinked.
            self._db = sqlite3.connect("", isolation_level=None)
            self._db.execute("PRAGMA journal_mode=OFF")
            self._db.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
            self._db.execute("BEGIN")
        self._tables += 1
        name = f"spilled{self._tables}"
        self._db.execute(f"CREATE TABLE {name} ({columns}) WITHOUT ROWID")
        return self._db, name


def _select(db: sqlite3.Connection, statement: str, key: object) -> list[Any]:
    try:
        return db.execute(statement, (key,)).fetchall()
    except sqlite3.Error as error:
        raise translate(error, _NAME) from error


class SpilledMap(Generic[V]):
    """Values by bytes."""

    def __init__(self, spill: Spill, pack: Callable[[V], Any], unpack: Callable[[Any], V]) -> None:
        self._spill = spill
        self._pack = pack
        self._unpack = unpack
        self._held: dict[bytes, V] = {}
        self._db: sqlite3.Connection | None = None
        self._get = self._put = self._after = ""

    def __contains__(self, key: object) -> bool:
        if key in self._held:
            return True
        return self._db is not None and bool(_select(self._db, self._get, key))

    def __setitem__(self, key: bytes, value: V) -> None:
        self._held[key] = value
        if len(self._held) >= HELD:
            self._write_out()

    def get(self, key: bytes) -> V | None:
        """The value, None if there is none."""
        found = self._held.get(key)
        if found is None and self._db is not None:
            for (value,) in _select(self._db, self._get, key):
                return self._unpack(marshal.loads(value))
        return found

    def __getitem__(self, key: bytes) -> V:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __bool__(self) -> bool:
        return bool(self._held) or self._db is not None

    def pairs(self) -> Iterator[tuple[bytes, V]]:
        """All, in order of keys; nothing is to be added meanwhile."""
        if self._db is None:
            yield from sorted(self._held.items(), key=lambda item: item[0])
            return
        self._write_out()
        key: Any = 0  # before all bytes, also those of no length
        while True:
            rows = _select(self._db, self._after, key)
            for key, value in rows:
                yield key, self._unpack(marshal.loads(value))
            if len(rows) < _AT_ONCE:
                return

    def _write_out(self) -> None:
        with translated(_NAME):
            if self._db is None:
                self._db, name = self._spill.table("k BLOB PRIMARY KEY, v BLOB")
                self._get = f"SELECT v FROM {name} WHERE k = ?"
                self._put = f"INSERT OR REPLACE INTO {name} VALUES (?, ?)"
                self._after = f"SELECT k, v FROM {name} WHERE k > ? ORDER BY k LIMIT {_AT_ONCE}"
            pack = self._pack
            self._db.executemany(
                self._put,
                [(key, marshal.dumps(pack(self._held[key]))) for key in sorted(self._held)],
            )
        self._held.clear()


class SpilledGroups:
    """Sets of bytes by number."""

    def __init__(self, spill: Spill) -> None:
        self._spill = spill
        self._held: dict[int, list[bytes]] = {}
        self._db: sqlite3.Connection | None = None
        self._get = self._put = ""

    def add(self, number: int, item: bytes) -> None:
        """Put one in, that is not in yet."""
        self._held.setdefault(number, []).append(item)
        if len(self._held) >= HELD:
            self._write_out()

    def get(self, number: int) -> list[bytes]:
        """The set of a number, in order."""
        found = self._held.get(number, [])
        if self._db is None:
            return sorted(found)
        return sorted([*found, *(row[0] for row in _select(self._db, self._get, number))])

    def __contains__(self, number: object) -> bool:
        if number in self._held:
            return True
        return self._db is not None and bool(_select(self._db, self._get, number))

    def _write_out(self) -> None:
        with translated(_NAME):
            if self._db is None:
                self._db, name = self._spill.table("n INTEGER, i BLOB, PRIMARY KEY (n, i)")
                self._get = f"SELECT i FROM {name} WHERE n = ?"
                self._put = f"INSERT OR IGNORE INTO {name} VALUES (?, ?)"
            self._db.executemany(
                self._put,
                [(number, item) for number in sorted(self._held) for item in self._held[number]],
            )
        self._held.clear()
