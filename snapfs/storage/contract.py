"""The storage contract: what snapfs asks of the place where packs and the journal lie.

Keys are relative paths with slashes (``packs/0f3c…``); ``check_key`` says what is allowed. An
object is immutable once it has its final name, except the ones written through ``open_appender``.

What every backend promises, and ``tests/storage`` checks for each of them:

- an object is visible under its final name wholly or not at all, also after a crash: it is written
  under a temporary name in the same folder and gets its name by ``Writer.commit``, which makes
  both durable before it returns;
- ``names`` never misses an object that was committed before it was called;
- nothing is followed out of the repository: what is not a plain object is refused by name.

Errors: ``MissingObjectError`` where a key names nothing, ``StorageFullError`` where no space is
left, ``DamageError`` where the medium cannot give back the bytes, ``StorageError`` for the rest.
"""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from snapfs.errors import RepositoryError

Data = bytes | bytearray | memoryview

TEMPORARY_PREFIX = "tmp-"
"""Names beginning so belong to a run that has not ended, or that was killed."""


class StorageError(RepositoryError):
    """The backend refused or failed; ``subject`` is the key."""


class MissingObjectError(StorageError):
    """The key names nothing."""


class ForeignObjectError(StorageError):
    """The key names what no backend has made: a folder, a FIFO. Links are refused as out of reach."""


def check_key(key: str) -> tuple[str, str]:
    """Split a key into folder (``""`` for none) and name.

    Raises ``StorageError`` unless every component is printable ASCII without slash and is neither
    empty nor begins with a dot.
    """
    for part in key.split("/"):
        if not part or part[0] == "." or not part.isascii() or not part.isprintable():
            raise StorageError(f"not a storage key: {key!r}", subject=key)
    folder, _, name = key.rpartition("/")
    return folder, name


def is_temporary(name: str) -> bool:
    """Whether a name in ``names`` is that of an unfinished object."""
    return name.startswith(TEMPORARY_PREFIX)


class Reader(Protocol):
    """One object, open for reading at any offset. Safe to share between threads."""

    @property
    def size(self) -> int:
        """Bytes it had when it was opened."""

    def pread(self, offset: int, length: int) -> bytes:
        """``length`` bytes from ``offset``; fewer only where the object ends."""

    def close(self) -> None:
        """Give the descriptor back; may be called twice."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Writer(Protocol):
    """A new object under a temporary name. Ends with ``commit`` or ``abandon``.

    Used as a context manager, it is abandoned on the way out unless it was committed.
    """

    @property
    def temporary_name(self) -> str:
        """The name it has in its folder until then."""

    def write(self, data: Data) -> None:
        """Append all of ``data``."""

    def tell(self) -> int:
        """Bytes written so far."""

    def commit(self, name: str) -> None:
        """Make it durable as ``name`` in the same folder, replacing what has that name."""

    def abandon(self) -> None:
        """Remove it; may be called after ``commit``, and then does nothing."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Appender(Protocol):
    """An existing object that grows at its end: the journal, under the lock of its one writer."""

    def tell(self) -> int:
        """Its size, which is where the next ``append`` goes."""

    def append(self, data: Data) -> None:
        """Write all of ``data`` at the end; durable after ``sync`` only."""

    def sync(self) -> None:
        """Everything appended or truncated so far survives a crash when this returns."""

    def truncate(self, size: int) -> None:
        """Cut it down to ``size`` bytes."""

    def close(self) -> None:
        """Give the descriptor back; may be called twice."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Backend(Protocol):
    """A place that keeps objects."""

    def names(self, folder: str) -> list[str]:
        """Names in a folder, sorted, temporary ones included; none if there is no such folder."""

    def size(self, key: str) -> int:
        """Bytes of an object."""

    def open_reader(self, key: str) -> Reader:
        """Open for reading."""

    def open_appender(self, key: str) -> Appender:
        """Open an existing object for appending."""

    def create(self, folder: str, stem: str) -> Writer:
        """Begin a new object in ``folder``, which is made if need be.

        Its temporary name is ``tmp-<stem>-<number>``; ``stem`` names the run that writes it.
        """

    def remove(self, key: str) -> None:
        """Remove an object. Durable after ``sync(folder)`` only."""

    def sync(self, folder: str) -> None:
        """Make removals in ``folder`` durable."""

    def set_aside(self, key: str, folder: str) -> str:
        """Move an object, whatever it has become, to another folder; its key there.

        It keeps its name unless that is taken. Durable when it returns; never replaces anything.
        """

    def close(self) -> None:
        """Give all descriptors back; may be called twice."""
