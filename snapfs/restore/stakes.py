"""What a restore in place puts at stake: the safety snapshot has to hold that, or nothing is restored."""

from __future__ import annotations

import os

from snapfs.catalog import view
from snapfs.catalog.database import Catalog
from snapfs.errors import SnapfsError
from snapfs.inplace.safety import CHANGED
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind, State
from snapfs.model.path import within
from snapfs.model.quote import quote
from snapfs.model.snapshot import Snapshot
from snapfs.progress import Problem, with_reason
from snapfs.restore.options import RestoreOptions
from snapfs.restore.selection import Filter
from snapfs.tree.state import Inodes, Paths, StagedState


class Stakes:
    """What of the live directory a restore may overwrite or delete, asked once that is staged."""

    def __init__(
        self, catalog: Catalog, top: int, snapshot: Snapshot, options: RestoreOptions, live: bytes
    ) -> None:
        """``top`` is the root's inode, ``live`` the path of its directory."""
        self._catalog = catalog
        self._top = top
        self._snapshot = snapshot
        self._options = options
        self._live = live
        self._patterns = Filter(options.include, options.exclude)
        self._staged = StagedState(catalog)
        self._inodes = Inodes(self._staged, top)
        self._paths = Paths(self._staged, top)

    def refuse(self, problem: Problem) -> None:
        """Raises SnapfsError if the problem is with something at stake: its safety snapshot would lack it."""
        if problem.what != CHANGED and self.has(problem.path):
            name = quote(problem.path or b".")
            why = with_reason(problem.what, problem.errno)
            raise SnapfsError(
                f"the safety snapshot would not be complete ({name}: {why}), so nothing was restored",
                subject=name,
                hint="mend that, or give --no-safety",
            )

    def has(self, path: bytes) -> bool:
        """Whether the live entry at a path, or anything below it, is one of them, by whatever name."""
        return any(
            _concerned(name, self._options.paths) and self._chosen(name) and self._at_stake(name)
            for name in self._names_of(path)
        )

    def _names_of(self, path: bytes) -> list[bytes]:
        """All names that the file at a path has in the root."""
        inode = self._inodes.at(path)
        entry = None if inode is None else self._staged.entry(inode)
        if inode is None or entry is None or entry.kind == Kind.DIR:
            return [path]
        return [found for _, found in self._paths.of_inode(inode)] or [path]

    def _chosen(self, path: bytes) -> bool:
        """Whether the patterns of the restore let it touch a path, or anything below it."""
        if self._patterns.empty:
            return True
        live = os.path.join(self._live, path)
        is_dir = os.path.isdir(live) and not os.path.islink(live)
        return not self._patterns.excluded(path, is_dir) and (
            is_dir or self._patterns.included(path, is_dir)
        )

    def _at_stake(self, path: bytes) -> bool:
        """Whether what the snapshot has at a path, or has not, would change the live entry."""
        entry = above = self._then(path)
        nearest = entry
        while True:
            if above is not None and above.state == State.UNREAD:
                return False  # what the snapshot has not read either is left alone, with all in it
            nearest = nearest or above
            if not path:
                break
            path = path.rpartition(b"/")[0]
            above = self._then(path)
        return (
            entry is not None or self._options.delete or nearest is None or nearest.kind != Kind.DIR
        )

    def _then(self, path: bytes) -> Entry | None:
        return view.lookup(self._catalog, self._top, path, self._snapshot.id)


def _concerned(path: bytes, tops: tuple[bytes, ...]) -> bool:
    if not tops:
        return True
    return any(within(path, top) or top.startswith(path + b"/") for top in tops)
