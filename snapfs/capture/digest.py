"""Tree digests of the directories that a stage touches, children before parents.

In a first snapshot they are made while files are still read: a directory is due as soon as all its
children are. What a walk that goes ahead of the reading leaves behind is done at the end.
"""

from __future__ import annotations

from collections import deque

from snapfs.blocks.treedigest import tree_digest
from snapfs.catalog.stage import DirRow, Stage

_BATCH = 4096
_MOST_WAITING = 64 * 1024
"""Directories remembered while they wait; beyond, all are looked up at the end."""


class TreeDigests:
    """Computes and stores them."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
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
        digest = tree_digest(self._stage.children(directory, self._made))
        self._done = directory.post
        self._made[directory.seq] = digest
        self._rows.append((digest, directory.fingerprint, directory.seq))
        if len(self._rows) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._stage.put_tree_digests(self._rows)
        self._rows = []
        self._made.clear()
