"""Tree digests of the directories that a stage touches, children before parents.

In a first snapshot most are made where the files are read (`capture.surveyor`).
"""

from __future__ import annotations

from itertools import islice

from snapfs.blocks.treedigest import TreeHasher, encoded, lost_digest, tree_digest
from snapfs.catalog.stage import Stage
from snapfs.catalog.staged_children import TreeRow, beside, pieces
from snapfs.catalog.stagerows import DirRow
from snapfs.errors import DamageError
from snapfs.model.quote import quote
from snapfs.tree.state import Paths, StoredState

_BATCH = 4096


class TreeDigests:
    """Computes and stores them."""

    def __init__(self, stage: Stage, root_inode: int | None) -> None:
        """``root_inode`` is the root's in the head, None before its first snapshot."""
        self._stage = stage
        self._root_inode = root_inode
        self._made: dict[int, bytes] = {}
        self._rows: list[tuple[bytes, int | None, int]] = []

    def finish(self) -> None:
        """Do what is left; everything is staged and read.

        A directory with a child that may have changed unseen gets no fingerprint. Raises DamageError.
        """
        rest = iter(self._stage.directories())
        while some := list(islice(rest, _BATCH)):
            with self._stage.catalog.read():
                for directory in some:
                    self._digest(directory)
            self._flush()

    def _digest(self, directory: DirRow) -> None:
        if self._stage.first:
            digest = tree_digest(self._stage.children(directory, self._made))
        else:
            digest = self._of_changed(directory)
        self._made[directory.seq] = digest
        self._rows.append((digest, directory.fingerprint, directory.seq))

    def _of_changed(self, directory: DirRow) -> bytes:
        """The digest, after what the head has was held against its own."""
        old, new = _Known(directory.known), TreeHasher()
        stage = self._stage
        if directory.known is not None and stage.has_links:
            for rows in pieces(stage.head_children(directory)):
                old.see(rows, encoded(rows))
        for rows, staged in beside(*stage.changed_children(directory, self._made)):
            parts = encoded(rows)
            if not stage.has_links:
                old.see(rows, parts)
            new.add(_replaced(rows, parts, staged) if staged else parts)
        if not old.sound:
            raise self._damage(directory)
        return new.digest()

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


class _Known:
    """What the head has in a directory, against the digest that it has of it (None: of nothing)."""

    def __init__(self, digest: bytes | None) -> None:
        self._digest = digest
        self._hasher = TreeHasher()
        self._lost = digest is None

    def see(self, rows: list[TreeRow], parts: list[bytes]) -> None:
        """The next children, and the same as they are hashed."""
        self._hasher.add(parts)
        # The digest of a file that lost a block is not known any more.
        self._lost = self._lost or any(map(lost_digest, rows))

    @property
    def sound(self) -> bool:
        """Whether they are what was captured, as far as can be told."""
        return self._lost or self._hasher.digest() == self._digest


def _replaced(rows: list[TreeRow], parts: list[bytes], staged: list[TreeRow]) -> list[bytes]:
    """``parts`` of ``rows`` with what is staged in place of the same names, by name."""
    by_name = {row[0]: part for row, part in zip(rows, parts, strict=True)}
    for row in staged:
        by_name.pop(row[0], None)
    there = [row for row in staged if row[1] is not None]
    by_name.update(zip([row[0] for row in there], encoded(there), strict=True))
    return [by_name[name] for name in sorted(by_name)]
