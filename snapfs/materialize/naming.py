"""Giving finished entries their names: over what the run has looked at, and over nothing else."""

from __future__ import annotations

import os

from snapfs.fs.syscalls import rename_to_free_name
from snapfs.materialize.attributes import unlocked

TAKEN = "another name stands for the same file here, or it came while the restore ran: left alone"
CHANGED = "changed while the restore ran: left alone"

Seen = tuple[int, int, int, int]
"""Mode, size, and mtime and ctime in nanoseconds of what is to be replaced. The ctime of a file with several
names is -1: it moves when the restore replaces another of them."""


class ChangedError(OSError):
    """What has the name is no longer what the run looked at."""

    def __init__(self) -> None:
        super().__init__(0, CHANGED)


def seen(live: os.stat_result) -> Seen:
    """What is remembered of a live entry until it is replaced."""
    ctime_ns = -1 if live.st_nlink > 1 else live.st_ctime_ns
    return live.st_mode, live.st_size, live.st_mtime_ns, ctime_ns


def give_name(
    working_name: bytes, name: bytes, dir_fd: int, *, replaces: bool, before: Seen | None = None
) -> None:
    """Give a finished entry its name: in place of what has it, even if that is immutable.

    What was not there when the run looked is not replaced (FileExistsError), nor what has changed since
    ``before`` (`ChangedError`).
    """
    if replaces and before is not None:
        replaces = _is_as_before(name, dir_fd, before)
    if not replaces:
        rename_to_free_name(working_name, name, dir_fd)
        return
    try:
        os.rename(working_name, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    except PermissionError:
        with unlocked(name, dir_fd):
            os.rename(working_name, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)


def _is_as_before(name: bytes, dir_fd: int, before: Seen) -> bool:
    """False if nothing has the name any more."""
    try:
        live = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    now = live.st_mode, live.st_size, live.st_mtime_ns
    if now != before[:3] or before[3] not in (-1, live.st_ctime_ns):
        raise ChangedError
    return True
