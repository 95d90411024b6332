"""A path of open directories that may be deeper than the descriptor limit allows.

Only the deepest levels are held open. A level that was closed is reopened through ``..`` of its child
and checked to be the same inode; if the child was moved meanwhile, from the nearest open ancestor, name
by name. Nothing recurses, so nesting is limited by memory alone.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from types import TracebackType

from snapfs.fs.handles import DIR_FLAGS

_CLOSED = -1


class _Level:
    __slots__ = ("fd", "identity", "name")

    def __init__(self, name: bytes, fd: int) -> None:
        self.name = name
        self.fd = fd
        self.identity: tuple[int, int] | None = None


class DirStack:
    """The directory a walk stands in, with all its ancestors up to the top. Closes what it holds."""

    def __init__(self, top_fd: int, *, keep_open: int = 64, above: Sequence[bytes] = ()) -> None:
        """Takes over ``top_fd``. At most ``keep_open`` (>= 2) levels besides it are held open.

        ``above`` are the names that lead to the top from where paths and depths count.
        """
        self._above = tuple(above)
        self._levels = [_Level(b"", top_fd)]
        self._keep_open = keep_open
        self._shallowest = 1
        self.fd = top_fd

    def __enter__(self) -> DirStack:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def depth(self) -> int:
        """0 at the top, if nothing is above it."""
        return len(self._above) + len(self._levels) - 1

    @property
    def parts(self) -> tuple[bytes, ...]:
        """Names from the top to where the walk stands."""
        return (*self._above, *[level.name for level in self._levels[1:]])

    def path(self) -> bytes:
        """``parts`` with slashes between, ``b""`` at the top."""
        return b"/".join([*self._above, *[level.name for level in self._levels[1:]]])

    def push(self, name: bytes, fd: int | None = None) -> int:
        """Go down into ``name`` (opened here, or taken over as ``fd``); its descriptor.

        Raises OSError (NotADirectoryError for a symlink) and then stays where it was.
        """
        if fd is None:
            fd = os.open(name, DIR_FLAGS, dir_fd=self.fd)
        self._levels.append(_Level(name, fd))
        self.fd = fd
        if len(self._levels) - self._shallowest > self._keep_open:
            level = self._levels[self._shallowest]
            level.identity = _identity(level.fd)
            os.close(level.fd)
            level.fd = _CLOSED
            self._shallowest += 1
        return fd

    def pop(self) -> int:
        """Go up one level; the descriptor of the directory arrived at.

        Raises OSError (ESTALE) if that directory is no longer where it was; the walk then stands in it
        without a descriptor and can only go up further.
        """
        left = self._levels.pop()
        level = self._levels[-1]
        self.fd = _CLOSED
        try:
            if level.fd == _CLOSED:
                level.fd = self._reopen(left.fd)
                self._shallowest = len(self._levels) - 1
            self.fd = level.fd
        finally:
            if left.fd != _CLOSED:
                os.close(left.fd)
        return self.fd

    def close(self) -> None:
        """Close every level, the top as well."""
        for level in self._levels:
            if level.fd != _CLOSED:
                os.close(level.fd)
        self._levels.clear()

    def _reopen(self, child_fd: int) -> int:
        wanted = self._levels[-1].identity
        try:
            fd = os.open(b"..", DIR_FLAGS, dir_fd=child_fd)
        except OSError:
            fd = _CLOSED
        if fd != _CLOSED:
            if _identity(fd) == wanted:
                return fd
            os.close(fd)
        return self._reopen_by_name(wanted)

    def _reopen_by_name(self, wanted: tuple[int, int] | None) -> int:
        """The slow way down, from the top: all levels between are closed."""
        fd = os.dup(self._levels[0].fd)
        for level in self._levels[1:]:
            try:
                below = os.open(level.name, DIR_FLAGS, dir_fd=fd)
            finally:
                os.close(fd)
            fd = below
        if _identity(fd) != wanted:
            os.close(fd)
            raise OSError(errno.ESTALE, "directory was moved during the walk", self.path())
        return fd


def _identity(fd: int) -> tuple[int, int]:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino
