"""Locks held by the kernel (flock): they die with their process, so none is ever stale.

``root-N`` is held by whatever changes the chain of root N, ``restore-N`` by whoever restores root N in
place. ``gc`` is held shared by every writer for its whole run and by whoever decodes blocks, and
exclusively by whoever removes blocks or packs. ``setup`` guards the making of a repository. ``catalog``
is held shared by whoever has the catalog open for writing, and exclusively by whoever puts another file
in its place.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from snapfs.errors import LockedError, RepositoryError

GC = "gc"
SETUP = "setup"
CATALOG_LOCK = "catalog"
_POLL_S = 0.05
GRACE_S = 5.0
"""How long whoever needs blocks waits at least for whoever removes some: no nightly create fails because a
delete is just at work.
"""


def root_lock(root_id: int) -> str:
    """Name of the lock of a root's chain."""
    return f"root-{root_id}"


def restore_lock(root_id: int) -> str:
    """Name of the lock of a root's directory."""
    return f"restore-{root_id}"


class Locks:
    """The locks of one repository."""

    def __init__(self, folder_fd: int, owner: tuple[int, int] | None, *, write: bool) -> None:
        """``folder_fd`` is the repository's folder; new lock files go to ``owner``."""
        self._fd = folder_fd
        self._owner = owner
        self._write = write
        self.describe: Callable[[str], str] = lambda name: f"this repository ({name})"
        """what a lock guards, for people"""

    def _open(self, name: str) -> int:
        if self._write:
            with suppress(FileExistsError):
                os.mkdir("locks", 0o700, dir_fd=self._fd)
        folder = os.open(
            "locks", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._fd
        )
        try:
            flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
            while True:
                with suppress(FileNotFoundError):
                    return os.open(name, flags, dir_fd=folder)
                # Only what was just made is given away: anything else may be anybody's.
                with suppress(FileExistsError):
                    fd = os.open(name, flags | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
                    if self._owner is not None and os.geteuid() == 0:
                        os.fchown(fd, *self._owner)
                    return fd
        finally:
            os.close(folder)

    @contextmanager
    def hold(self, name: str, *, exclusive: bool, wait_s: float | None) -> Iterator[None]:
        """Hold a lock; ``wait_s`` None waits for ever, which nobody gets by forgetting to say it: on behalf of
        a command it is its ``--lock-wait``.

        Raises LockedError if it is not free in time. Where lock files cannot be opened for want of
        permission or on a read-only medium, a shared lock is passed over: nobody removes anything
        from there through this repository's locks.
        """
        try:
            fd = self._open(name)
        except OSError as error:
            if not exclusive and error.errno in (errno.EROFS, errno.EACCES, errno.EPERM,
                                                 errno.ENOSPC, errno.ENOENT):  # fmt: skip
                yield
                return
            raise RepositoryError(
                f"locks/{name} of the repository cannot be opened: {error.strerror}", subject=name
            ) from error
        try:
            kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
            if not _take(fd, kind, wait_s):
                what = self.describe(name)
                raise LockedError(
                    f"another snapfs is at work on {what}",
                    subject=what,
                    hint="wait for it, or give --lock-wait 5min",
                )
            yield
        finally:
            os.close(fd)

    @contextmanager
    def hold_blocks(self, wait_s: float | None) -> Iterator[None]:
        """Hold ``locks/gc`` shared, so that no block goes away; waits for `GRACE_S` at least. Raises LockedError."""
        patience_s = None if wait_s is None else max(wait_s, GRACE_S)
        with self.hold(GC, exclusive=False, wait_s=patience_s):
            yield


def _take(fd: int, kind: int, wait_s: float | None) -> bool:
    """Take a lock; False if it is not free in time."""
    if wait_s is None:
        fcntl.flock(fd, kind)
        return True
    end = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_POLL_S)
