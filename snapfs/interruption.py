"""Long calls that a signal can end.

Python runs a signal's handler between two instructions of the main thread, and an SQL statement over a
million rows is one instruction: it would end first. Whoever makes such calls enters here how they are
stopped from another thread; which thread does that, and when, is the command line's business.
"""

from __future__ import annotations

from typing import Protocol
from weakref import WeakSet


class Stoppable(Protocol):
    """Something whose running call can be ended."""

    def interrupt(self) -> None:
        """End the call that runs, if one does; from any thread."""


_entered: WeakSet[Stoppable] = WeakSet()


def enter(thing: Stoppable) -> None:
    """Have `stop_all` end the calls of ``thing`` for as long as it lives."""
    _entered.add(thing)


def stop_all() -> None:
    """End every call that runs; the caller's failure says nothing, the signal that is due does."""
    for thing in list(_entered):
        thing.interrupt()
