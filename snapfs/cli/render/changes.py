"""Differences as lines, NUL-ended fields, unified diffs, counts or JSON."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.pairs import Pair
from snapfs.cli.frame.streams import Output, encode
from snapfs.cli.render.json import text_of
from snapfs.diff import Change, unified
from snapfs.model.quote import printable, quote
from snapfs.model.units import format_size
from snapfs.repository.opened import Repository


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between two trees."""

    letter: str
    """M modified, + added, - removed, R renamed, ! could not be read"""
    path: bytes
    """path relative to the root; of a rename the new one"""
    old_path: bytes | None
    """of a rename the old path"""
    what: tuple[str, ...]
    """what differs: content, mode, owner, mtime, xattr, target, type and so on"""


@dataclass(frozen=True, slots=True)
class DiffText:
    """The difference of one file's text."""

    path: bytes
    """path relative to the root"""
    diff: str
    """unified diff; what is not UTF-8 in it is shown as \\\\xNN"""


@dataclass(frozen=True, slots=True)
class DiffSummary:
    """How much differs."""

    modified: int
    """entries changed in place"""
    added: int
    """entries only in the second tree"""
    removed: int
    """entries only in the first tree"""
    renamed: int
    """entries under another path"""
    unread: int
    """entries that one side could not read"""
    added_bytes: int
    """by how much files grew or were added"""
    removed_bytes: int
    """by how much files shrank or were removed"""


class Tally:
    """Counts differences."""

    def __init__(self) -> None:
        self._letters = dict.fromkeys("M+-R!", 0)
        self._grown = self._shrunk = 0

    @property
    def count(self) -> int:
        """How many there were."""
        return sum(self._letters.values())

    def add(self, change: Change) -> None:
        """One more."""
        self._letters[change.letter] += 1
        self._grown += max(0, change.grown_bytes)
        self._shrunk += max(0, -change.grown_bytes)

    def summary(self) -> DiffSummary:
        """What they come to."""
        return DiffSummary(
            modified=self._letters["M"],
            added=self._letters["+"],
            removed=self._letters["-"],
            renamed=self._letters["R"],
            unread=self._letters["!"],
            added_bytes=self._grown,
            removed_bytes=self._shrunk,
        )


class Form(Enum):
    """How differences are shown."""

    LINES = "lines"
    ZERO = "zero"
    CONTENT = "content"
    STAT = "stat"


class ChangePrinter:
    """Prints each change as it comes, and counts at the end. ``count`` says how many came."""

    def __init__(
        self, invocation: Invocation, repository: Repository, pair: Pair, form: Form
    ) -> None:
        self._invocation = invocation
        self._repository = repository
        self._pair = pair
        self._form = form
        self._tally = Tally()

    @property
    def count(self) -> int:
        return self._tally.count

    @property
    def unread(self) -> bool:
        """Whether something could not be read."""
        return self._tally.summary().unread > 0

    def change(self, change: Change) -> None:
        """One difference."""
        self._tally.add(change)
        if self._form is Form.STAT:
            return
        out = self._invocation.out
        if self._form is Form.CONTENT:
            self._content(change)
        elif self._invocation.json:
            difference = Difference(change.letter, change.path, change.old_path, change.what)
            self._invocation.emit("diff/1", difference)
        elif self._form is Form.ZERO:
            out.data(b"\0".join(raw_fields(change)) + b"\0")
        else:
            out.line(line_of(change))

    def _content(self, change: Change) -> None:
        lines = b"".join(unified(self._repository, change, self._pair.first, self._pair.second))
        if self._invocation.json:
            if lines:
                self._invocation.emit("diff-text/1", DiffText(change.path, text_of(lines)))
        else:
            print_text(self._invocation.out, lines)

    def finish(self) -> None:
        """The counts, if they were wanted."""
        if self._form is not Form.STAT:
            return
        summary = self._tally.summary()
        if self._invocation.json:
            self._invocation.emit("diff-stat/1", summary)
        else:
            self._invocation.out.line(stat_line(summary))


def print_text(out: Output, lines: bytes) -> None:
    """Lines of files as they are; on a terminal with nothing in them that it would act on."""
    if not out.is_terminal:
        out.data(lines)
        return
    for line in lines.removesuffix(b"\n").split(b"\n") if lines else ():
        out.line(_visible(line))


def line_of(change: Change) -> str:
    """``M TAB path TAB what,what``; ``R TAB old -> new``."""
    path = quote(change.path or b".")
    if change.old_path is not None:
        path = f"{quote(change.old_path)} -> {path}"
    return "\t".join(part for part in (change.letter, path, ",".join(change.what)) if part)


def raw_fields(change: Change) -> list[bytes]:
    """Letter, path (old path before it for a rename), what differs."""
    paths = [change.path] if change.old_path is None else [change.old_path, change.path]
    return [change.letter.encode(), *paths, encode(",".join(change.what))]


def stat_line(summary: DiffSummary) -> str:
    """``12 modified, 3 added, 1 removed, 2 renamed; +1.5M -12K``."""
    counts = ", ".join(
        f"{count:,} {word}"
        for count, word in (
            (summary.modified, "modified"),
            (summary.added, "added"),
            (summary.removed, "removed"),
            (summary.renamed, "renamed"),
            (summary.unread, "unread"),
        )
        if count
    )
    if not counts:
        return "nothing differs"
    return f"{counts}; +{format_size(summary.added_bytes)} -{format_size(summary.removed_bytes)}"


def _visible(line: bytes) -> str:
    """A line of a file, with nothing in it that a terminal would act on but tabs."""
    return "\t".join(map(printable, line.decode("utf-8", "surrogateescape").split("\t")))
