"""Signals as exceptions: SIGINT, SIGTERM and SIGHUP unwind the stack, so that every lock, temporary
file and worker is given back on the way, and end the process with 128 + signal.

A signal that is ignored when snapfs starts (nohup, a background job) stays ignored. While the stack
unwinds, further signals are ignored, so that clean-up is not interrupted; one that arrives when it
takes longer than ``PATIENCE_S`` ends the process at once, which is as safe as SIGKILL.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from types import FrameType

PATIENCE_S = 3.0
"""How long clean-up may take before another signal ends the process."""
GRACE_S = 0.05
"""How long the main thread has to take a signal before its call is ended."""
_CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """A signal arrived. A BaseException, so that no ``except Exception`` swallows it."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum

    @property
    def exit_code(self) -> int:
        """129, 130 or 143."""
        return 128 + self.signum


class _Handler:
    """Raises on the first signal; what it does on later ones depends on the time between."""

    def __init__(self) -> None:
        self.first_at: float | None = None

    def __call__(self, signum: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.first_at is None:
            self.first_at = now
            raise Interrupted(signum)
        if now - self.first_at > PATIENCE_S:
            os._exit(128 + signum)

    def swallowed(self, unraisable: sys.UnraisableHookArgs) -> None:
        """An exception that Python could not raise: it says nothing, and a signal counts anew."""
        if isinstance(unraisable.exc_value, Interrupted):
            self.first_at = None


@contextmanager
def as_exceptions(*, last: bool) -> Iterator[None]:
    """Within the block the three signals raise ``Interrupted`` in the main thread.

    ``last`` says that the process ends after the block: from then on they are ignored, for all is
    done and told, and an interpreter that ends gives handlers of its own up for a raw death.
    """
    handler = _Handler()
    before = {}
    for signum in _CAUGHT:
        if signal.getsignal(signum) is not signal.SIG_IGN:
            before[signum] = signal.signal(signum, handler)
    hook, sys.unraisablehook = sys.unraisablehook, handler.swallowed
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for signum, action in before.items():
            signal.signal(signum, signal.SIG_IGN if last else action)


@contextmanager
def reaching(stop: Callable[[], None]) -> Iterator[None]:
    """Within the block a signal also ends a call that does not come back by itself: ``stop`` is called
    from another thread if the main one has not taken the signal in ``GRACE_S``.
    """
    ours, theirs = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(theirs, False)
    before = signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
    watcher = Thread(target=_watch, args=(ours, stop), daemon=True)
    try:
        # Where no thread can be had, a signal waits for the call, as it would anyway.
        with suppress(RuntimeError):
            watcher.start()
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(theirs)  # which ends the thread
        if watcher.ident is not None:
            watcher.join()
        os.close(ours)


def _watch(fd: int, stop: Callable[[], None]) -> None:
    while signum := os.read(fd, 1):
        handler = signal.getsignal(signum[0])
        if isinstance(handler, _Handler) and handler.first_at is None:
            time.sleep(GRACE_S)
            if handler.first_at is None:
                stop()


def wait_readable(fd: int) -> None:
    """Wait until there is something to read from ``fd``.

    A signal that arrives just before the wait begins ends it as well; a bare read would be entered
    with the signal taken and the exception still to be raised.
    """
    ours, theirs = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    before = signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
    try:
        readable = select.poll()
        readable.register(fd, select.POLLIN)
        readable.register(ours, select.POLLIN)
        readable.poll()
    finally:
        signal.set_wakeup_fd(before)
        os.close(ours)
        os.close(theirs)
