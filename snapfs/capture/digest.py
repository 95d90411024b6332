"""Tree digests of the directories that a stage touches, children before parents."""

from __future__ import annotations

from collections.abc import Iterator

from snapfs.blocks.treedigest import tree_digest
from snapfs.catalog.stage import DirRow, Stage, TreeRow
from snapfs.model.kinds import Kind

_BATCH = 4096


def stage_tree_digests(stage: Stage) -> bytes:
    """Compute and store them; the digest of the root, ``b""`` if nothing was staged.

    A directory with a child that may have changed unseen gets no fingerprint.
    """
    pending: dict[int, bytes] = {}
    rows: list[tuple[bytes, int | None, int]] = []
    last = b""
    for directory in stage.directories():
        children = _Children(stage, directory, pending)
        last = tree_digest(children)
        pending[directory.seq] = last
        rows.append((last, directory.fingerprint, directory.seq))
        if len(rows) >= _BATCH:
            stage.put_tree_digests(rows)
            rows = []
    if rows:
        stage.put_tree_digests(rows)
    return last


class _Children:
    """The children of one directory with the digests that are not in the tables yet."""

    def __init__(self, stage: Stage, directory: DirRow, pending: dict[int, bytes]) -> None:
        self._rows = stage.children(directory)
        self._pending = pending

    def __iter__(self) -> Iterator[TreeRow]:
        pending = self._pending
        for row in self._rows:
            if row[1] == Kind.DIR and row[14] in pending:
                yield (*row[:12], pending.pop(row[14]), row[13])
            else:
                yield row[:14]
