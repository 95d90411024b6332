"""Errors as one line that names the thing and the way out, or as JSON; and their exit codes."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from snapfs.cli.frame.again import with_repository
from snapfs.cli.frame.streams import OutputClosed, Streams
from snapfs.cli.render.json import json_line
from snapfs.errors import Exit, NotFoundError, SnapfsError, StorageFullError, UsageError
from snapfs.fs.handles import exhausted
from snapfs.model.quote import printable, quote
from snapfs.storage.room import free_bytes

_KEPT_CODES = (Exit.NO_REPOSITORY, Exit.LOCKED)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a command ended with an exit code other than 0."""

    kind: str
    """class of the error, as not-found, locked, usage"""
    message: str
    """what went wrong, naming the thing"""
    subject: str
    """the thing concerned: a path, a snapshot, an option; may be empty"""
    hint: str
    """the way out; may be empty"""
    exit: int
    """the exit code"""


def tell(error: Exception, words: Sequence[str], streams: Streams) -> int:
    """Write the error to standard error, after what was already printed; the exit code."""
    try:
        streams.out.flush()
    except (OutputClosed, SnapfsError):
        pass
    options = words[: words.index("--")] if "--" in words else words
    if "--debug" in options:
        streams.messages.text("".join(traceback.format_exception(error)))
    known = as_snapfs_error(error)
    known.hint = with_repository(known.hint, options)
    if "--json" in options:
        failure = Failure(
            kind=_kind(known),
            message=known.message,
            subject=known.subject,
            hint=known.hint,
            exit=int(known.exit_code),
        )
        streams.messages.line(json_line("error/1", failure))
    else:
        streams.messages.line(printable(f"snapfs: {known}"))
    return int(known.exit_code)


def as_snapfs_error(error: Exception) -> SnapfsError:
    """The error itself, or one that says the same in our words."""
    if isinstance(error, StorageFullError):
        return _where_it_is_full(error)
    if isinstance(error, SnapfsError):
        return error
    if isinstance(error, OSError):
        return _system_error(error)
    if isinstance(error, MemoryError):
        return SnapfsError("out of memory")
    return SnapfsError(
        f"internal error: {type(error).__name__}: {error}",
        hint="snapfs verify tells whether the catalog is damaged; if not, please report this with --debug",
    )


def _where_it_is_full(error: StorageFullError) -> StorageFullError:
    """SQLite does not say which of its files is meant, and sorts in temporary ones."""
    from snapfs.storage.scratch import temporary_full

    temporary = temporary_full()
    if not os.path.isabs(error.subject) or _room(temporary.subject) or not _room(error.subject):
        return error
    return temporary


def _room(path: str) -> bool:
    """Whether the filesystem of a file has some."""
    try:
        return free_bytes(path) >= 1 << 20
    except OSError:
        return False


@contextmanager
def answering() -> Iterator[None]:
    """For commands whose exit code 1 is an answer: every failure but 10 and 11 becomes 2."""
    try:
        yield
    except OutputClosed:
        raise
    except Exception as error:
        known = as_snapfs_error(error)
        if known.exit_code not in _KEPT_CODES:
            known.exit_code = Exit.USAGE
        if known is error:
            raise
        raise known from error


def _system_error(error: OSError) -> SnapfsError:
    reason = error.strerror or str(error) or type(error).__name__
    no_descriptor = exhausted(error.errno or 0)
    if no_descriptor is not None:
        return no_descriptor
    if error.filename is None:
        return working_directory_gone() if stands_nowhere() else SnapfsError(reason)
    if isinstance(error.filename, int):
        return SnapfsError(f"file descriptor {error.filename}: {reason}")
    name = quote(os.fsencode(error.filename))
    return SnapfsError(f"{name}: {reason}", subject=name)


def working_directory_gone() -> NotFoundError:
    """What is wrong where a relative path means nothing any more."""
    return NotFoundError(
        "the working directory was deleted",
        subject=".",
        hint="cd to one that exists, or name the directory by its whole path",
    )


def stands_nowhere() -> bool:
    """Whether the working directory was deleted: the system names no file then."""
    try:
        os.getcwdb()
    except FileNotFoundError:
        return True
    return False


def _kind(error: SnapfsError) -> str:
    """``not-found`` for NotFoundError, ``failed`` for the class of all errors."""
    if type(error) is SnapfsError:
        return "failed"
    if type(error) is UsageError:
        return "usage"
    name = type(error).__name__.removesuffix("Error")
    return "".join(f"-{char.lower()}" if char.isupper() else char for char in name)[1:]
