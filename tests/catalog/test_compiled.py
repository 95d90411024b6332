"""The checked-in SQL is what the Core statements give, on SQLite, and they also speak PostgreSQL."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from snapfs.catalog import compile as compiler
from snapfs.catalog import compiled, stage_schema, statements
from snapfs.catalog.cut import prepare
from snapfs.catalog.database import STAGE_TABLES, Catalog


def test_compiled_text_is_current() -> None:
    assert Path(compiled.__file__).read_text() == compiler.source(), (
        "run python -m snapfs.catalog.compile"
    )


@pytest.mark.parametrize("name", sorted(statements.ALL))
def test_every_statement_is_postgresql_too(name: str) -> None:
    text = compiler.render(statements.ALL[name], "postgresql")
    assert text
    assert "POSTCOMPILE" not in text


def test_a_new_stage_is_empty() -> None:
    """All its tables; the collector empties its own sets."""
    stage = {
        name
        for name in stage_schema.stage_metadata.tables
        if name not in ("dead", "dead_block", "dead_pack")
    }
    assert {name.lower() for name in STAGE_TABLES} == stage


def test_every_statement_is_accepted(tmp_path: Path) -> None:
    path = bytes(tmp_path / "catalog.db")
    Catalog.make(path)
    catalog = Catalog(path, write=True)
    catalog.stage_tables()
    for text in (*compiled.CREATE_QUERY, *compiled.CREATE_USAGE):
        catalog.execute(text)
    prepare(catalog)
    try:
        for name in statements.ALL:
            text = getattr(compiled, name)
            if "?" in text:
                params: object = [None] * text.count("?")
            else:
                params = dict.fromkeys(_parameters(text))
            try:
                catalog.execute(f"EXPLAIN {text}", params)  # type: ignore[arg-type]
            except sqlite3.Error as error:
                pytest.fail(f"{name}: {error}")
    finally:
        catalog.close()


def _parameters(text: str) -> list[str]:
    import re

    return re.findall(r":([a-z_]+[0-9]*)", text)
