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
from snapfs.tree.state import Inodes, Paths, StagedState, held, within

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
        if problem.what != CHANGED and any(
            _concerned(path, options.paths)
            and _chosen(chosen, path, os.path.join(live, path))
            and _at_stake(repository, root.id, snapshot, path, delete=options.delete)
            for path in _names_of(repository, root.id, problem.path)
        ):
            name = quote(problem.path or b".")
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
    if root is None or root.inode_id is None:
        return True
    entry = above = view.lookup(repository.catalog, root.inode_id, path, snapshot.id)
    nearest = entry
    while True:
        if above is not None and above.state == State.UNREAD:
            return False  # what the snapshot has not read either is left alone, with all in it
        nearest = nearest or above
        if not path:
            break
        path = path.rpartition(b"/")[0]
        above = view.lookup(repository.catalog, root.inode_id, path, snapshot.id)
    return entry is not None or delete or nearest is None or nearest.kind != Kind.DIR


def _names_of(repository: Repository, root_id: int, path: bytes) -> list[bytes]:
    """All names that the live file at a path has in the root, as the stage has them."""
    row = rows.root(repository.catalog, root_id)
    if row is None or row.inode_id is None:
        return [path]
    state = StagedState(repository.catalog)
    inode = Inodes(state, row.inode_id).at(path)
    entry = None if inode is None else state.entry(inode)
    if inode is None or entry is None or entry.kind == Kind.DIR:
        return [path]
    return [found for _, found in Paths(state, row.inode_id).of_inode(inode)] or [path]


def _concerned(path: bytes, tops: tuple[bytes, ...]) -> bool:
    if not tops:
        return True
    return any(within(path, top) or top.startswith(path + b"/") for top in tops)
