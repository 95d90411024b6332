"""Tree digests of the directories that a stage touches, children before parents.

In a first snapshot they are made while files are still read: a directory is due as soon as all its
children are. What a walk that goes ahead of the reading leaves behind is done at the end.
"""

from __future__ import annotations

from collections import deque

from snapfs.blocks.treedigest import TreeHasher, lost_digest, tree_digest
from snapfs.catalog.stage import DirRow, Stage
from snapfs.catalog.staged_children import TreeRow
from snapfs.errors import DamageError
from snapfs.model.quote import quote
from snapfs.tree.state import Paths, StoredState

_BATCH = 4096
_MOST_WAITING = 64 * 1024
"""Directories remembered while they wait; beyond, all are looked up at the end."""


class TreeDigests:
    """Computes and stores them."""

    def __init__(self, stage: Stage, root_inode: int | None) -> None:
        """``root_inode`` is the root's in the head, None before its first snapshot."""
        self._stage = stage
        self._root_inode = root_inode
        self._waiting: deque[DirRow] = deque()
        self._following = stage.first
        self._done = 0
        self._made: dict[int, bytes] = {}
        self._rows: list[tuple[bytes, int | None, int]] = []

    def add(self, directory: DirRow) -> None:
        """A directory that the walk has left; its subdirectories came before."""
        if self._following:
            self._waiting.append(directory)
            if len(self._waiting) > _MOST_WAITING:
                self._following = False
                self._waiting.clear()

    def advance(self, seq: int) -> None:
        """All rows up to ``seq`` are staged, and read where they are files."""
        waiting = self._waiting
        while waiting and (waiting[0].high or 0) <= seq:
            self._digest(waiting.popleft())
        self._flush()

    def finish(self) -> None:
        """Do what is left; everything is staged and read.

        A directory with a child that may have changed unseen gets no fingerprint.
        """
        for directory in self._stage.directories(after=self._done):
            self._digest(directory)
        self._flush()

    def _digest(self, directory: DirRow) -> None:
        if self._stage.first:
            digest = tree_digest(self._stage.children(directory, self._made))
        else:
            with self._stage.catalog.read():
                digest = self._of_changed(directory)
        self._done = directory.post
        self._made[directory.seq] = digest
        self._rows.append((digest, directory.fingerprint, directory.seq))
        if len(self._rows) >= _BATCH:
            self._flush()

    def _of_changed(self, directory: DirRow) -> bytes:
        """The digest, after what the head has was held against its own. Raises DamageError."""
        stored = self._stage.head_digest(directory)
        if stored is None:
            return tree_digest(self._stage.children(directory, self._made))
        old = _Known()
        digest = tree_digest(self._stage.children(directory, self._made, old.see))
        if not old.lost and old.digest() != stored:
            raise self._damage(directory)
        return digest

    def _flush(self) -> None:
        if self._rows:
            self._stage.put_tree_digests(self._rows)
        self._rows = []
        self._made.clear()

    def _damage(self, directory: DirRow) -> DamageError:
        """What the new snapshot would take over from the head is not what was captured."""
        catalog = self._stage.catalog
        paths = Paths(StoredState(catalog, None), self._root_inode or 0)
        path = quote(paths.of_directory(directory.inode) or b".")
        return DamageError(
            f"{catalog.name} is damaged: {path} is not as it was captured",
            subject=catalog.name,
            hint="run snapfs rebuild-catalog",
        )


class _Known(TreeHasher):
    """Children of a directory as the head has them."""

    lost = False
    """whether a block of one was lost, so that its digest is not known any more"""

    def see(self, rows: list[TreeRow]) -> None:
        self.add(rows)
        self.lost = self.lost or any(map(lost_digest, rows))
