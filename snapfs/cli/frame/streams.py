"""Standard output and standard error as bytes, whatever the locale says and whatever is closed.

Results go to ``Output``, everything else to ``Messages``. Text is UTF-8; surrogate escapes turn back
into the bytes that they stand for.
"""

from __future__ import annotations

import errno
import os
from typing import NamedTuple

from snapfs.errors import SnapfsError

_BUFFER = 1 << 16


class OutputClosed(Exception):  # noqa: N818 (nothing went wrong)
    """The reader of standard output went away, as ``head`` does."""


def fill_closed_descriptors() -> set[int]:
    """Open /dev/null where standard input, output or error is closed; which were.

    Else the next file opened would get that number, and a message would be written into it.
    """
    closed: set[int] = set()
    while True:
        descriptor = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        if descriptor > 2:
            os.close(descriptor)
            return closed
        os.set_inheritable(descriptor, True)
        closed.add(descriptor)


def encode(text: str) -> bytes:
    """UTF-8, with the bytes that surrogate escapes stand for."""
    return text.encode("utf-8", "surrogateescape")


def words_as_text(words: list[str]) -> list[str]:
    """Command-line words as UTF-8 text with surrogate escapes, whatever the locale made of them."""
    return [os.fsencode(word).decode("utf-8", "surrogateescape") for word in words]


class Output:
    """Standard output. Flushed by ``flush``, when a buffer is full, and after each line on a terminal.

    The buffer is its own: what could not be written is not tried again by a destructor.
    """

    def __init__(self, descriptor: int = 1, *, closed: bool = False) -> None:
        """``closed`` says that there is none: whatever is to be printed fails."""
        self._descriptor = descriptor
        self._closed = closed
        self._held: list[bytes] = []
        self._held_bytes = 0
        self.is_terminal = os.isatty(descriptor)

    def line(self, text: str) -> None:
        """One line of text."""
        self.data(encode(text) + b"\n")
        if self.is_terminal:
            self.flush()

    def data(self, data: bytes) -> None:
        """Bytes as they are."""
        self._held.append(data)
        self._held_bytes += len(data)
        if self._held_bytes >= _BUFFER:
            self.flush()

    def flush(self) -> None:
        """Hand everything over. Raises OutputClosed, or SnapfsError if it cannot be written."""
        rest = memoryview(b"".join(self._held))
        self._held.clear()
        self._held_bytes = 0
        if rest and self._closed:
            raise SnapfsError(
                "standard output is closed, and there is something to print",
                subject="standard output",
                hint="give it a file or /dev/null",
            )
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise OutputClosed from error
            raise SnapfsError(
                f"standard output: {error.strerror}", subject="standard output"
            ) from error


class Messages:
    """Standard error. Never raises: there is nowhere to complain to."""

    def __init__(self, descriptor: int = 2) -> None:
        self._descriptor = descriptor
        self.is_terminal = os.isatty(descriptor)

    def line(self, text: str) -> None:
        """One line of text, handed over at once."""
        self.text(text + "\n")

    def text(self, text: str) -> None:
        """Text as it is, handed over at once."""
        rest = memoryview(encode(text))
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            pass


class Streams(NamedTuple):
    """Where results go, and where everything else goes."""

    out: Output
    messages: Messages
    input_closed: bool = False
    """there is no standard input; what stands in for it is empty"""


def terminal_columns() -> int:
    """Width to write for: ``$COLUMNS``, else the terminal's, else 80.

    (shutil knows it too, and loads four compressors.)
    """
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    for descriptor in (1, 2):
        try:
            return os.get_terminal_size(descriptor).columns or 80
        except OSError:
            continue
    return 80


def speaks_utf8() -> bool:
    """Whether the locale that the environment names is UTF-8, by the order in which C looks."""
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        if value := os.environ.get(name):
            return value.lower().replace("-", "").rpartition(".")[2].startswith("utf8")
    return False
