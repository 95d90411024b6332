"""A list of paths that a command is given: a file, or standard input."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.signals import wait_readable
from snapfs.errors import UsageError
from snapfs.model.quote import quote

_PIECE = 1 << 20


@contextmanager
def listed_paths(invocation: Invocation, option: str, word: str) -> Iterator[Iterator[bytes]]:
    """The paths that the file ``word`` lists, ``-`` for standard input. ``option`` is what asked for it.

    Each is ended by a NUL if there is any NUL, else by a newline; empty ones are passed over. What is no
    plain file is copied first, for only its end tells which. Raises UsageError.
    """
    with _file(invocation, option, word) as file:
        yield _split(file, b"\0" if _has_nul(file) else b"\n")


@contextmanager
def _file(invocation: Invocation, option: str, word: str) -> Iterator[BinaryIO]:
    if word == "-":
        invocation.require_input(option)
        with tempfile.TemporaryFile() as copy:
            _copy(0, copy)
            yield copy
        return
    path = invocation.environment.expand_home(word)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise UsageError(
            f"{option}: {quote(path)} cannot be read: {error.strerror}", subject=quote(path)
        ) from error
    try:
        mode = os.fstat(fd).st_mode
        if stat.S_ISDIR(mode):
            raise UsageError(f"{option}: {quote(path)} is a directory", subject=quote(path))
        if stat.S_ISREG(mode):
            with open(fd, "rb", closefd=False) as file:
                yield file
            return
        with tempfile.TemporaryFile() as copy:
            _copy(fd, copy)
            yield copy
    finally:
        os.close(fd)


def _copy(fd: int, copy: BinaryIO) -> None:
    while True:
        wait_readable(fd)
        data = os.read(fd, _PIECE)
        if not data:
            return
        copy.write(data)


def _has_nul(file: BinaryIO) -> bool:
    file.seek(0)
    while data := file.read(_PIECE):
        if b"\0" in data:
            return True
    return False


def _split(file: BinaryIO, end: bytes) -> Iterator[bytes]:
    file.seek(0)
    rest = b""
    while data := file.read(_PIECE):
        *paths, rest = (rest + data).split(end)
        yield from filter(None, paths)
    if rest:
        yield rest
