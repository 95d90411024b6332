"""The safety snapshot: what is about to be overwritten or deleted is captured first.

It is taken with the rules of the snapshot that is restored, whatever rules stand now: what these leave
out is not deleted. What the snapshot has is captured even where they would leave it out today (a file
that has grown too large, a directory that got a marker), for it will be overwritten.
"""

from __future__ import annotations

import os

from snapfs.capture.take import TakeOptions, take
from snapfs.catalog import rows, view
from snapfs.catalog.rows import RootRow
from snapfs.errors import NotFoundError, SnapfsError
from snapfs.fs.rules import Rules
from snapfs.model.kinds import Kind, State
from snapfs.model.snapshot import Root, Snapshot
from snapfs.progress import Progress, with_reason
from snapfs.repository.opened import Repository
from snapfs.restore.options import RestoreOptions
from snapfs.tree.state import within

TAG = "safety"
CHANGED = "changed while read"


def take_safety(
    repository: Repository,
    root: Root,
    snapshot: Snapshot,
    options: RestoreOptions,
    *,
    progress: Progress,
) -> Snapshot:
    """Take it. Raises SnapfsError if something that is to be restored over could not be read."""
    kept = rows.snapshot_row(repository.catalog, snapshot.id)
    if kept is None or root.path is None:
        raise NotFoundError(f"snapshot {snapshot.name} is gone", subject=snapshot.name)
    row = rows.root(repository.catalog, root.id)
    assert row is not None

    def held(path: bytes) -> bool:
        inode = row.inode_id
        return inode is not None and (
            view.lookup(repository.catalog, inode, path, snapshot.id) is not None
        )

    fd = os.open(root.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        taken = take(
            repository,
            root,
            fd,
            Rules.from_text(kept.rules),
            TakeOptions(message=f"before restore of {snapshot.name}", tags=(TAG,), spare=held),
            progress=progress,
        )
    finally:
        os.close(fd)
    made = taken.snapshot
    assert made is not None
    for problem in rows.problems(repository.catalog, made.id):
        if (
            problem.what != CHANGED
            and _concerned(problem.path, options.paths)
            and _at_stake(repository, row, snapshot, problem.path, delete=options.delete)
        ):
            name = os.fsdecode(problem.path)
            why = with_reason(problem.what, problem.errno)
            raise SnapfsError(
                f"the safety snapshot {made.name} is not complete ({name}: {why}), so "
                "nothing was restored",
                subject=name,
                hint="mend that, or give --no-safety",
            )
    return made


def _at_stake(
    repository: Repository, root: RootRow, snapshot: Snapshot, path: bytes, *, delete: bool
) -> bool:
    """Whether the restore may overwrite or delete anything at or below a path."""
    at = None if root.head_id == snapshot.id else snapshot.id
    while root.inode_id is not None:
        entry = view.lookup(repository.catalog, root.inode_id, path, at)
        if entry is not None:
            # What the snapshot has not read either is neither written nor cleared.
            return entry.state != State.UNREAD
        if delete or not path:
            return True
        path = path.rpartition(b"/")[0]
        above = view.lookup(repository.catalog, root.inode_id, path, at)
        if above is not None:
            return above.kind != Kind.DIR
    return True


def _concerned(path: bytes, tops: tuple[bytes, ...]) -> bool:
    if not tops:
        return True
    return any(within(path, top) or top.startswith(path + b"/") for top in tops)
