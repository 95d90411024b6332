"""Long calls that a signal can end.

Python runs a signal's handler between two instructions of the main thread, and an SQL statement over a
million rows is one instruction: it would end first. Whoever makes such calls enters here how they are
stopped from another thread; which thread does that, and when, is the command line's business.
"""

from __future__ import annotations

from threading import Lock
from typing import Protocol
from weakref import WeakSet


class Stoppable(Protocol):
    """Something whose running call can be ended."""

    def interrupt(self) -> None:
        """End the call that runs, if one does; from any thread."""


_entered: WeakSet[Stoppable] = WeakSet()
_entering = Lock()


def enter(thing: Stoppable) -> None:
    """Have `stop_all` end the calls of ``thing`` for as long as it lives."""
    with _entering:
        _entered.add(thing)


def stop_all() -> None:
    """End every call that runs. Whoever made one calls `hear` when it fails."""
    with _entering:
        things = list(_entered)
    for thing in things:
        thing.interrupt()


def hear() -> None:
    """Have the signal that is due raise here: Python looks for one whenever a function is entered.

    Else it would raise at the next such place, which is the beginning of the first context's end, whose
    clean-up would be lost.
    """
