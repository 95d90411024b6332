"""Every directory's digest computed again, and with it every entry's attributes and content digest.

Directories of the newest states are all looked at; of older snapshots those that differ from the
next newer one. Together that is every state that any directory ever had.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from snapfs.blocks.treedigest import lost_digest, tree_digest
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.repository.redigest import root_digest, tree_children
from snapfs.verify.report import CATALOG, Report
from snapfs.verify.rules import attempt

Row = tuple[Any, ...]

_NEVER_NAMES = (b"", b".", b"..")


def check_trees(catalog: Catalog, report: Report) -> None:
    """Compare stored and computed digests of directories and of whole snapshots."""
    with attempt(catalog, report):
        for inode, stored in catalog.execute(sql.VERIFY_DIRECTORIES):
            _check_directory(catalog, report, inode, stored, None)
    with attempt(catalog, report):
        for inode, stored, at in catalog.execute(sql.VERIFY_OLD_DIRECTORIES):
            _check_directory(catalog, report, inode, stored, at)
    with attempt(catalog, report):
        for snapshot, stored, inode in catalog.execute(sql.VERIFY_SNAPSHOTS):
            if root_digest(catalog, inode, snapshot) != stored:
                report.add(CATALOG, f"snapshot {snapshot} does not have the digest of its root")
                report.touched.directories.append((inode, snapshot))


def _check_directory(
    catalog: Catalog, report: Report, inode: int, stored: bytes, at: int | None
) -> None:
    """``at`` is the snapshot whose row of the directory is meant, None the newest state."""
    report.progress.advance(entries=1)
    before = report.problems
    with attempt(catalog, report):
        children = _Children(tree_children(catalog, inode, at))
        computed = tree_digest(children)
        when = "" if at is None else f" in snapshot {at}"
        if children.bad_name is not None:
            report.add(CATALOG, f"directory {inode}{when} has an entry named {children.bad_name!r}")
        # A file whose blocks are lost has no digest: that is told where the blocks are missed.
        elif computed != stored and not children.lost:
            report.add(CATALOG, f"directory {inode}{when} does not have its digest")
    if report.problems > before:
        report.touched.directories.append((inode, at))


class _Children:
    """Children of one directory as they go by."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = rows
        self.lost = False
        self.bad_name: bytes | None = None

    def __iter__(self) -> Iterator[Any]:
        for row in self._rows:
            name = row[0]
            if b"/" in name or b"\0" in name or name in _NEVER_NAMES:
                self.bad_name = name
            self.lost = self.lost or lost_digest(row)
            yield row
