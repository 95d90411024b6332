"""Whether what a restore in place is about to replace or delete is in the safety snapshot as it is now."""

from __future__ import annotations

import os
import stat

from snapfs.catalog import rows
from snapfs.catalog.database import Catalog
from snapfs.model.kinds import KIND_OF_FORMAT
from snapfs.tree.state import Inodes, StoredState

SECOND = 1_000_000_000


class Saved:
    """Compares live entries with a snapshot that was just taken of them.

    What came or changed between the walk of that snapshot and now is in none. Inode numbers are not
    compared, since some filesystems give new ones, nor is the ctime of a file with several names from the
    second of them on, since the restore itself moves it when it replaces the first. A directory is asked for
    before anything in it is touched.
    """

    def __init__(self, catalog: Catalog, root_id: int, safety_id: int) -> None:
        row = rows.root(catalog, root_id)
        assert row is not None
        assert row.inode_id is not None
        self._state = StoredState(catalog, safety_id)
        self._inodes = Inodes(self._state, row.inode_id)
        self._asked: set[tuple[int, int]] = set()
        """files with several names of which one has been asked for"""
        self._torn = {problem.path for problem in rows.problems(catalog, safety_id)}
        """what changed while it was read: which state was captured is not known"""

    def __call__(self, path: bytes, live: os.stat_result) -> bool:
        """Whether the entry at a path from the root is as it was captured."""
        if path in self._torn:
            return False
        inode = self._inodes.at(path)
        entry = None if inode is None else self._state.entry(inode)
        if entry is None or entry.kind != KIND_OF_FORMAT.get(stat.S_IFMT(live.st_mode)):
            return False
        if (entry.mtime_s, entry.mtime_nsec) != divmod(live.st_mtime_ns, SECOND):
            return False
        if stat.S_ISREG(live.st_mode) and entry.size != live.st_size:
            return False
        if (entry.ctime_s, entry.ctime_nsec) != divmod(live.st_ctime_ns, SECOND):
            return (live.st_dev, live.st_ino) in self._asked
        if live.st_nlink > 1 and not stat.S_ISDIR(live.st_mode):
            self._asked.add((live.st_dev, live.st_ino))
        return True
