"""Where a stream comes from: an open descriptor, or a command that is run for it.

Both are entered once the snapshot can be taken, so that no command runs for nothing, and are left before it
is recorded: a command that failed has given half of what it should, and is known by its exit code alone.
"""

from __future__ import annotations

import os
import select
import subprocess
from contextlib import suppress
from types import TracebackType

from snapfs import interruption
from snapfs.capture.cutter import Fill
from snapfs.errors import SnapfsError
from snapfs.model.quote import quote_text
from snapfs.model.signalname import signal_name

_PATIENCE_S = 3.0
"""How long a command that is no longer wanted may take to end."""


class _Reading:
    """Reads what comes, and hears of signals while nothing does."""

    def __init__(self) -> None:
        self._ours, self._theirs = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        interruption.enter(self)

    def interrupt(self) -> None:
        """End the wait; from any thread."""
        with suppress(OSError):
            os.write(self._theirs, b"\0")

    def wait(self, fd: int) -> None:
        """Until ``fd`` can be read, or has ended."""
        ready = select.poll()
        ready.register(fd, select.POLLIN)
        ready.register(self._ours, select.POLLIN)
        while not any(number == fd for number, _ in ready.poll()):
            os.read(self._ours, 1024)
            interruption.hear()

    def fill(self, fd: int, view: memoryview) -> int:
        """The next bytes of ``fd``; 0 at its end."""
        self.wait(fd)
        try:
            return os.readv(fd, [view])
        except OSError as error:
            raise SnapfsError(f"the stream cannot be read: {error.strerror}") from error

    def close(self) -> None:
        """Nothing more is to come."""
        for fd in (self._ours, self._theirs):
            os.close(fd)


class InputSource:
    """What an open descriptor gives up to its end. Whoever writes into it may fail unheard."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._reading: _Reading | None = None

    def __enter__(self) -> Fill:
        reading = self._reading = _Reading()
        return lambda view: reading.fill(self._fd, view)

    def __exit__(self, *_: object) -> None:
        if self._reading is not None:
            self._reading.close()


class CommandSource:
    """What a command writes to its standard output; its input and its messages are ours.

    It is in our process group: Ctrl-C at the terminal reaches both.
    """

    def __init__(self, command: str) -> None:
        """``command`` is a line for /bin/sh."""
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._reading: _Reading | None = None

    def __enter__(self) -> Fill:
        words = [b"/bin/sh", b"-c", self._command.encode("utf-8", "surrogateescape")]
        reading = self._reading = _Reading()
        try:
            process = self._process = subprocess.Popen(words, stdout=subprocess.PIPE, bufsize=0)
        except OSError as error:
            reading.close()
            raise self._failed(f"cannot be run: {error.strerror}") from error
        assert process.stdout is not None
        fd = process.stdout.fileno()
        return lambda view: reading.fill(fd, view)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        process, reading = self._process, self._reading
        assert process is not None
        assert process.stdout is not None
        assert reading is not None
        try:
            process.stdout.close()
            if error is None:
                self._wait(process, reading)
        finally:
            if process.returncode is None:
                _end(process)
            reading.close()
        if error is None and process.returncode:
            code = process.returncode
            raise self._failed(
                f"failed with exit code {code}"
                if code > 0
                else f"was killed by {signal_name(-code)}"
            )

    def _wait(self, process: subprocess.Popen[bytes], reading: _Reading) -> None:
        """It has closed its output and may go on working for a while."""
        fd = os.pidfd_open(process.pid)
        try:
            reading.wait(fd)
        finally:
            os.close(fd)
        process.wait()

    def _failed(self, how: str) -> SnapfsError:
        command = quote_text(self._command)
        return SnapfsError(
            f"{command} {how}; there is no snapshot of what it gave", subject=command
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
