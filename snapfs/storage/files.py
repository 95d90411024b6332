"""The file backend: objects are files in the folders of one directory.

Every file is reached through a descriptor of its folder and never through a symlink, so a
repository can be moved while it is open, and a planted link leads nowhere. Files are 0600,
folders 0700, handed to ``owner`` (uid, gid) when root writes into another user's repository.
"""

from __future__ import annotations

import itertools
import os
import stat
from types import TracebackType
from typing import Self

from snapfs.storage.contract import (
    TEMPORARY_PREFIX,
    MissingObjectError,
    StorageError,
    check_key,
)
from snapfs.storage.openfile import (
    FileAppender,
    FileReader,
    FileWriter,
    require_regular,
    storage_errors,
)

_OPEN_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NOCTTY


class FileBackend:
    """``contract.Backend`` over the directory ``root``, which must exist.

    ``root`` may be an open directory descriptor, which is duplicated. Raises ``StorageError``.
    """

    def __init__(
        self, root: str | bytes | os.PathLike[str] | int, owner: tuple[int, int] | None = None
    ) -> None:
        self._owner = owner
        self._folders: dict[str, int] = {}
        self._number = itertools.count()
        self._root_fd = -1
        with storage_errors(str(root) if isinstance(root, int) else os.fsdecode(root)):
            if isinstance(root, int):
                self._root_fd = os.dup(root)
            else:
                self._root_fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._folders[""] = self._root_fd

    def names(self, folder: str) -> list[str]:
        try:
            fd = self._folder(folder)
        except MissingObjectError:
            return []
        with storage_errors(folder):
            return sorted(os.listdir(fd))

    def size(self, key: str) -> int:
        folder, name = check_key(key)
        with storage_errors(key):
            status = os.stat(name, dir_fd=self._folder(folder), follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            raise StorageError(f"{key} is not a plain file of the repository", subject=key)
        return status.st_size

    def open_reader(self, key: str) -> FileReader:
        fd, size = self._open(key, os.O_RDONLY)
        return FileReader(fd, key, size)

    def open_appender(self, key: str) -> FileAppender:
        fd, size = self._open(key, os.O_WRONLY)
        return FileAppender(fd, key, size)

    def create(self, folder: str, stem: str) -> FileWriter:
        folder_fd = self._folder(folder, make=True)
        while True:
            name = f"{TEMPORARY_PREFIX}{stem}-{next(self._number)}"
            check_key(name)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN_FLAGS
            try:
                with storage_errors(f"{folder}/{name}"):
                    fd = os.open(name, flags, 0o600, dir_fd=folder_fd)
            except StorageError as error:
                # Left by a run that had the same stem: numbers only grow, so it stays untouched.
                if isinstance(error.__cause__, FileExistsError):
                    continue
                raise
            writer = FileWriter(fd, folder_fd, folder, name)
            if self._owner is not None:
                with storage_errors(f"{folder}/{name}"):
                    os.fchown(fd, *self._owner)
            return writer

    def remove(self, key: str) -> None:
        folder, name = check_key(key)
        with storage_errors(key):
            os.unlink(name, dir_fd=self._folder(folder))

    def sync(self, folder: str) -> None:
        with storage_errors(folder):
            os.fsync(self._folder(folder))

    def set_aside(self, key: str, folder: str) -> str:
        here, name = check_key(key)
        there_fd = self._folder(folder, make=True)
        free = name
        number = 1
        with storage_errors(key):
            # Whoever sets aside holds the lock that keeps others from doing so.
            while _is_taken(free, there_fd):
                number += 1
                free = f"{name}-{number}"
            os.rename(name, free, src_dir_fd=self._folder(here), dst_dir_fd=there_fd)
            os.fsync(there_fd)
            os.fsync(self._folder(here))
        return f"{folder}/{free}"

    def close(self) -> None:
        while self._folders:
            os.close(self._folders.popitem()[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _open(self, key: str, access: int) -> tuple[int, int]:
        folder, name = check_key(key)
        with storage_errors(key):
            # O_NONBLOCK: a FIFO planted under a pack's name must not hang the command.
            fd = os.open(name, access | os.O_NONBLOCK | _OPEN_FLAGS, dir_fd=self._folder(folder))
            return fd, require_regular(fd, key)

    def _folder(self, folder: str, *, make: bool = False) -> int:
        """Descriptor of a folder, opened component by component and kept."""
        fd = self._folders.get(folder)
        if fd is not None:
            return fd
        above, name = check_key(folder)
        above_fd = self._folder(above, make=make)
        flags = os.O_RDONLY | os.O_DIRECTORY | _OPEN_FLAGS
        with storage_errors(folder):
            try:
                fd = os.open(name, flags, dir_fd=above_fd)
            except FileNotFoundError:
                if not make:
                    raise
                fd = self._make_folder(name, above_fd, flags)
        self._folders[folder] = fd
        return fd

    def _make_folder(self, name: str, above_fd: int, flags: int) -> int:
        try:
            os.mkdir(name, 0o700, dir_fd=above_fd)
        except FileExistsError:
            # Another process made it first.
            return os.open(name, flags, dir_fd=above_fd)
        fd = os.open(name, flags, dir_fd=above_fd)
        if self._owner is not None:
            os.fchown(fd, *self._owner)
        os.fsync(above_fd)
        return fd


def _is_taken(name: str, folder_fd: int) -> bool:
    try:
        os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
