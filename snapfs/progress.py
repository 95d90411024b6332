"""What operations report to while they run: terminal, JSON, null and test versions implement it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Problem:
    """Trouble with one entry: the run goes on, the exit code says that it happened.

    ``path`` is relative to the root (``b""`` is the root itself); ``errno`` 0 if no system call failed.
    """

    path: bytes
    errno: int
    what: str

    def text(self) -> str:
        """What happened, and why."""
        return with_reason(self.what, self.errno)


def with_reason(what: str, errno: int) -> str:
    """``cannot be read: Permission denied``; ``what`` alone if it says why, or there is no errno."""
    reason = os.strerror(errno) if errno else ""
    return what if reason in what else f"{what}: {reason}"


class Progress(Protocol):
    """Receives what an operation has to say. Calls must be cheap; none may raise."""

    foretells: bool
    """whether it tells the time left: only then totals are worth a count of their own"""

    def phase(
        self, name: str, *, entries: int | None = None, total_bytes: int | None = None
    ) -> None:
        """A new phase begins, with its totals if they are known."""

    def expect(self, *, entries: int, total_bytes: int) -> None:
        """The totals of the phase under way are known by now."""

    def advance(self, *, entries: int = 0, read_bytes: int = 0) -> None:
        """So much more is done."""

    def problem(self, problem: Problem) -> None:
        """One entry could not be handled as asked."""

    def note(self, text: str) -> None:
        """One line the user should see (where the repository is, what was left out)."""


class NullProgress:
    """Says nothing."""

    foretells = False

    def phase(
        self, name: str, *, entries: int | None = None, total_bytes: int | None = None
    ) -> None:
        return

    def expect(self, *, entries: int, total_bytes: int) -> None:
        return

    def advance(self, *, entries: int = 0, read_bytes: int = 0) -> None:
        return

    def problem(self, problem: Problem) -> None:
        return

    def note(self, text: str) -> None:
        return


@dataclass
class RecordingProgress(NullProgress):
    """Keeps what it is told, for tests."""

    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def problem(self, problem: Problem) -> None:
        self.problems.append(problem)

    def note(self, text: str) -> None:
        self.notes.append(text)
