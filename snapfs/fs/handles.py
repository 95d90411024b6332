"""Opening live entries one component at a time, never through a symlink, never blocking.

A name is looked up in an open directory only, so that no path is ever too long and nobody who swaps a
directory for a symlink during the run can lead it elsewhere.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

from snapfs.errors import SnapfsError

DIR_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
PATH_FLAGS = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
NO_DIRECTORY = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP))
"""What opening gives where no directory is any more."""
_ENCODING = sys.getfilesystemencoding()
_NO_NAMES = frozenset((b"", b".", b".."))
_NAMES_AT_ONCE = 8192
"""So many are there as text and as bytes at a time: of a million both would take 160 MB."""


def exhausted(number: int) -> SnapfsError | None:
    """What to say if an errno means that no descriptor is left."""
    if number in (errno.EMFILE, errno.ENFILE):
        return SnapfsError(os.strerror(number), hint="allow more open files (ulimit -n)")
    return None


def refuse_exhausted(number: int) -> None:
    """Raise SnapfsError if an errno means that no descriptor is left: then nothing can be looked at."""
    error = exhausted(number)
    if error is not None:
        raise error


def is_name(name: bytes) -> bool:
    """Whether this is a name in a directory, and leads nowhere else."""
    return not (b"/" in name or b"\0" in name or name in _NO_NAMES)


def open_top(path: bytes) -> int:
    """Open the directory that a run works in; symlinks in ``path`` are the user's wish and followed."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def open_dir(name: bytes, dir_fd: int) -> int:
    """Open a subdirectory. A symlink gives NotADirectoryError, whatever it points at."""
    return os.open(name, DIR_FLAGS, dir_fd=dir_fd)


class Names:
    """The names of an open directory, each looked up when it is asked for."""

    def __init__(self, dir_fd: int) -> None:
        self._fd = dir_fd

    def __contains__(self, name: object) -> bool:
        assert isinstance(name, bytes)
        try:
            os.lstat(name, dir_fd=self._fd)
        except OSError:
            return False
        return True


def sorted_names(dir_fd: int) -> list[bytes]:
    """All names of an open directory, bytewise. Raises OSError."""
    found = os.listdir(dir_fd)
    names: list[bytes] = []
    while found:
        names += [name.encode(_ENCODING, "surrogateescape") for name in found[-_NAMES_AT_ONCE:]]
        del found[-_NAMES_AT_ONCE:]
    names.sort()
    return names


def open_file(name: bytes, dir_fd: int) -> int:
    """Open a regular file for reading without touching its access time where that is allowed.

    The caller has seen by stat that it is regular; O_NONBLOCK keeps a pipe that took its place since
    from hanging the run (compare ``fstat`` after).
    """
    try:
        return os.open(name, FILE_FLAGS | os.O_NOATIME, dir_fd=dir_fd)
    except PermissionError:
        return os.open(name, FILE_FLAGS, dir_fd=dir_fd)


def open_path(name: bytes, dir_fd: int) -> int:
    """Hold an inode of any kind without opening it (O_PATH): a pipe, a device, a symlink itself."""
    return os.open(name, PATH_FLAGS, dir_fd=dir_fd)


def open_below(top_fd: int, parts: Sequence[bytes]) -> int:
    """Open the directory ``parts`` below ``top_fd``, each component without following symlinks."""
    fd = os.dup(top_fd)
    for part in parts:
        try:
            below = open_dir(part, fd)
        finally:
            os.close(fd)
        fd = below
    return fd


def missing_part(top_fd: int, path: bytes) -> bytes:
    """How much of a path below ``top_fd`` leads to what is no directory any more; all of it if that cannot
    be told.
    """
    parts = path.split(b"/")
    fd = os.dup(top_fd)
    try:
        for number, part in enumerate(parts, 1):
            try:
                below = open_dir(part, fd)
            except OSError:
                return b"/".join(parts[:number])
            os.close(fd)
            fd = below
    finally:
        os.close(fd)
    return path


def lies_in(fd: int, top: tuple[int, int]) -> bool:
    """Whether an open directory is the one with these (dev, ino) or anywhere below it."""
    here = os.dup(fd)
    try:
        last: tuple[int, int] | None = None
        while True:
            st = os.fstat(here)
            number = (st.st_dev, st.st_ino)
            if number == top:
                return True
            if number == last:
                return False
            last = number
            try:
                above = os.open(b"..", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=here)
            except OSError:  # not ours to look into, so not our repository either
                return False
            os.close(here)
            here = above
    finally:
        os.close(here)


def proc_path(fd: int) -> bytes:
    """A path that names exactly the inode held by ``fd``, also one held with O_PATH."""
    return b"/proc/self/fd/%d" % fd


def proc_child(dir_fd: int, name: bytes) -> bytes:
    """A path of ``name`` in ``dir_fd`` for calls that know no ``dir_fd`` (use them without following)."""
    return b"/proc/self/fd/%d/%s" % (dir_fd, name)
