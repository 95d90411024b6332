"""Running somebody's command as if snapfs were not there: same terminal, same process group, same streams.

What ends the command must not end snapfs before it has done what comes after: a Ctrl-C at the terminal
reaches both, and here it is only heard. SIGTERM and SIGHUP are usually sent to one process, and are passed
on. Handlers are set, and nothing is ignored: what is ignored would stay so in the command.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from snapfs.cli.frame.signals import wait_readable
from snapfs.errors import CommandError, Exit
from snapfs.model.quote import quote

_SHELL = b"/bin/sh"
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)
_HEARD = (signal.SIGINT, signal.SIGQUIT)


def require_program(word: bytes) -> None:
    """Raises CommandError if there is no such program, or it cannot be run."""
    found = False
    folders = [b""] if b"/" in word else map(os.fsencode, os.get_exec_path())
    for folder in folders:
        path = os.path.join(folder, word)
        if os.path.isfile(path):
            found = True
            if os.access(path, os.X_OK):
                return
    if b"/" in word and os.path.exists(word):
        found = True
    raise _not_run(word, errno.EACCES if found else errno.ENOENT)


def run_child(words: Sequence[bytes]) -> int:
    """Run a command to its end; its exit code as `subprocess` gives it.

    It inherits all that snapfs was given and nothing that snapfs has opened. Raises CommandError if it cannot
    be run.
    """
    with _Relay() as relay:
        try:
            process = _start(words)
        except OSError as error:
            raise _not_run(words[0], error.errno or 0) from error
        relay.begin(process.pid)
        with _ended(process.pid) as fd:
            while process.poll() is None:
                wait_readable(fd)
    return process.returncode


def _start(words: Sequence[bytes]) -> subprocess.Popen[bytes]:
    try:
        # Descriptors of our own are closed by exec; others were handed to the command through us.
        return subprocess.Popen(words, close_fds=False)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        # A script without a first line that says whose it is: execvp(3) gives it to the shell.
        return subprocess.Popen([_SHELL, *words], close_fds=False)


@contextmanager
def _ended(pid: int) -> Iterator[int]:
    """A descriptor that can be read once a process has ended."""
    fd = os.pidfd_open(pid)
    try:
        yield fd
    finally:
        os.close(fd)


class _Relay:
    """Takes signals for the command while it runs."""

    def __init__(self) -> None:
        self._pid = 0
        self._early: list[int] = []
        self._before = {
            signum: action
            for signum in (*_HEARD, *_PASSED_ON)
            if (action := signal.getsignal(signum)) is not signal.SIG_IGN
        }

    def __enter__(self) -> _Relay:
        for signum in self._before:
            signal.signal(signum, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        for signum, action in self._before.items():
            signal.signal(signum, action)

    def begin(self, pid: int) -> None:
        """The command is there: give it what came before it was."""
        self._pid = pid
        for signum in self._early:
            os.kill(pid, signum)

    def _take(self, signum: int, _frame: FrameType | None) -> None:
        if not self._pid:
            self._early.append(signum)
        elif signum in _PASSED_ON:
            os.kill(self._pid, signum)


def _not_run(word: bytes, number: int) -> CommandError:
    name = quote(word)
    missing = number == errno.ENOENT
    return CommandError(
        f"{name} cannot be run: {os.strerror(number)}",
        Exit.NO_COMMAND if missing else Exit.NOT_EXECUTABLE,
        subject=name,
    )
