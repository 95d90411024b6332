"""What changed between two snapshots of one root: only the diff rows between them are looked at."""

from __future__ import annotations

from collections.abc import Iterator

from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.catalog.rows import RootRow
from snapfs.catalog.spill import Spill
from snapfs.tree.changes import Change, Differ, Key
from snapfs.tree.state import StoredState


class Between:
    """The changes from one snapshot to another, whichever came first; read in one transaction."""

    def __init__(self, catalog: Catalog, root: RootRow, spill: Spill, a: int, b: int) -> None:
        """``a`` and ``b`` are ids of snapshots of the root; ``spill`` is closed by the caller."""
        assert root.inode_id is not None
        older, newer = sorted((a, b))
        self._inverted = older != a
        at = None if newer == root.head_id else newer
        old, new = StoredState(catalog, older), StoredState(catalog, at)
        self._differ = Differ(old, new, root.inode_id, spill)
        if older == newer:
            return
        params = {"root": root.root.id, "from": older, "until": newer}
        names: Iterator[Key] = catalog.execute(sql.CHANGED_NAMES, params)
        inodes = (found[0] for found in catalog.execute(sql.CHANGED_INODES, params))
        self._differ.run(names, inodes)

    def changes(self) -> Iterator[Change]:
        """From ``a`` to ``b``, in byte order of the paths; the transaction may be over by now."""
        return self._differ.inverted() if self._inverted else self._differ.changes()
