"""Room on the repository's disk: what a writer needs before it may touch the catalog.

SQLite maps a small file beside the catalog; on a copy-on-write filesystem without a free block the
first touch of that map kills the process (SIGBUS). So room is asked for first. The reserve is a file
that is given up on a full disk, so that there is room to delete snapshots.
"""

from __future__ import annotations

import contextlib
import os
import stat

from snapfs.errors import StorageFullError
from snapfs.storage.room import free_bytes

RESERVE = "reserve"
RESERVE_BYTES = 16 * 1024 * 1024
NEEDED_BYTES = 2 * 1024 * 1024
_WAY_OUT = "delete snapshots, or make room on its disk"


def make_reserve(fd: int, owner: tuple[int, int] | None) -> None:
    """Allocate the reserve, unless there is no room for it."""
    try:
        reserve = _open_reserve(fd, owner)
    except OSError:
        return
    try:
        _allocate(reserve)
    except OSError:
        # A repository on a small or full disk does without; the next run tries again.
        with contextlib.suppress(OSError):
            os.unlink(RESERVE, dir_fd=fd)
    finally:
        os.close(reserve)


def _open_reserve(fd: int, owner: tuple[int, int] | None) -> int:
    """Open the file, or make it. One that is not ours alone is replaced: it may be anybody's."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    with contextlib.suppress(FileNotFoundError):
        found = os.stat(RESERVE, dir_fd=fd, follow_symlinks=False)
        if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
            return os.open(RESERVE, flags, dir_fd=fd)
        os.unlink(RESERVE, dir_fd=fd)
    reserve = os.open(RESERVE, flags | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=fd)
    if owner is not None:
        os.fchown(reserve, *owner)
    return reserve


def _allocate(reserve: int) -> None:
    """As much as there is room for, down to what a deletion needs."""
    size = RESERVE_BYTES
    while True:
        try:
            os.posix_fallocate(reserve, 0, size)
            return
        except OSError:
            os.ftruncate(reserve, 0)  # some filesystems keep what they had got until then
            size //= 2
            if size < 2 * NEEDED_BYTES:
                raise


def give_up_reserve(fd: int) -> bool:
    """Free the reserve; False if it was gone already."""
    try:
        os.unlink(RESERVE, dir_fd=fd)
    except OSError:
        return False
    return True


def has_room(fd: int) -> bool:
    """Whether there is room to write into the catalog: by count, or because it can be had (root may use
    what is kept from others).
    """
    return free_bytes(fd) >= NEEDED_BYTES or _can_allocate(fd)


def _can_allocate(fd: int) -> bool:
    try:
        probe = os.open(".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=fd)
    except OSError:
        return False
    try:
        os.posix_fallocate(probe, 0, NEEDED_BYTES)
    except OSError:
        return False
    finally:
        os.close(probe)
    return True


def make_room(fd: int, name: str, *, spend: bool) -> None:
    """See that there is room to open the catalog for writing; ``spend`` the reserve if there is not.

    Raises StorageFullError.
    """
    if has_room(fd) or (spend and give_up_reserve(fd) and has_room(fd)):
        return
    raise _full(name, "make room on its disk" if spend else _WAY_OUT)


def require_room(fd: int, owner: tuple[int, int] | None, name: str) -> None:
    """Raise StorageFullError before anything is written that could not be finished.

    The reserve comes first: without it nothing could be deleted from a full disk.
    """
    make_reserve(fd, owner)
    reserved = os.access(RESERVE, os.F_OK, dir_fd=fd)
    if free_bytes(fd) < (NEEDED_BYTES if reserved else RESERVE_BYTES + NEEDED_BYTES):
        raise _full(name, _WAY_OUT)


def _full(name: str, hint: str) -> StorageFullError:
    return StorageFullError(f"no space left for the repository {name}", subject=name, hint=hint)
