"""The order of a run: walk and write, then links, then directories, then the disk."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator

from snapfs import faults
from snapfs.errors import SnapfsError
from snapfs.fs.mounts import mounts_below
from snapfs.fs.syscalls import sync_filesystem
from snapfs.materialize.children import Children
from snapfs.materialize.directories import Directories
from snapfs.materialize.dirtable import DirCache
from snapfs.materialize.dispatch import Dispatcher
from snapfs.materialize.files import Files
from snapfs.materialize.links import Links
from snapfs.materialize.messages import Start
from snapfs.materialize.run import Run
from snapfs.materialize.top import Top, open_target
from snapfs.materialize.walk import Walk
from snapfs.materialize.wanted import MaterializeOptions, MaterializeResult, Source, WantedDir
from snapfs.progress import Progress

_OPEN_DIRS = 128


def materialize(
    target: bytes,
    wanted: Iterable[WantedDir],
    source: Source,
    options: MaterializeOptions,
    *,
    progress: Progress,
) -> MaterializeResult:
    """Make the directory ``target`` hold what is wanted; on return it is on the disk.

    What concerns one entry goes to ``progress.problem`` (path from the target) and the rest goes on.
    Raises SnapfsError if the target cannot be opened or made, StorageFullError if it is full,
    WorkerDiedError if a process was lost. When it raises, also KeyboardInterrupt, no unfinished file is
    left, but directories have not got their attributes; the same call again completes it.
    """
    with _umask() as umask:
        top = open_target(target, umask=umask, dry_run=options.dry_run)
        try:
            return _apply(Run(target, options, progress), top, wanted, source)
        finally:
            if top.fd is not None:
                os.close(top.fd)


def _apply(run: Run, top: Top, wanted: Iterable[WantedDir], source: Source) -> MaterializeResult:
    options = run.options
    top_fd = -1 if top.fd is None else top.fd
    start = Start(top_fd, run.target, source.repository, options.sparse)
    directories = Directories(run)
    dirs = DirCache(top_fd, run.table, _OPEN_DIRS)
    links = Links(run, dirs)
    dispatcher = Dispatcher(start, run.table, dirs, options.workers, run.report)
    files = Files(run, source, dirs, dispatcher, links)
    children = Children(run, source, directories, files, links)
    mounts = set() if top.fd is None or top.made else _mounts_below(top.fd)
    try:
        Walk(run, top, directories, children, mounts).run(wanted)
        if not options.dry_run:
            files.finish()
            links.complete()
            faults.point("restore.files-done")
            children.later.complete(dirs)
            directories.complete(top_fd)
            _tell_limits(run, top_fd)
            _sync(run, top_fd)
            faults.point("restore.synced")
    except BaseException:
        dispatcher.close()
        files.abandon()
        directories.abandon(top_fd)
        raise
    finally:
        dispatcher.close()
        dirs.close()
    return run.result()


def _tell_limits(run: Run, top_fd: int) -> None:
    if run.set_id_files and os.fstatvfs(top_fd).f_flag & os.ST_NOSUID:
        run.progress.note(
            f"the target is mounted nosuid: set-id bits of {run.set_id_files} files have no effect"
        )


def _sync(run: Run, top_fd: int) -> None:
    try:
        sync_filesystem(top_fd)
    except OSError as error:
        run.stop_if_full(error)
        text = os.fsdecode(run.target)
        raise SnapfsError(f"cannot write {text} to disk: {error.strerror}", subject=text) from error


def _mounts_below(top_fd: int) -> set[bytes]:
    """Paths, from the target, of what is mounted inside it."""
    path = os.readlink(b"/proc/self/fd/%d" % top_fd)
    return {mount.point[len(path.rstrip(b"/")) + 1 :] for mount in mounts_below(path)}


@contextlib.contextmanager
def _umask() -> Iterator[int]:
    """Files are made with exactly the mode asked for; what the mask was."""
    before = os.umask(0)
    try:
        yield before
    finally:
        os.umask(before)
