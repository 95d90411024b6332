"""What is wrong with a query that SQLite refused, and what would be right."""

from __future__ import annotations

import re
import sqlite3
from difflib import get_close_matches

from snapfs.errors import UsageError
from snapfs.query.views import VIEWS

_MISSING = re.compile(
    r"(?:no such|vtable constructor failed|no query solution)(?: (table|column|function))?: (.*)",
    re.DOTALL,
)
_PROHIBITED = re.compile(r"access to (?:(?:main|temp)\.)?([^.]*)(?:\..*)? is prohibited", re.DOTALL)
_NAMES = ", ".join(view.name for view in VIEWS)
_LIST = "`snapfs sql` lists the views and their columns"


def mistake(error: Exception, text: str) -> UsageError:
    """The error that says so."""
    said = str(error)
    missing, prohibited = _MISSING.fullmatch(said), _PROHIBITED.fullmatch(said)
    if missing is not None and missing[1] == "column":
        return UsageError(said, subject=missing[2], hint=_nearest_column(missing[2], text))
    if missing is not None and missing[1] == "table":
        return _no_view(missing[2])
    if prohibited is not None:
        return _no_view(prohibited[1])
    if "modify" in said or "VACUUM" in said or said == "not authorized":
        return UsageError("sql reads the views and does nothing else", subject="sql", hint=_LIST)
    if "authorized to use function" in said or (missing and missing[1] == "function"):
        return UsageError(said, subject="sql", hint="snapfs-sql(7) lists the functions")
    if isinstance(error, sqlite3.ProgrammingError | sqlite3.Warning):
        if "binding" in said:
            return UsageError("there are no values for ? and :NAME", subject="sql", hint=_LIST)
        return UsageError("sql takes one SELECT", subject="sql", hint=_LIST)
    return UsageError(said, subject="sql", hint=_LIST)


def _no_view(name: str) -> UsageError:
    near = get_close_matches(name.lower(), [view.name for view in VIEWS], 1, 0.6)
    meant = f"did you mean {near[0]}? " if near else ""
    return UsageError(f"no such view: {name}", subject=name, hint=f"{meant}there are {_NAMES}")


def _nearest_column(name: str, text: str) -> str:
    """The column that was meant, of the views that the query names."""
    named = [view for view in VIEWS if re.search(rf"\b{view.name}\b", text, re.IGNORECASE)]
    columns = [column.name for view in named for column in view.columns]
    near = get_close_matches(name.rpartition(".")[2].lower(), columns, 1, 0.6)
    if near:
        return f"did you mean {near[0]}?"
    if len(named) == 1:
        return f"{named[0].name} has {', '.join(columns)}"
    return _LIST
