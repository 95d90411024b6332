"""Compile the statements of `statements` into `compiled.py`: ``python -m snapfs.catalog.compile``.

Loading SQLAlchemy takes longer than most commands run, so the SQL that runs every day is built from
the Core tables once, here, and checked in; a test fails when the two differ. Constants inside a
statement are rendered literally, named parameters stay ``:name``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql.elements import ClauseElement

from snapfs.catalog import cut_schema, query_schema, schema, stage_schema, statements, usage_schema
from snapfs.catalog import dialect as _dialect  # noqa: F401 - registers itself

# Statements that run once per row of a list take the row itself: positional parameters.
ROWWISE = (
    "PUT_",
    "CUT_PUT_",
    "STAGE_PUT_",
    "STAGE_SCAN",
    "STAGE_FILE",
    "STAGE_FILE_READ",
    "STAGE_REPLAY",
    "STAGE_SET_",
    "OWNER_PUT",
    "TAG_PUT",
    "ORPHAN_PUT",
    "BLOCKS_KNOWN",
    "BLOCKS_PLACES",
    "HISTORY_INODES",
    "HISTORY_NAMES",
    "SCAN_NAMED",
    "GOING_PUT",
)

HEADER = '''"""SQL text for SQLite, compiled from `statements` by `compile`; do not edit."""

# ruff: noqa: E501
'''


def render(statement: ClauseElement, dialect: str = "sqlite") -> str:
    """The text of one statement with ``:name`` parameters."""
    made: Any = (
        sqlite.dialect(paramstyle="named")
        if dialect == "sqlite"
        else postgresql.dialect(paramstyle="named")  # type: ignore[no-untyped-call]
    )
    compiled = statement.compile(dialect=made)
    text = str(compiled)
    for name, value in (compiled.params or {}).items():
        if value is not None:
            literal = _literal(value, dialect).replace("\\", "\\\\")
            text = re.sub(rf":{re.escape(name)}\b", literal, text)
    return " ".join(text.split())


def _literal(value: object, dialect: str) -> str:
    if isinstance(value, bytes):
        return f"x'{value.hex()}'" if dialect == "sqlite" else f"'\\x{value.hex()}'::bytea"
    if isinstance(value, int):
        return str(int(value))
    return "'" + str(value).replace("'", "''") + "'"


def _tables(metadata: Any) -> list[str]:
    return [_text(CreateTable(table, if_not_exists=True)) for table in metadata.sorted_tables]


def _indexes(metadata: Any) -> list[str]:
    found = (index for table in metadata.sorted_tables for index in table.indexes)
    return [
        _text(CreateIndex(index, if_not_exists=True))
        for index in sorted(found, key=lambda one: str(one.name))
    ]


def _text(ddl: Any) -> str:
    return " ".join(str(ddl.compile(dialect=sqlite.dialect())).split())


def source() -> str:
    """The whole text of ``compiled.py``."""
    lines = [HEADER]
    for name, ddl in (
        ("CREATE", _tables(schema.metadata) + _indexes(schema.metadata)),
        ("CREATE_STAGE", _tables(stage_schema.stage_metadata)),
        ("CREATE_STAGE_INDEX", _indexes(stage_schema.stage_metadata)),
        ("CREATE_QUERY", _tables(query_schema.query_metadata)),
        ("CREATE_QUERY_INDEX", _indexes(query_schema.query_metadata)),
        ("CREATE_CUT", _tables(cut_schema.cut_metadata) + _indexes(cut_schema.cut_metadata)),
        ("CREATE_USAGE", _tables(usage_schema.usage_metadata)),
    ):
        lines.append(f"{name}: tuple[str, ...] = (")
        lines += [f"    {text!r}," for text in ddl]
        lines.append(")\n")
    lines.append(f"APPLICATION_ID = {schema.APPLICATION_ID}")
    lines.append(f"USER_VERSION = {schema.USER_VERSION}\n")
    for name in sorted(statements.ALL):
        text = render(statements.ALL[name])
        if name.startswith(ROWWISE):
            text = re.sub(r":[a-z_]+[0-9]*", "?", text)
        lines.append(f"{name} = {text!r}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Rewrite ``compiled.py``."""
    Path(__file__).with_name("compiled.py").write_text(source())


if __name__ == "__main__":
    main()
