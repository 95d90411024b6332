"""What is wrong with a query that SQLite refused, and what would be right."""

from __future__ import annotations

import re
import sqlite3
from difflib import get_close_matches

from snapfs.errors import UsageError
from snapfs.query.views import VIEWS

_MISSING = re.compile(r"no such (table|column|function): (.*)", re.DOTALL)
_VIRTUAL = re.compile(r"vtable constructor failed: (.*)", re.DOTALL)
_PROHIBITED = re.compile(r"access to (?:(?:main|temp)\.)?([^.]*)(?:\..*)? is prohibited", re.DOTALL)
_NAMES = ", ".join(view.name for view in VIEWS)
VIEWS_LISTED = "`snapfs sql` lists the views and their columns"
"""A hint."""


def mistake(error: Exception, text: str) -> UsageError:
    """The error that says so."""
    said = str(error)
    missing = _MISSING.fullmatch(said)
    prohibited = _PROHIBITED.fullmatch(said) or _VIRTUAL.fullmatch(said)
    if missing is not None and missing[1] == "column":
        return UsageError(said, subject=missing[2], hint=_nearest_column(missing[2], text))
    if missing is not None and missing[1] == "table":
        return _no_view(missing[2])
    if prohibited is not None:
        return _no_view(prohibited[1])
    if "authorized to use function" in said or missing is not None:
        return UsageError(said, subject="sql", hint="snapfs-sql(7) lists the functions")
    if said == "not authorized" or "modify" in said or "VACUUM" in said:
        return UsageError(
            "sql reads the views and does nothing else", subject="sql", hint=VIEWS_LISTED
        )
    if isinstance(error, sqlite3.ProgrammingError | sqlite3.Warning):
        what = "has no values for ? and :NAME" if "binding" in said else "takes one SELECT"
        return UsageError(f"sql {what}", subject="sql", hint=VIEWS_LISTED)
    is_syntax = said.startswith(("near ", "incomplete", "unrecognized", "ambiguous"))
    return UsageError(said, subject="sql", hint=VIEWS_LISTED if is_syntax else "")


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
    return VIEWS_LISTED
