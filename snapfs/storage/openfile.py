"""Open files behind the contract's readers, writers and appenders, and their errors."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Self

from snapfs.errors import DamageError, StorageFullError
from snapfs.storage.contract import (
    Data,
    ForeignObjectError,
    MissingObjectError,
    StorageError,
    check_key,
)

# Write-back starts after so many bytes, so that the fsync at the end has little left to wait for
# (128 MiB: 0.15 s -> 0.00 s).
_WRITE_BACK_BYTES = 8 * 1024 * 1024

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


@contextmanager
def storage_errors(key: str) -> Iterator[None]:
    """Turn what the system says into the contract's errors, naming ``key``."""
    try:
        yield
    except OSError as error:
        number = error.errno
        if number in _FULL:
            raise StorageFullError(
                f"no space left to write {key}", subject=key, hint="free some space and run again"
            ) from error
        if number == errno.ENOENT:
            raise MissingObjectError(
                f"{key} is missing from the repository", subject=key
            ) from error
        if number in (errno.ELOOP, errno.ENOTDIR):
            raise StorageError(
                f"{key} is not a plain file of the repository",
                subject=key,
                hint="a repository holds no links: put the real file there",
            ) from error
        if number == errno.EIO:
            raise DamageError(f"{key}: {error.strerror}", subject=key) from error
        raise StorageError(f"{key}: {error.strerror}", subject=key) from error


def require_regular(fd: int, key: str) -> int:
    """Size of an open file; ``ForeignObjectError`` and a closed descriptor if it is no regular file."""
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise ForeignObjectError(f"{key} is not a plain file of the repository", subject=key)
    return status.st_size


class _OpenFile:
    """A descriptor and the key it belongs to."""

    def __init__(self, fd: int, key: str) -> None:
        self._fd = fd
        self._key = key

    def close(self) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class FileReader(_OpenFile):
    """``contract.Reader`` over a file."""

    def __init__(self, fd: int, key: str, size: int) -> None:
        super().__init__(fd, key)
        self._size = size

    @property
    def size(self) -> int:
        return self._size

    def pread(self, offset: int, length: int) -> bytes:
        try:
            data = os.pread(self._fd, length, offset)
            if len(data) == length or not data:
                return data
            # The kernel gives at most 2 GiB at once, and less after a signal or at the end.
            parts = [data]
            got = len(data)
            while got < length and (data := os.pread(self._fd, length - got, offset + got)):
                parts.append(data)
                got += len(data)
            return b"".join(parts)
        except OSError as error:
            raise DamageError(
                f"{self._key} cannot be read: {error.strerror}", subject=self._key
            ) from error
        except (OverflowError, MemoryError) as error:  # a place that some damage made up
            raise DamageError(f"{self._key} has no {length} bytes", subject=self._key) from error


class FileWriter:
    """``contract.Writer`` over a file."""

    def __init__(self, fd: int, folder_fd: int, folder: str, temporary_name: str) -> None:
        self._fd = fd
        self._folder_fd = folder_fd
        self._folder = folder
        self._name = temporary_name
        self._size = 0
        self._handed = 0

    @property
    def temporary_name(self) -> str:
        return self._name

    def _key(self) -> str:
        return f"{self._folder}/{self._name}" if self._folder else self._name

    def write(self, data: Data) -> None:
        with storage_errors(self._key()):
            view = memoryview(data).cast("B")
            while view:
                count = os.write(self._fd, view)
                view = view[count:]
                self._size += count
        behind = self._size - self._handed
        if behind >= _WRITE_BACK_BYTES:
            # Despite its name this keeps the pages: they are dirty, so it only starts writing them.
            with suppress(OSError):
                os.posix_fadvise(self._fd, self._handed, behind, os.POSIX_FADV_DONTNEED)
            self._handed = self._size

    def tell(self) -> int:
        return self._size

    def commit(self, name: str) -> None:
        check_key(name)
        with storage_errors(self._key()):
            # Without the first fsync a crash could leave the name on an empty file.
            os.fsync(self._fd)
            os.rename(self._name, name, src_dir_fd=self._folder_fd, dst_dir_fd=self._folder_fd)
            fd, self._fd = self._fd, -1
            os.close(fd)
            os.fsync(self._folder_fd)

    def abandon(self) -> None:
        if self._fd < 0:
            return
        fd, self._fd = self._fd, -1
        os.close(fd)
        with suppress(FileNotFoundError):
            os.unlink(self._name, dir_fd=self._folder_fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.abandon()


class FileAppender(_OpenFile):
    """``contract.Appender`` over a file."""

    def __init__(self, fd: int, key: str, size: int) -> None:
        super().__init__(fd, key)
        self._size = size

    def tell(self) -> int:
        return self._size

    def append(self, data: Data) -> None:
        with storage_errors(self._key):
            view = memoryview(data).cast("B")
            while view:
                count = os.pwrite(self._fd, view, self._size)
                view = view[count:]
                self._size += count

    def sync(self) -> None:
        with storage_errors(self._key):
            os.fdatasync(self._fd)

    def truncate(self, size: int) -> None:
        with storage_errors(self._key):
            os.ftruncate(self._fd, size)
        self._size = size
