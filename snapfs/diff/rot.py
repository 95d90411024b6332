"""`against_live`: does the directory still have the bytes that the newest snapshot recorded?

Every live file is read and its digest compared. Whoever writes to a file moves its ctime, which no program
can put back; so where the bytes differ and size, mtime, ctime and inode number are as they were recorded,
nobody wrote, and the disk (or what is between) gives other bytes than it was given. Of a file that was too
young to be trusted when it was recorded that cannot be said: there it counts as changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from snapfs.diff.operation import DiffOptions, diff
from snapfs.errors import UsageError
from snapfs.model.entry import Entry
from snapfs.model.kinds import State
from snapfs.model.snapshot import LiveSide, StoredSide
from snapfs.progress import Problem, Progress
from snapfs.repository.opened import Repository
from snapfs.tree.changes import Change

ROTTEN = "B"
"""The letter of a file whose bytes differ though nobody wrote to it."""


@dataclass(frozen=True, slots=True)
class LiveResult:
    """How many entries of the directory are not as the snapshot has them. Sizes in bytes."""

    rotten: int
    """files whose bytes differ, though nobody wrote to them"""
    modified: int
    """entries that were changed"""
    added: int
    """entries that the snapshot does not have"""
    removed: int
    """entries that only the snapshot has"""
    renamed: int
    """entries under another path"""
    unread: int
    """entries that could not be read"""
    read_bytes: int
    """bytes of files that were read"""
    duration_ns: int
    """time it took"""

    @property
    def agrees(self) -> bool:
        """Whether nothing is rotten and everything could be read."""
        return not (self.rotten or self.unread)


def against_live(
    repository: Repository,
    newest: StoredSide,
    on_change: Callable[[Change], None],
    *,
    progress: Progress,
) -> LiveResult:
    """Compare the newest snapshot of a root with its directory, byte for byte.

    ``on_change`` is told of each difference as `diff` would give it, with the letter B for what is rotten.
    Raises NotFoundError if the directory is gone, UsageError for a stream.
    """
    if newest.root.path is None:
        label = newest.root.label
        raise UsageError(f"{label} is a stream without a directory to compare with", subject=label)
    started_ns = repository.clock.now_ns()
    counted = _Counting(progress)
    letters: Counter[str] = Counter()
    live = LiveSide(newest.root, newest.snapshot)
    for change in diff(repository, newest, live, DiffOptions(checksum=True), progress=counted):
        told = replace(change, letter=ROTTEN) if _is_rotten(change) else change
        letters[told.letter] += 1
        on_change(told)
    return LiveResult(
        rotten=letters[ROTTEN],
        modified=letters["M"],
        added=letters["+"],
        removed=letters["-"],
        renamed=letters["R"],
        unread=letters["!"],
        read_bytes=counted.read_bytes,
        duration_ns=repository.clock.now_ns() - started_ns,
    )


def _is_rotten(change: Change) -> bool:
    old, new = change.old, change.new
    return (
        change.letter == "M"
        and change.what == ("content",)
        and old is not None
        and new is not None
        and old.state == State.OK
        and _written(old) == _written(new)
    )


def _written(entry: Entry) -> tuple[int, ...]:
    """What moves when somebody writes to a file, or puts another in its place."""
    return (
        entry.size, entry.mtime_s, entry.mtime_nsec, entry.ctime_s, entry.ctime_nsec, entry.ino,
        entry.nlink,
    )  # fmt: skip


class _Counting:
    """Passes on what is reported, and counts the bytes that were read."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.foretells = progress.foretells
        self.read_bytes = 0

    def phase(
        self, name: str, *, entries: int | None = None, total_bytes: int | None = None
    ) -> None:
        self._progress.phase(name, entries=entries, total_bytes=total_bytes)

    def expect(self, *, entries: int, total_bytes: int) -> None:
        self._progress.expect(entries=entries, total_bytes=total_bytes)

    def note(self, text: str) -> None:
        self._progress.note(text)

    def advance(self, *, entries: int = 0, read_bytes: int = 0) -> None:
        self.read_bytes += read_bytes
        self._progress.advance(entries=entries, read_bytes=read_bytes)

    def problem(self, problem: Problem) -> None:
        self._progress.problem(problem)
