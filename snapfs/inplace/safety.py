"""The safety snapshot: what is about to be overwritten or deleted is captured first.

It is taken with the rules of a snapshot, whatever rules stand now: what these leave out is not deleted.
What is about to be put back is captured even where they would leave it out today (a file that has grown
too large, a directory that got a marker), for it will be overwritten.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from snapfs.capture.take import TakeOptions, take
from snapfs.catalog.rows import SnapshotRow
from snapfs.fs.rules import Rules
from snapfs.inplace.source import open_live
from snapfs.model.snapshot import Root, Snapshot
from snapfs.progress import Problem, Progress
from snapfs.repository.opened import Repository
from snapfs.tree.state import held, spared

TAG = "safety"
CHANGED = "changed while read"


def spare_held(
    repository: Repository, root: Root, rules: Rules, *kept: SnapshotRow
) -> Callable[[bytes], bool]:
    """Says of a path that it counts although a rule leaves it out: one of the snapshots has it, or a
    restore brought it, of which these are the rules for the way back.
    """
    asked = [held(repository.catalog, root.id, row.id) for row in kept]
    asked.append(spared(repository.catalog, root.id, rules.spared))
    return lambda path: any(has(path) for has in asked)


def take_safety(
    repository: Repository,
    root: Root,
    rules: Rules,
    restored: SnapshotRow,
    *,
    spare: Callable[[bytes], bool],
    message: str,
    refuse: Callable[[Problem], None] | None = None,
    progress: Progress,
) -> Snapshot:
    """Take it with these rules, before something of ``restored`` is put back; ``spare`` as in `spare_held`.

    ``refuse`` is told of each problem and may raise: then there is none. Raises NotFoundError if the
    directory cannot be opened.
    """
    with open_live(root) as fd:
        taken = take(
            repository,
            root,
            fd,
            # What an undo is to take away again: names that are brought now.
            replace(rules, spared=restored.uid.hex()),
            TakeOptions(message=message, tags=(TAG,), spare=spare, refuse=refuse),
            progress=progress,
        )
    assert taken.snapshot is not None
    return taken.snapshot
