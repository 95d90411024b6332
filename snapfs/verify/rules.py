"""The catalog held against its own rules (``snapfs-repository.5``, CATALOG).

Every rule is one statement that selects what breaks it; the words are here. A damaged page makes a
statement fail, which is a finding itself, and the other rules are tried all the same.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from snapfs.catalog import compiled as sql
from snapfs.catalog.commit import given_again
from snapfs.catalog.database import Catalog
from snapfs.catalog.rows import roots, snapshot_rows
from snapfs.errors import DamageError, SnapfsError
from snapfs.fs.rules import Rules
from snapfs.model.kinds import Kind
from snapfs.model.quote import printable
from snapfs.model.units import format_count
from snapfs.verify.report import CATALOG, Report

MOST_PER_RULE = 20
"""Rows of one broken rule that are told one by one."""

Row = tuple[Any, ...]


class Rule(NamedTuple):
    """A statement, what a row of it means, and which inodes the row is about."""

    statement: str
    says: Callable[[Row], str]
    inodes: Callable[[Row], tuple[int, ...]] = lambda _: ()


RULES: tuple[Rule, ...] = (
    Rule(
        sql.RULE_DIRENT,
        lambda row: f"entry {row[1]!r} of directory {row[0]} names no inode of its root",
        lambda row: (row[0],),
    ),
    Rule(sql.RULE_NAMELESS, lambda row: f"inode {row[0]} has no name"),
    Rule(
        sql.RULE_DIRECTORY_NAMES,
        lambda row: f"directory {row[0]} has more than one name",
        lambda row: (row[0],),
    ),
    Rule(sql.RULE_UNREACHED, lambda row: f"directory {row[0]} is reached from no root"),
    Rule(
        sql.RULE_INODE,
        lambda row: f"the values of inode {row[0]} do not fit together",
        lambda row: (row[0],),
    ),
    Rule(
        sql.RULE_INODE_DIFF,
        lambda row: f"the values that inode {row[0]} had in snapshot {row[1]} do not fit together",
        lambda row: (row[0],),
    ),
    Rule(
        sql.RULE_DIRENT_DIFF,
        lambda row: (
            f"entry {row[1]!r} that directory {row[0]} had in snapshot {row[2]} names no inode"
        ),
        lambda row: (row[0],),
    ),
    Rule(sql.RULE_ROOT, lambda row: f"root {row[0]} does not know its newest snapshot"),
    Rule(sql.RULE_SNAPSHOT, lambda row: f"snapshot {row[0]} has no root or no digest"),
    Rule(sql.RULE_SNAPSHOT_PARTS, lambda row: f"{row[0]} of {row[1]}, which is not there"),
    Rule(sql.RULE_SEGMENT, lambda row: f"segment {row[0]} lies in no pack"),
    Rule(
        sql.RULE_CONTENT_BLOCK, lambda row: f"blocks of content {row[0]}, which is not there"
    ),
    Rule(sql.RULE_ATTR, lambda row: f"attributes {row[0]} name extended ones that are not there"),
)  # fmt: skip


@contextmanager
def attempt(catalog: Catalog, report: Report) -> Iterator[None]:
    """A read transaction in which a database that cannot be read is a finding, no failure."""
    try:
        with catalog.read():
            yield
    except SnapfsError as error:
        report.add(CATALOG, error.message)
    except (TypeError, ValueError, OverflowError, struct.error):
        report.add(CATALOG, "a value is of the wrong kind")


def check_rules(catalog: Catalog, report: Report) -> None:
    """Check SQLite's structure, then every rule."""
    with attempt(catalog, report):
        for text in catalog.quick_check():
            report.add(CATALOG, text)
    for rule in RULES:
        for row in _broken(catalog, report, rule.statement):
            report.add(CATALOG, rule.says(row))
            report.touched.inodes += rule.inodes(row)
    for row in _broken(catalog, report, sql.RULE_BLOCK):
        report.add(CATALOG, f"block {row[0]} lies in no segment")
        report.touched.blocks.append(row[0])
    with attempt(catalog, report):
        for text in given_again(catalog):
            report.add(CATALOG, text)
    with attempt(catalog, report):
        _check_counts(catalog, report)
    with attempt(catalog, report):
        _check_snapshots(catalog, report)


def _broken(catalog: Catalog, report: Report, statement: str) -> list[Row]:
    """Rows that break a rule; of very many only some, which is told."""
    rows: list[Row] = []
    with attempt(catalog, report):
        rows = catalog.execute(statement, {"most": MOST_PER_RULE + 1}).fetchall()
    if len(rows) > MOST_PER_RULE:
        report.note(f"only {MOST_PER_RULE} of one kind of damage are told")
    return rows[:MOST_PER_RULE]


def _check_snapshots(catalog: Catalog, report: Report) -> None:
    """What people read and type, and the rules that a snapshot was taken with."""
    for root in roots(catalog):
        if printable(root.root.label) != root.root.label:
            report.add(CATALOG, f"root {root.root.id} has the label {printable(root.root.label)}")
        for snapshot in snapshot_rows(catalog, root.root.id):
            called = f"snapshot {snapshot.id} ({printable(snapshot.name)})"
            if printable(snapshot.name) != snapshot.name:
                report.add(CATALOG, f"{called} has a name that no snapshot can have")
            try:
                Rules.from_text(snapshot.rules)
            except DamageError:
                report.add(CATALOG, f"{called} has lost the rules that it was taken with")


def _check_counts(catalog: Catalog, report: Report) -> None:
    """The newest snapshot of each root must say as many entries and bytes as there are."""
    sizes = dict(catalog.execute(sql.VERIFY_BYTES).fetchall())
    entries: dict[int, dict[int, int]] = {}
    for root_id, kind, count in catalog.execute(sql.VERIFY_COUNTS):
        entries.setdefault(root_id, {})[kind] = count
    for row in roots(catalog):
        chain = snapshot_rows(catalog, row.root.id)
        if not chain:
            continue
        kinds = entries.get(row.root.id, {})
        files, dirs = kinds.get(Kind.FILE, 0), kinds.get(Kind.DIR, 0)
        there = (files, dirs + 1, sum(kinds.values()) - files - dirs, sizes.get(row.root.id, 0))
        head = chain[-1]
        said = (head.files, head.dirs, head.others, head.logical_bytes)
        if there != said:
            report.add(
                CATALOG,
                f"snapshot {head.name} of {row.root.label} says {_counted(said)} "
                f"and has {_counted(there)}",
            )


def _counted(counts: tuple[int, int, int, int]) -> str:
    files, dirs, others, size = counts
    return (
        f"{format_count(files, 'file')}, {format_count(dirs, 'directory', 'directories')}, "
        f"{format_count(others, 'other')}, {format_count(size, 'byte')}"
    )
