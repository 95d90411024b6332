"""Running a program within the test's own process: the same code without the start of an interpreter."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, TextIO


def here(
    program: Callable[[], int],
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
) -> tuple[int, bytes, bytes]:
    """Exit code, standard output and standard error of ``program``, the main function of one.

    Descriptors, working directory, mask and environment are those of a process of its own while it
    runs, and the test's again afterwards. None leaves the test's working directory, environment or
    standard input.
    """
    before, variables, streams = os.getcwd(), dict(os.environ), (sys.stdout, sys.stderr)
    given = None if stdin is None else _unnamed(stdin)
    with _unnamed() as out, _unnamed() as err:
        new = {1: out, 2: err} if given is None else {0: given, 1: out, 2: err}
        kept = {number: os.dup(number) for number in new}
        mask = os.umask(0o022)
        os.umask(mask)
        try:
            for number, file in new.items():
                os.dup2(file.fileno(), number)
            sys.stdout, sys.stderr = _text(1), _text(2)
            if environment is not None:
                _become(environment)
            os.chdir(cwd or before)
            code = program()
            sys.stdout.flush()
        finally:
            sys.stdout, sys.stderr = streams
            _become(variables)
            os.umask(mask)
            os.chdir(before)
            for number, fd in kept.items():
                os.dup2(fd, number)
                os.close(fd)
            if given is not None:
                given.close()
        out.seek(0)
        err.seek(0)
        return code, out.read(), err.read()


def _become(environment: Mapping[str, str]) -> None:
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(environment)


def _unnamed(content: bytes = b"") -> BinaryIO:
    file = os.fdopen(os.memfd_create("snapfs-test"), "w+b")
    file.write(content)
    file.seek(0)
    return file


def _text(fd: int) -> TextIO:
    # Of their own: pytest's are files, whatever the descriptor leads to.
    return open(fd, "w", buffering=1, errors="backslashreplace", closefd=False)
