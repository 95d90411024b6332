"""Taking paths out of a catalog as a journal record tells of it: by numbers, without a name.

The operation and the replay of its record run the same code here. A record holds which names are meant
as the directory, the inode and which of its names there, and texts as they are to be; so neither the
journal nor what is made of it holds what was taken out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from snapfs.catalog import compiled as sql
from snapfs.catalog import view
from snapfs.catalog.cut import Key, cut, sweep
from snapfs.catalog.database import Catalog
from snapfs.catalog.rows import root
from snapfs.catalog.spans import Span
from snapfs.errors import DamageError
from snapfs.repository.redigest import redigest

UNFINISHED = "purge"
"""A key of ``meta``, which is there as long as files of the repository may hold what was taken out."""
RUN_TYPES = "qss"
TEXT_TYPES = "qss"
PROBLEM_TYPES = "qq"


class Target(NamedTuple):
    """A name in a span of snapshots, as ids: the ``nth``, by name, that an inode had in a directory."""

    parent: int
    inode: int
    nth: int
    low: int
    high: int


class Texts(NamedTuple):
    """Texts that had a name in them, as they are without it, and problems that go."""

    runs: Sequence[tuple[int, str, str]]
    """run, command line, summary"""
    snapshots: Sequence[tuple[int, str, str]]
    """snapshot, message, rules"""
    problems: Sequence[tuple[int, int]]
    """snapshot, number of the problem"""


def is_unfinished(catalog: Catalog) -> bool:
    """Whether a purge was killed, or hindered, before it had removed all."""
    return bool(catalog.meta(UNFINISHED))


def target(catalog: Catalog, root_id: int, key: Key, inode: int) -> Target:
    """How a record tells of a name that meant an inode."""
    names = _names(catalog, root_id, key.parent, inode, key.span.high)
    return Target(key.parent, inode, names.index(key.name), *key.span)


def take_out(catalog: Catalog, root_id: int, targets: Sequence[Target]) -> None:
    """Take names out of all snapshots, and with them what nothing else has (inside a write).

    Blocks are left for `fold.collect`; until that is done ``orphan`` has what was in use.
    """
    catalog.set_meta(UNFINISHED, "1")
    if targets:
        keys = [
            Key(
                one.parent,
                _names(catalog, root_id, one.parent, one.inode, one.high)[one.nth],
                Span(one.low, one.high),
            )
            for one in targets
        ]
        cut(catalog, root_id, keys)
        redigest(catalog, sorted({one.parent for one in targets}))
    sweep(catalog)


def _names(catalog: Catalog, root_id: int, parent: int, inode: int, at: int) -> list[bytes]:
    """The names that an inode had in a directory, sorted."""
    found = root(catalog, root_id)
    if found is None:
        raise DamageError(f"{catalog.name} has no root {root_id}")
    named = view.names(catalog, inode, None if at == found.head_id else at)
    return sorted(one.name for one in named if one.parent == parent)


def put_runs(catalog: Catalog, runs: Iterable[tuple[int, str, str]]) -> None:
    """Give runs other texts."""
    catalog.executemany(
        sql.CUT_RUN,
        [
            {"run": id_, "new_command": command, "new_summary": summary}
            for id_, command, summary in runs
        ],
    )


def put_texts(catalog: Catalog, snapshots: Iterable[tuple[int, str, str]]) -> None:
    """Give snapshots other messages and rules."""
    catalog.executemany(
        sql.CUT_TEXT,
        [
            {"snapshot": id_, "new_message": message, "new_rules": rules}
            for id_, message, rules in snapshots
        ],
    )


def drop_problems(catalog: Catalog, problems: Iterable[tuple[int, int]]) -> None:
    """Forget problems; a snapshot that has none left of those that count is complete."""
    listed = list(problems)
    gone = [{"snapshot": snapshot, "seq": seq} for snapshot, seq in listed]
    catalog.executemany(sql.CUT_PROBLEM, gone)
    touched = sorted({snapshot for snapshot, _ in listed})
    catalog.executemany(sql.CUT_COMPLETE, [{"snapshot": snapshot} for snapshot in touched])
