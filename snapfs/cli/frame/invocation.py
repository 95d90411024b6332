"""One run of a command: its common options, where its words go, whom it may ask."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from snapfs.cli.frame.again import with_repository
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.settings import Environment
from snapfs.cli.frame.signals import Interrupted, wait_readable
from snapfs.cli.frame.streams import Messages, Output, Streams
from snapfs.cli.render.json import json_line
from snapfs.cli.render.progress import JsonProgress, LineProgress, Note, progress_for
from snapfs.clock import Clock
from snapfs.errors import RefusedError, UsageError
from snapfs.model.quote import printable


@dataclass
class Invocation:
    """What a command needs from the world besides its own arguments.

    ``words`` is the command line as it was given, ``origins`` says which options came from
    variables or a profile.
    """

    command: str
    words: tuple[bytes, ...]
    common: Common
    origins: dict[str, str]
    environment: Environment
    streams: Streams
    clock: Clock = field(default_factory=Clock)

    @property
    def out(self) -> Output:
        return self.streams.out

    @property
    def messages(self) -> Messages:
        return self.streams.messages

    @property
    def json(self) -> bool:
        return self.common.json

    @property
    def tables(self) -> bool:
        """Whether a person looks at standard output."""
        return self.out.is_terminal and not self.json

    @property
    def lock_wait_s(self) -> float:
        return self.common.lock_wait or 0.0

    def emit(self, schema: str, *parts: object) -> None:
        """One JSON object on standard output: the fields of all parts, in that order."""
        self.out.line(json_line(schema, *parts))

    def say(self, text: str) -> None:
        """A message that is no result: standard error, unless ``--quiet``.

        Command lines in it get the repository that this one was given.
        """
        if not self.common.quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """A message that tells of something wrong: standard error, whatever the options."""
        self.out.flush()
        text = self.again(text)
        if self.json:
            self.messages.line(json_line("note/1", Note(text)))
        else:
            self.messages.line(printable(text))

    def again(self, line: str) -> str:
        """A command line to type next, with the repository that this one was given."""
        return with_repository(
            line, [word.decode("utf-8", "surrogateescape") for word in self.words]
        )

    def detail(self, text: str) -> None:
        """A message for those who want to know more: only with ``--verbose``."""
        if self.common.verbose:
            self.say(text)

    @contextmanager
    def progress(self) -> Iterator[LineProgress | JsonProgress]:
        """What an operation reports to: a line that moves on a terminal, else problems and notes."""
        reporter = progress_for(self.common, self.messages)
        try:
            yield reporter
        finally:
            reporter.finish()

    def require_input(self, subject: str) -> None:
        """Raises UsageError where standard input is nothing that could be read to its end."""
        closed = self.streams.input_closed
        if closed or os.isatty(0):
            raise UsageError(
                f"{subject}: standard input is {'closed' if closed else 'a terminal'}",
                subject=subject,
                hint="pipe something into it, or give it a file",
            )

    def must_ask(self, *, yes: bool, dry_run: bool) -> bool:
        """Whether a question comes first. Raises RefusedError if nobody can answer it here.

        Called before what the question shows is worked out, which may take long.
        """
        if yes or dry_run:
            return False
        if self.json or not (os.isatty(0) and self.messages.is_terminal):
            raise RefusedError(
                f"{self.command} asks first, and nobody can answer here; nothing was done",
                subject=self.command,
                hint="add --yes, or --dry-run to see what it would do",
            )
        return True

    def confirm(self, lines: Sequence[str], question: str) -> None:
        """Ask a question whose default is no. Raises RefusedError unless the answer is yes."""
        self.out.flush()
        try:
            self.messages.text("".join(f"{line}\n" for line in lines) + f"{question} [y/N] ")
            typed = _read_answer()
        except Interrupted:
            self.messages.line("\nsnapfs: interrupted; nothing was done")
            raise
        if not typed.endswith("\n"):
            self.messages.line("")  # the end of input leaves the cursor behind the question
        if typed.strip().lower() not in {"y", "yes"}:
            raise RefusedError("nothing was done", subject=self.command)


def _read_answer() -> str:
    """One line of standard input, which is a terminal; the end of input is no."""
    answer = b""
    while not answer.endswith(b"\n") and len(answer) < 1000:
        wait_readable(0)
        data = os.read(0, 1000)
        if not data:
            break
        answer += data
    return answer.decode("utf-8", "replace")
