"""A directory held against its newest snapshot, as ``verify --against-live`` says it."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.render.changes import line_of
from snapfs.cli.render.text import Called, reference
from snapfs.diff import ROTTEN, Change, LiveResult
from snapfs.model.quote import quote_text
from snapfs.model.snapshot import StoredSide
from snapfs.model.units import format_duration, format_size


@dataclass(frozen=True, slots=True)
class LiveDifference:
    """One entry of the directory that is not as the snapshot has it."""

    letter: str
    """B bit rot: other bytes, though nobody wrote; M modified, + added, - removed, R renamed, ! could not be read"""
    path: bytes
    """path relative to the root; of a rename the new one"""
    old_path: bytes | None
    """of a rename the old path"""
    what: tuple[str, ...]
    """what differs: content, mode, owner, mtime, xattr, target, type and so on"""


class LivePrinter:
    """Prints each difference as it comes, and the counts at the end."""

    def __init__(self, invocation: Invocation, newest: StoredSide) -> None:
        self._invocation = invocation
        self._newest = newest
        self._first_rotten: Change | None = None

    def change(self, change: Change) -> None:
        """One difference."""
        if change.letter == ROTTEN and self._first_rotten is None:
            self._first_rotten = change
        if self._invocation.json:
            told = LiveDifference(change.letter, change.path, change.old_path, change.what)
            self._invocation.emit("verify-live/1", told)
        else:
            self._invocation.out.line(line_of(change))

    def finish(self, result: LiveResult) -> None:
        """The counts."""
        invocation, name = self._invocation, reference(self._newest.root, self._newest.snapshot)
        if invocation.json:
            called = Called(name)
            invocation.emit("verify-live-sum/1", called, result)
            return
        counts = ", ".join(
            f"{count:,} {word}"
            for count, word in (
                (result.rotten, "with bit rot"),
                (result.unread, "unread"),
                (result.modified, "modified"),
                (result.added, "added"),
                (result.removed, "removed"),
                (result.renamed, "renamed"),
            )
            if count
        )
        took = f"read {format_size(result.read_bytes)} in {format_duration(result.duration_ns)}"
        invocation.say(f"{name}: {counts or 'the directory agrees, byte for byte'}; {took}")
        if self._first_rotten is not None:
            path = quote_text(
                f"{name}:{self._first_rotten.path.decode('utf-8', 'surrogateescape')}"
            )
            invocation.say(
                "B: other bytes than were recorded, and no time moved; the snapshot has the good ones: "
                f"`snapfs restore {path} --in-place --overwrite always`"
            )
