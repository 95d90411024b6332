"""Edits of a catalog that SQLite refuses, as a page that was written past it may have them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path


@contextmanager
def loosely(catalog: Path, *tables: str) -> Iterator[sqlite3.Connection]:
    """A connection to which these tables take values of any kind."""
    strict = {}
    with closing(sqlite3.connect(catalog)) as db:
        for table in tables:
            query = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?"
            (strict[table],) = db.execute(query, (table,)).fetchone()
    loose = {
        name: sql.replace(", STRICT", "").removesuffix(" STRICT") for name, sql in strict.items()
    }
    _declare(catalog, loose)
    try:
        with closing(sqlite3.connect(catalog, isolation_level=None)) as db:
            yield db
    finally:
        _declare(catalog, strict)


def _declare(catalog: Path, tables: dict[str, str]) -> None:
    with closing(sqlite3.connect(catalog)) as db:
        db.execute("PRAGMA writable_schema = ON")
        for name, text in tables.items():
            where = "WHERE type = 'table' AND name = ?"
            db.execute(f"UPDATE sqlite_master SET sql = ? {where}", (text, name))
        db.commit()
