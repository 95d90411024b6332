"""What the head has: its root, and its directories, looked up by name while a walk goes down."""

from __future__ import annotations

from snapfs.capture.seen import OK, Known
from snapfs.catalog import compiled as sql
from snapfs.catalog import view
from snapfs.catalog.database import Catalog
from snapfs.catalog.rows import RootRow
from snapfs.errors import DamageError

PRELOADED_DIRECTORIES = 100_000
"""Up to here the directories of the head are read in one query, about 25 MB; else one by one."""

DirectoryRow = tuple[int, int | None, int]
"""Inode, fingerprint and state."""


class HeadDirectories:
    """All directories of one root's head."""

    def __init__(self, catalog: Catalog, root_inode: int | None) -> None:
        """``root_inode`` None: each is looked up when it is asked for."""
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


def known_root(catalog: Catalog, root: RootRow) -> Known | None:
    """What a scan compares of the root itself, None before its first snapshot. Raises DamageError."""
    if root.inode_id is None:
        return None
    entry = view.inode(catalog, root.inode_id, None)
    if entry is None:
        raise DamageError(
            f"the catalog has lost root {root.root.label}", hint="run snapfs rebuild-catalog"
        )
    return Known(
        entry.name, entry.inode, entry.kind, entry.mode, entry.uid, entry.gid, entry.size,
        entry.mtime_s, entry.mtime_nsec, entry.ctime_s, entry.ctime_nsec, entry.ino, entry.nlink,
        entry.rdev, entry.state, entry.content or None, entry.dev, entry.fingerprint,
        entry.tree_digest,
    )  # fmt: skip
