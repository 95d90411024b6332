"""A watch over one query: how long it works and what it puts on the disk for sorting.

SQLite looks at a flag whenever a loop of a query goes round, and the flag is set from a thread of its own:
a callback in Python would take a signal's exception and lose it. Time counts only while SQLite works,
not while somebody looks at the rows in a pager.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from threading import Condition, Thread

from snapfs.errors import SnapfsError
from snapfs.storage.scratch import unnamed_bytes

GRACE_S = 5.0
"""How long a query may go on that does not hear that its time is over."""
_TICK_S = 0.1


class Reason(Enum):
    """Why a query was stopped."""

    TIME = 1
    SPACE = 2


class Watch:
    """Calls ``stop`` when a query has worked for ``seconds`` or put ``most_bytes`` on the disk.

    ``overdue`` is called if it then goes on for ``GRACE_S``: one step of it takes all that time.
    """

    def __init__(
        self,
        stop: Callable[[], None],
        seconds: float | None,
        most_bytes: int,
        overdue: Callable[[], None] | None,
    ) -> None:
        self.reason: Reason | None = None
        self._stop = stop
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._overdue = overdue
        self._begun_s = 0.0
        self._spent_s = 0.0
        self._stopped_s = 0.0
        self._since: float | None = None
        self._over = False
        self._changed = Condition()
        self._thread = Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._begun_s = time.process_time()
        try:
            self._thread.start()
        except RuntimeError as error:
            raise SnapfsError("there is no thread left to watch over the query") from error
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._over = True
            self._changed.notify()
        self._thread.join()

    @contextmanager
    def working(self) -> Iterator[None]:
        """SQLite works within the block."""
        self._since = time.monotonic()
        try:
            yield
        finally:
            began, self._since = self._since, None
            self._spent_s += time.monotonic() - began

    def is_used_up(self) -> bool:
        """Whether what was done with the rows took the time: wide ones cost more there than in SQLite.

        What a reader keeps waiting does not count.
        """
        return self._seconds is not None and time.process_time() - self._begun_s > self._seconds

    def _look(self) -> None:
        with self._changed:
            while not self._over:
                self._changed.wait(_TICK_S)
                began = self._since
                if began is None or self._over:
                    continue
                worked_s = self._spent_s + time.monotonic() - began
                if self.reason is None:
                    self.reason = self._limit(worked_s)
                    self._stopped_s = worked_s
                if self.reason is not None:
                    # Again and again: a flag that is set between two statements is forgotten.
                    self._stop()
                    if self._overdue is not None and worked_s > self._stopped_s + GRACE_S:
                        self._overdue()

    def _limit(self, worked_s: float) -> Reason | None:
        if self._seconds is not None and worked_s >= self._seconds:
            return Reason.TIME
        return Reason.SPACE if unnamed_bytes() > self._most_bytes else None
