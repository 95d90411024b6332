"""Directories of the head, looked up by name while a walk goes down."""

from __future__ import annotations

from snapfs.capture.seen import OK
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog

PRELOADED_DIRECTORIES = 100_000
"""Up to here the directories of the head are read in one query, about 25 MB; else one by one."""

DirectoryRow = tuple[int, int | None, int]
"""Inode, fingerprint and state."""


class HeadDirectories:
    """All directories of one root's head."""

    def __init__(self, catalog: Catalog, root_inode: int | None) -> None:
        self._catalog = catalog
        self._known: dict[tuple[int, bytes], DirectoryRow] | None = None
        if root_inode is None:
            return
        rows = catalog.execute(
            sql.SCAN_DIRS, {"root_inode": root_inode, "most": PRELOADED_DIRECTORIES + 1}
        ).fetchall()
        if len(rows) <= PRELOADED_DIRECTORIES:
            self._known = {(row[0], row[1]): row[2:] for row in rows}

    def sound(self) -> dict[tuple[int, bytes], tuple[int, int]] | None:
        """Inode and fingerprint of all whose state and fingerprint vouch for them, None if too many."""
        if self._known is None:
            return None
        return {
            key: (inode, fingerprint)
            for key, (inode, fingerprint, state) in self._known.items()
            if fingerprint is not None and state == OK
        }

    def row(self, parent: int, name: bytes) -> DirectoryRow | None:
        """One of them by name."""
        if self._known is not None:
            return self._known.get((parent, name))
        found = self._catalog.one(sql.SCAN_DIR, {"parent": parent, "name": name})
        return None if found is None else (found[0], found[1], found[2])
