"""What differs between the dialects that the statements are compiled for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import BigInteger, Text
from sqlalchemy.dialects.sqlite.dml import OnConflictDoNothing, OnConflictDoUpdate
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import coercions, roles
from sqlalchemy.sql.functions import FunctionElement


@compiles(OnConflictDoNothing, "postgresql")
def _do_nothing(_element: OnConflictDoNothing, _compiler: Any, **_kw: Any) -> str:
    """Upserts are built with SQLite's construct; PostgreSQL says the same in the same words."""
    return "ON CONFLICT DO NOTHING"


@compiles(OnConflictDoUpdate, "postgresql")
def _do_update(element: OnConflictDoUpdate, compiler: Any, **_kw: Any) -> str:
    target = ", ".join(
        str(getattr(one, "name", one)) for one in element.inferred_target_elements or ()
    )
    pairs: Any = element.update_values_to_set
    if isinstance(pairs, Mapping):
        pairs = pairs.items()
    values = []
    for key, value in pairs:
        expression = coercions.expect(roles.ExpressionElementRole, value)
        name = getattr(key, "name", key)
        values.append(f"{name} = {compiler.process(expression, use_schema=False)}")
    return f"ON CONFLICT ({target}) DO UPDATE SET {', '.join(values)}"


class place_of(FunctionElement[int]):  # noqa: N801 (a function of SQL)
    """Where bytes are found in other bytes, from 1; 0 for nowhere."""

    type = BigInteger()
    inherit_cache = True


class as_text(FunctionElement[str]):  # noqa: N801 (a function of SQL)
    """Bytes as text, what is not UTF-8 included: SQLite takes it as it is."""

    type = Text()
    inherit_cache = True


class as_hex(FunctionElement[str]):  # noqa: N801
    """Bytes as hexadecimal digits."""

    type = Text()
    inherit_cache = True


class as_octal(FunctionElement[str]):  # noqa: N801
    """Permission bits as people write them, 0644."""

    type = Text()
    inherit_cache = True


class as_moment(FunctionElement[str]):  # noqa: N801
    """Seconds as ``2026-06-01 12:30:00``, UTC."""

    type = Text()
    inherit_cache = True


class with_blanks(FunctionElement[str]):  # noqa: N801
    """Texts of several rows with a blank between."""

    type = Text()
    inherit_cache = True


class greatest(FunctionElement[int]):  # noqa: N801
    """The greatest of several values in one row."""

    type = BigInteger()
    inherit_cache = True


class least(FunctionElement[int]):  # noqa: N801
    """The least of several values in one row."""

    type = BigInteger()
    inherit_cache = True


_FORMS: dict[type[FunctionElement[Any]], tuple[str, str]] = {
    place_of: ("instr({}, {})", "position({1} in {0})"),
    as_text: ("CAST({} AS TEXT)", "encode({}, 'escape')"),
    as_hex: ("lower(hex({}))", "encode({}, 'hex')"),
    as_octal: ("printf('%04o', {})", "lpad(to_oct({}), 4, '0')"),
    as_moment: (
        "datetime({}, 'unixepoch')",
        "to_char(to_timestamp({}) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')",
    ),
    with_blanks: ("group_concat({}, ' ')", "string_agg({}, ' ')"),
    greatest: ("max({all})", "greatest({all})"),
    least: ("min({all})", "least({all})"),
}


def _form(element: FunctionElement[Any], compiler: Any, **kw: Any) -> str:
    text = _FORMS[type(element)][compiler.dialect.name == "postgresql"]
    parts = [compiler.process(one, **kw) for one in element.clauses]
    return text.format(*parts, all=", ".join(parts))


for _function in _FORMS:
    compiles(_function)(_form)
