"""Where packs and the journal lie: the contract and the file backend."""

from snapfs.storage.contract import (
    TEMPORARY_PREFIX,
    Appender,
    Backend,
    MissingObjectError,
    Reader,
    StorageError,
    Writer,
    is_temporary,
)
from snapfs.storage.files import FileBackend

__all__ = [
    "TEMPORARY_PREFIX",
    "Appender",
    "Backend",
    "FileBackend",
    "MissingObjectError",
    "Reader",
    "StorageError",
    "Writer",
    "is_temporary",
]
