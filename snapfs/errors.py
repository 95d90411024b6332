"""Every error that crosses a module: each names its subject, the way out and its exit code."""

from __future__ import annotations

import struct
from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of the command line (``snapfs.1``, EXIT STATUS)."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    PARTIAL = 3
    GUARD = 4
    CONFLICTS = 5
    NO_REPOSITORY = 10
    LOCKED = 11
    OWN_FAILURE = 125
    """of a command that passes on the exit code of another: that snapfs itself failed"""
    NOT_EXECUTABLE = 126
    NO_COMMAND = 127


class SnapfsError(Exception):
    """A failure with one line of text that says what it concerns and what to do.

    ``subject`` is the name of the thing concerned (path, snapshot, option), ``hint`` the way out.
    """

    exit_code: Exit = Exit.FAILED

    def __init__(self, message: str, *, subject: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.subject = subject
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # Errors travel from worker processes to the parent as pickles.
        return (_rebuild, (type(self), self.message, self.subject, self.hint))


NONSENSE = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, struct.error,
)  # fmt: skip
"""What Python raises where values that somebody made up are taken for what they should be."""


class UsageError(SnapfsError):
    """The command line asks for something that has no meaning."""

    exit_code = Exit.USAGE


class NotFoundError(SnapfsError):
    """A snapshot, root or path that was named does not exist."""


class NoRepositoryError(SnapfsError):
    """There is no repository where one was expected."""

    exit_code = Exit.NO_REPOSITORY


class LockedError(SnapfsError):
    """Another process holds the lock and did not let go within ``--lock-wait``."""

    exit_code = Exit.LOCKED


class RepositoryError(SnapfsError):
    """The repository cannot be used as it is (format, owner, missing or foreign file)."""


class DamageError(SnapfsError):
    """Stored bytes do not agree with their checksum or digest."""


class CatalogBehindError(RepositoryError):
    """The journal knows changes that the catalog does not: an older catalog.db was put back."""


class StorageFullError(SnapfsError):
    """No space is left where something had to be written."""


class WorkerDiedError(SnapfsError):
    """A worker process ended before its work was done."""


class PinnedError(SnapfsError):
    """A pinned snapshot was to be deleted."""


class RefusedError(SnapfsError):
    """A question was answered with no, or could not be asked."""

    exit_code = Exit.USAGE


class CommandError(SnapfsError):
    """A command that was to be run is not there, or cannot be run."""

    def __init__(
        self, message: str, code: Exit = Exit.NOT_EXECUTABLE, *, subject: str = "", hint: str = ""
    ) -> None:
        super().__init__(message, subject=subject, hint=hint)
        self.exit_code = code


def _rebuild(kind: type[SnapfsError], message: str, subject: str, hint: str) -> SnapfsError:
    return kind(message, subject=subject, hint=hint)
