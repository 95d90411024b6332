"""What a running operation says, on standard error: a line that moves, problems, notes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from snapfs.cli.frame.options import Common
from snapfs.cli.frame.streams import Messages, terminal_columns
from snapfs.cli.render.json import json_line
from snapfs.model.quote import printable, quote
from snapfs.model.units import format_size
from snapfs.progress import NullProgress, Problem

SHOWN_PROBLEMS = 20
"""After so many lines problems are only counted, unless --verbose."""
_INTERVAL_S = 0.2
_SETTLE_S = 1.0
"""No rate and no time left before so long, for they would jump."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something the user should know."""

    text: str
    """one line"""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One entry that could not be handled as asked; the run went on."""

    path: bytes
    """path relative to the root"""
    errno: int
    """number of the system error, 0 if none"""
    what: str
    """what happened"""


def progress_for(common: Common, messages: Messages) -> LineProgress | JsonProgress:
    """The reporter that fits the options and the terminal."""
    if common.json:
        return JsonProgress(messages, quiet=common.quiet)
    limit = None if common.verbose else SHOWN_PROBLEMS
    if messages.is_terminal and not common.quiet and not common.no_progress:
        return TerminalProgress(messages, limit)
    return LineProgress(messages, limit, quiet=common.quiet)


class LineProgress(NullProgress):
    """Problems and notes as lines; no progress. Problems are told even if notes are not wanted."""

    def __init__(self, messages: Messages, limit: int | None, *, quiet: bool = False) -> None:
        self._messages = messages
        self._limit = limit
        self._quiet = quiet
        self._problems = 0

    def problem(self, problem: Problem) -> None:
        self._problems += 1
        if self._limit is None or self._problems <= self._limit:
            self._line(f"! {quote(problem.path or b'.')}: {printable(problem.text())}")
        elif self._problems == self._limit + 1:
            self._line("! more problems are counted, not listed; --verbose lists all")

    def note(self, text: str) -> None:
        if not self._quiet:
            self._line(printable(text))

    def finish(self) -> None:
        """Nothing is left on the screen that moves."""

    def _line(self, text: str) -> None:
        self._messages.line(text)


class JsonProgress(NullProgress):
    """Problems and notes as JSON lines."""

    def __init__(self, messages: Messages, *, quiet: bool) -> None:
        self._messages = messages
        self._quiet = quiet

    def problem(self, problem: Problem) -> None:
        trouble = Trouble(problem.path, problem.errno, problem.what)
        self._messages.line(json_line("problem/1", trouble))

    def note(self, text: str) -> None:
        if not self._quiet:
            self._messages.line(json_line("note/1", Note(text)))

    def finish(self) -> None:
        return


class TerminalProgress(LineProgress):
    """Besides, one line that is rewritten: phase, counts, rate, and time left if totals are known."""

    foretells = True

    def __init__(self, messages: Messages, limit: int | None) -> None:
        super().__init__(messages, limit)
        self._shown = False
        self._next_s = 0.0
        self.phase("")

    def phase(
        self, name: str, *, entries: int | None = None, total_bytes: int | None = None
    ) -> None:
        self._name = name
        self._total_entries = entries
        self._total_bytes = total_bytes
        self._entries = self._bytes = 0
        self._started_s = time.monotonic()
        if self._shown:  # what was said of the phase before holds no longer
            self._draw(0)

    def expect(self, *, entries: int, total_bytes: int) -> None:
        self._total_entries, self._total_bytes = entries, total_bytes

    def advance(self, *, entries: int = 0, read_bytes: int = 0) -> None:
        self._entries += entries
        self._bytes += read_bytes
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + _INTERVAL_S
            self._draw(now_s - self._started_s)

    def finish(self) -> None:
        if self._shown:
            self._messages.text("\r\x1b[K")
            self._shown = False

    def _line(self, text: str) -> None:
        self.finish()
        super()._line(text)

    def _draw(self, elapsed_s: float) -> None:
        text = self.text(elapsed_s)
        width = terminal_columns() - 1
        self._messages.text(f"\r{printable(text)[:width]}\x1b[K")
        self._shown = True

    def text(self, elapsed_s: float) -> str:
        """The line: ``storing  1,200 of 4,000  85M of 1.4G  120M/s  0:11 left``."""
        parts = [self._name]
        if self._entries:
            parts.append(_of(self._entries, self._total_entries, "{:,}".format))
        if self._bytes:
            parts.append(_of(self._bytes, self._total_bytes, format_size))
        if elapsed_s >= _SETTLE_S:
            if self._bytes:
                parts.append(f"{format_size(round(self._bytes / elapsed_s))}/s")
            elif self._entries:
                parts.append(f"{round(self._entries / elapsed_s):,}/s")
            left_s = self._left_s(elapsed_s)
            if left_s is not None:
                parts.append(f"{left_s // 60}:{left_s % 60:02} left")
        return "  ".join(part for part in parts if part)

    def _left_s(self, elapsed_s: float) -> int | None:
        """Seconds left at the rate so far, of what takes longer if two totals are known."""
        counts = ((self._bytes, self._total_bytes), (self._entries, self._total_entries))
        return max(
            (
                round((total - done) * elapsed_s / done)
                for done, total in counts
                if total and 0 < done <= total
            ),
            default=None,
        )


def _of(done: int, total: int | None, write: Callable[[int], str]) -> str:
    # A total may be that of the snapshot before, or a count of what has grown since.
    return write(done) if total is None or total < done else f"{write(done)} of {write(total)}"
