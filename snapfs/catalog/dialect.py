"""What differs between the dialects that the statements are compiled for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy.dialects.sqlite.dml import OnConflictDoNothing, OnConflictDoUpdate
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import coercions, roles
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.types import Integer


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


class place_of(GenericFunction[int]):  # noqa: N801 - a function of SQL
    """Where bytes are found in other bytes, from 1; 0 for nowhere."""

    type = Integer()
    inherit_cache = True


@compiles(place_of)
def _place_of(element: Any, compiler: Any, **kw: Any) -> str:
    return f"instr({compiler.process(element.clauses, **kw)})"


@compiles(place_of, "postgresql")
def _place_of_postgresql(element: Any, compiler: Any, **kw: Any) -> str:
    where, what = element.clauses
    return f"position({compiler.process(what, **kw)} in {compiler.process(where, **kw)})"
