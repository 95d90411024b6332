"""Removing live entries with all that is in them, but for what is protected or mounted.

Nothing is followed and no mount is entered: a directory is opened so that the kernel itself refuses mount
points, bind mounts included.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Container, Iterator

from snapfs.fs.dirstack import DirStack
from snapfs.fs.handles import open_dir, open_path, proc_path
from snapfs.fs.syscalls import open_dir_same_mount
from snapfs.materialize.attributes import unlock, unlocked
from snapfs.materialize.namelist import NameList
from snapfs.materialize.run import Run
from snapfs.materialize.wanted import nothing_protected

_DENIED = frozenset((errno.EPERM, errno.EACCES))
_OWNER_ALL = 0o700


def list_kinds(fd: int) -> Iterator[tuple[bytes, bool]]:
    """Names in an open directory, and whether each is a directory.

    All are read at once, so that they may be removed one after the other.
    """
    with os.scandir(fd) as found:
        names = NameList(
            os.fsencode(entry.name) + (b"/" if entry.is_dir(follow_symlinks=False) else b"")
            for entry in found
        )
    return ((name.removesuffix(b"/"), name.endswith(b"/")) for name in names)


def make_writable(fd: int) -> None:
    """Let names in an open directory be changed: flags that forbid it, and our own mode."""
    unlock(fd)
    mode = stat.S_IMODE(os.fstat(fd).st_mode)
    if mode & _OWNER_ALL != _OWNER_ALL:
        with contextlib.suppress(OSError):
            os.fchmod(fd, mode | _OWNER_ALL)


class Remover:
    """Deletes, or in a dry run counts what would be."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._dry = run.options.dry_run
        self._protected = run.options.protected
        self._asks = run.options.protected is not nothing_protected
        self.needed: Container[bytes] = ()
        """paths of what has to stay, for it could not be made where it was"""

    def remove(self, directory: int, dir_fd: int, name: bytes, is_dir: bool) -> bool:
        """Remove one entry of an open directory whose number is ``directory``; whether it is gone.

        What stays is counted as left alone, or told as a problem. The directory must be writable.
        """
        parts = self._run.table.parts(directory) if self._asks else ()
        if self._asks and self._protected(parts, name, is_dir):
            self._run.counts.left_alone += 1
            return False
        base = self._run.table.path(directory)
        if not is_dir:
            return self._is_saved(dir_fd, name, base) and self._unlink(dir_fd, name, base)
        return self._remove_dir(dir_fd, name, base, parts)

    def remove_empty(self, dir_fd: int, name: bytes) -> bool:
        """Remove a directory if nothing is in it; whether it is gone. Not counted; raises OSError."""
        if self._dry:
            fd = open_dir(name, dir_fd)
            try:
                with os.scandir(fd) as found:
                    return next(found, None) is None
            finally:
                os.close(fd)
        try:
            _rmdir_forced(name, dir_fd)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY):
                return False
            raise
        return True

    def _remove_dir(self, dir_fd: int, name: bytes, base: bytes, parts: tuple[bytes, ...]) -> bool:
        if not self._is_saved(dir_fd, name, base):
            return False
        fd = self._open(dir_fd, name, base)
        if fd is None:
            return False
        path = _join(base, name)
        names = [*parts, name]
        with DirStack(fd) as stack:
            todo = [list_kinds(fd)]
            kept = [False]
            here = tuple(names) if self._asks else ()
            while True:
                child, is_dir = next(todo[-1], (b"", False))
                if not child:
                    todo.pop()
                    if not todo:
                        break
                    stays = kept.pop()
                    left = names.pop()
                    stack.pop()
                    here = tuple(names) if self._asks else ()
                    path = path[: -len(left) - 1]
                    if stays or not self._rmdir(stack.fd, left, path):
                        kept[-1] = True
                    continue
                if self._asks and self._protected(here, child, is_dir):
                    self._run.counts.left_alone += 1
                    kept[-1] = True
                elif not is_dir:
                    if not (
                        self._is_saved(stack.fd, child, path)
                        and self._unlink(stack.fd, child, path)
                    ):
                        kept[-1] = True
                else:
                    saved = self._is_saved(stack.fd, child, path)
                    below = self._open(stack.fd, child, path) if saved else None
                    if below is None:
                        kept[-1] = True
                        continue
                    stack.push(child, below)
                    names.append(child)
                    here = tuple(names) if self._asks else ()
                    path = _join(path, child)
                    todo.append(list_kinds(below))
                    kept.append(False)
        return not kept[0] and self._rmdir(dir_fd, name, base)

    def _open(self, dir_fd: int, name: bytes, base: bytes) -> int | None:
        try:
            try:
                return open_dir_same_mount(name, dir_fd)
            except PermissionError:
                if self._dry:
                    raise
                open_up(name, dir_fd)
                return open_dir_same_mount(name, dir_fd)
        except OSError as error:
            if error.errno == errno.EXDEV:
                self._run.counts.left_alone += 1
            elif error.errno != errno.ENOENT:
                self._run.problem_at(_join(base, name), error.errno or 0, _text(error))
            return None

    def _is_saved(self, dir_fd: int, name: bytes, base: bytes) -> bool:
        if self.needed and _join(base, name) in self.needed:
            self._run.problem_at(_join(base, name), 0, "stays: it could not be moved back")
            self._run.counts.left_alone += 1
            return False
        if self._run.options.saved is None:
            return True
        try:
            live = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
        except OSError:
            return True  # what removing it says will be told
        return self._run.is_saved(_join(base, name), live)

    def _unlink(self, dir_fd: int, name: bytes, base: bytes) -> bool:
        try:
            if not self._dry:
                unlink_forced(name, dir_fd)
        except OSError as error:
            return self._not_removed(error, name, base)
        self._run.counts.deleted += 1
        return True

    def _rmdir(self, dir_fd: int, name: bytes, base: bytes) -> bool:
        try:
            if not self._dry:
                _rmdir_forced(name, dir_fd)
        except OSError as error:
            return self._not_removed(error, name, base)
        self._run.counts.deleted += 1
        return True

    def _not_removed(self, error: OSError, name: bytes, base: bytes) -> bool:
        if error.errno == errno.ENOENT:  # somebody was faster
            return True
        if error.errno == errno.EBUSY:  # a mount point
            self._run.counts.left_alone += 1
        else:
            self._run.problem_at(_join(base, name), error.errno or 0, _text(error))
        return False


def open_up(name: bytes, dir_fd: int) -> os.stat_result:
    """Give ourselves the right to look into a directory of ours; what it was before.

    No symlink is followed. Raises OSError.
    """
    fd = open_path(name, dir_fd)
    try:
        live = os.fstat(fd)
        if stat.S_ISDIR(live.st_mode):
            os.chmod(proc_path(fd), stat.S_IMODE(live.st_mode) | _OWNER_ALL)
        return live
    finally:
        os.close(fd)


def unlink_forced(name: bytes, dir_fd: int) -> None:
    """Remove a name that is no directory's, even if flags or our own mode forbid it; raises OSError."""
    try:
        os.unlink(name, dir_fd=dir_fd)
    except OSError as error:
        if error.errno not in _DENIED:
            raise
        make_writable(dir_fd)
        with unlocked(name, dir_fd):
            os.unlink(name, dir_fd=dir_fd)


def _rmdir_forced(name: bytes, dir_fd: int) -> None:
    try:
        os.rmdir(name, dir_fd=dir_fd)
    except OSError as error:
        if error.errno not in _DENIED:
            raise
        make_writable(dir_fd)
        with unlocked(name, dir_fd):
            os.rmdir(name, dir_fd=dir_fd)


def _join(base: bytes, name: bytes) -> bytes:
    return base + b"/" + name if base else name


def _text(error: OSError) -> str:
    return f"not deleted: {error.strerror or error}"
