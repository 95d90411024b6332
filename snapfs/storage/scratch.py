"""A private file for what a command need not hold: it has no name and ends with the process."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from typing import NamedTuple

from snapfs.errors import StorageFullError


class Place(NamedTuple):
    """Where a record is: offset and length in bytes."""

    offset: int
    length: int


def temporary_full() -> StorageFullError:
    """What to say where temporary files have no room."""
    where = tempfile.gettempdir()
    return StorageFullError(
        f"no space left in the temporary directory {where}", subject=where,
        hint="TMPDIR names another",
    )  # fmt: skip


def unnamed_bytes() -> int:
    """What this process keeps in files that have no name, as SQLite does where it sorts."""
    found = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            st = os.fstat(int(name))
        except OSError:
            continue
        if stat.S_ISREG(st.st_mode) and st.st_nlink == 0:
            found += st.st_blocks * 512
    return found


class ScratchFile:
    """Records of bytes, written once and read as often as wanted; made with the first one."""

    def __init__(self) -> None:
        self._fd = -1
        self._end = 0

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Forget everything."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def append(self, record: bytes) -> Place:
        """Keep a record. Raises StorageFullError."""
        place = Place(self._end, len(record))
        try:
            if self._fd < 0:
                with tempfile.TemporaryFile(prefix="snapfs-") as file:
                    self._fd = os.dup(file.fileno())
            rest = memoryview(record)
            while rest:
                written = os.pwrite(self._fd, rest, self._end)
                rest = rest[written:]
                self._end += written
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise temporary_full() from error
        return place

    def read(self, place: Place) -> bytes:
        """A record."""
        parts = []
        at, end = place.offset, place.offset + place.length
        while at < end:
            part = os.pread(self._fd, end - at, at)
            if not part:
                raise EOFError("the temporary file was cut off")
            parts.append(part)
            at += len(part)
        return b"".join(parts)
