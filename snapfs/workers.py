"""Worker processes: fresh interpreters that compute and do file I/O, and know no catalog and no lock.

Why processes of our own and not a pool: a worker must inherit nothing but the descriptors named here
(no lock, no database), must end when its pipe ends (so that a killed parent leaves nobody behind), and
its death must fail the run instead of being replaced in silence. Messages are pickles over a private
socket pair; both ends are the same program.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

from snapfs.errors import SnapfsError, WorkerDiedError

_MESSAGE = 0
_ANSWER = 1
_END = object()
_PATIENCE_S = 10.0
"""How long an ended worker may take to go."""


def _start(*args: Any, **options: Any) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(*args, **options)
    except OSError as error:
        raise SnapfsError(
            f"a worker process cannot be started: {error.strerror}",
            hint="allow more processes (ulimit -u) or memory",
        ) from error


class Question(NamedTuple):
    """What a worker wants to know before it goes on; answered with `Worker.answer`."""

    value: Any


class Told(NamedTuple):
    """What a worker says on the way, without waiting for an answer."""

    value: Any


class Worker:
    """The parent's end of one worker process running ``module`` (which calls `serve`)."""

    def __init__(self, module: str, *, pass_fds: Sequence[int] = ()) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            # -P: the working directory may be the very tree under snapshot and must never be
            # searched for modules.
            self._process = _start(
                [sys.executable, "-P", "-m", module, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno(), *pass_fds],
                close_fds=True,
                # A Ctrl-C at the terminal is the parent's: it ends the worker by closing the pipe.
                process_group=0,
            )
        self.connection = Connection(ours.detach())
        self.pending = 0

    def send(self, message: object) -> None:
        """Hand over one message; `pending` counts those not yet answered."""
        try:
            self.connection.send_bytes(pickle.dumps((_MESSAGE, message), protocol=5))
        except OSError as error:
            raise WorkerDiedError("a worker process ended before its work was done") from error
        self.pending += 1

    def receive(self) -> Any:
        """The next message (or `Question`, or `Told`); raises what the worker raised.

        Raises WorkerDiedError if the worker is gone.
        """
        try:
            ok, value = pickle.loads(self.connection.recv_bytes())
        except (EOFError, OSError) as error:
            raise WorkerDiedError("a worker process ended before its work was done") from error
        if ok is None:
            return value
        self.pending -= 1
        if not ok:
            if isinstance(value, SnapfsError | OSError):
                raise value
            raise WorkerDiedError(f"a worker process failed: {value}")
        return value

    def answer(self, value: object) -> None:
        """Answer the worker's `Question`."""
        try:
            self.connection.send_bytes(pickle.dumps((_ANSWER, value), protocol=5))
        except OSError as error:
            raise WorkerDiedError("a worker process ended before its work was done") from error

    def close(self) -> None:
        """End the worker: closing the pipe is the order to stop."""
        self.connection.close()
        # Popen.wait with a timeout looks again and again, with sleeps between.
        fd = os.pidfd_open(self._process.pid)
        try:
            ended = select.poll()  # select() refuses descriptors over 1,023
            ended.register(fd, select.POLLIN)
            ended.poll(_PATIENCE_S * 1000)
        finally:
            os.close(fd)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def kill(self) -> None:
        """End it now (the run has failed)."""
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(OSError):
            self.connection.close()


def close_all(workers: Sequence[Worker]) -> None:
    """End all of them side by side."""
    for worker in workers:
        worker.connection.close()
    for worker in workers:
        worker.close()


def ready(workers: Sequence[Worker], timeout_s: float | None = None) -> Iterator[Worker]:
    """Those of ``workers`` that have something to say, waiting for the first."""
    by_connection = {worker.connection: worker for worker in workers if worker.pending}
    for connection in wait(list(by_connection), timeout_s):
        yield by_connection[connection]  # type: ignore[index]


class _Parent:
    """A worker's view of its parent.

    A thread takes messages off the pipe as they come: parent and worker may both be in the middle of
    sending something larger than the pipe holds, and would otherwise wait for each other for ever.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._messages: SimpleQueue[Any] = SimpleQueue()
        self._answers: SimpleQueue[Any] = SimpleQueue()
        Thread(target=self._listen, daemon=True).start()

    def next_message(self) -> Any:
        """Raises EOFError once the pipe has ended."""
        return self._get(self._messages)

    def ask(self, value: object) -> Any:
        self.connection.send_bytes(pickle.dumps((None, Question(value)), protocol=5))
        return self._get(self._answers)

    def tell(self, value: object) -> None:
        self.connection.send_bytes(pickle.dumps((None, Told(value)), protocol=5))

    @staticmethod
    def _get(queue: SimpleQueue[Any]) -> Any:
        found = queue.get()
        if found is _END:
            raise EOFError
        return found

    def _listen(self) -> None:
        while True:
            try:
                tag, value = pickle.loads(self.connection.recv_bytes())
            except (EOFError, OSError):
                self._messages.put(_END)
                self._answers.put(_END)
                return
            (self._answers if tag == _ANSWER else self._messages).put(value)


_parent: list[_Parent] = []


def ask(value: object) -> Any:
    """In a worker, while it handles a message: ask the parent and wait for the answer."""
    return _parent[0].ask(value)


def tell(value: object) -> None:
    """In a worker, while it handles a message: say how it goes."""
    _parent[0].tell(value)


def serve(handle: Callable[[Any], object]) -> None:
    """Main loop of a worker module: answer each message with ``handle(message)`` until the pipe ends.

    Signals of the terminal are the parent's business: it ends the worker by closing the pipe.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # Tuples by the hundred thousand are no cycles.
    gc.set_threshold(50_000, 20, 100)
    connection = Connection(int(sys.argv[1]))
    os.set_inheritable(connection.fileno(), False)
    parent = _Parent(connection)
    _parent.append(parent)
    while True:
        try:
            message = parent.next_message()
        except (EOFError, OSError):
            return
        reply: tuple[bool, object]
        try:
            reply = (True, handle(message))
        except (SnapfsError, OSError) as error:
            reply = (False, error)
        except Exception as error:  # becomes the parent's failure
            reply = (False, f"{type(error).__name__}: {error}")
        try:
            connection.send_bytes(pickle.dumps(reply, protocol=5))
        except OSError:
            return
