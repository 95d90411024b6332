"""The safety snapshot: what is about to be overwritten or deleted is captured first.

It is taken with the rules of the snapshot that is restored, whatever rules stand now: what these leave
out is not deleted. What the snapshot has is captured even where they would leave it out today (a file
that has grown too large, a directory that got a marker), for it will be overwritten.
"""

from __future__ import annotations

import os

from snapfs.capture.take import TakeOptions, take
from snapfs.catalog import rows, view
from snapfs.errors import NotFoundError, SnapfsError
from snapfs.fs.rules import Rules
from snapfs.model.kinds import Kind, State
from snapfs.model.quote import quote
from snapfs.model.snapshot import Root, Snapshot
from snapfs.progress import Problem, Progress, with_reason
from snapfs.repository.opened import Repository
from snapfs.restore.options import RestoreOptions
from snapfs.restore.selection import Filter
from snapfs.tree.state import held, within

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
    """Take it. Raises SnapfsError if something that is to be restored over could not be read: then
    there is none.
    """
    kept = rows.snapshot_row(repository.catalog, snapshot.id)
    if kept is None or root.path is None:
        raise NotFoundError(f"snapshot {snapshot.name} is gone", subject=snapshot.name)
    live = root.path
    chosen = Filter(options.include, options.exclude)

    def refuse(problem: Problem) -> None:
        path = problem.path
        if (
            problem.what != CHANGED
            and _concerned(path, options.paths)
            and _chosen(chosen, path, os.path.join(live, path))
            and _at_stake(repository, root.id, snapshot, path, delete=options.delete)
        ):
            name = quote(path or b".")
            why = with_reason(problem.what, problem.errno)
            raise SnapfsError(
                f"the safety snapshot would not be complete ({name}: {why}), so nothing was restored",
                subject=name,
                hint="mend that, or give --no-safety",
            )

    fd = os.open(live, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        taken = take(
            repository,
            root,
            fd,
            Rules.from_text(kept.rules),
            TakeOptions(
                message=f"before restore of {snapshot.name}",
                tags=(TAG,),
                spare=held(repository.catalog, root.id, snapshot.id),
                refuse=refuse,
            ),
            progress=progress,
        )
    finally:
        os.close(fd)
    assert taken.snapshot is not None
    return taken.snapshot


def _chosen(chosen: Filter, path: bytes, live: bytes) -> bool:
    """Whether the patterns of the restore let it touch a path, or anything below it."""
    if chosen.empty:
        return True
    is_dir = os.path.isdir(live) and not os.path.islink(live)
    return not chosen.excluded(path, is_dir) and (is_dir or chosen.included(path, is_dir))


def _at_stake(
    repository: Repository, root_id: int, snapshot: Snapshot, path: bytes, *, delete: bool
) -> bool:
    """Whether the restore may overwrite or delete anything at or below a path."""
    root = rows.root(repository.catalog, root_id)
    while root is not None and root.inode_id is not None:
        entry = view.lookup(repository.catalog, root.inode_id, path, snapshot.id)
        if entry is not None:
            # What the snapshot has not read either is neither written nor cleared.
            return entry.state != State.UNREAD
        if delete or not path:
            return True
        path = path.rpartition(b"/")[0]
        above = view.lookup(repository.catalog, root.inode_id, path, snapshot.id)
        if above is not None:
            return above.kind != Kind.DIR
    return True


def _concerned(path: bytes, tops: tuple[bytes, ...]) -> bool:
    if not tops:
        return True
    return any(within(path, top) or top.startswith(path + b"/") for top in tops)
