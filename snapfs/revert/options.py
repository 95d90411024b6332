"""What `revert` is asked and what it answers."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.model.snapshot import Snapshot
from snapfs.threeway import Why


@dataclass(frozen=True, slots=True)
class RevertOptions:
    """What to undo. ``paths`` are from the root, () is all. ``all_or_nothing``: nothing if there is a conflict."""

    paths: tuple[bytes, ...] = ()
    all_or_nothing: bool = False


@dataclass(frozen=True, slots=True)
class Undone:
    """One path that is undone, or would be."""

    letter: str
    """+ it is made, - it goes with all in it, M it is made as it was"""
    path: bytes
    """path relative to the root"""
    what: tuple[str, ...]
    """of M what differs now from what it was: content, mode, owner, mtime, xattr, target, type and so on"""


@dataclass(frozen=True, slots=True)
class Left:
    """One path that is left as it is because it is a conflict."""

    letter: str
    """C"""
    path: bytes
    """path relative to the root; a directory that is not there stands for all that belongs into it"""
    why: Why
    """the kind of conflict"""
    reason: str
    """the same for people"""


@dataclass(frozen=True, slots=True)
class RevertPlan:
    """What a revert would do."""

    target: bytes
    """directory that would be written to"""
    create: int
    """entries that are not there"""
    overwrite: int
    """entries that are replaced or mended, but for those that only get a time"""
    delete: int
    """entries that go"""
    conflicts: int
    """paths that would be left as they are"""
    left_out: int
    """paths that are not touched, for the rules of one of the two snapshots left them out"""
    total_bytes: int
    """bytes that are written"""
    problems: int
    """entries that could not be brought back as they were"""
    times: int
    """directories that get back the time that they had, and are else as they were: no path is told of them"""

    @property
    def nothing(self) -> bool:
        """Whether nothing would be done, conflicts or not."""
        return not (self.create or self.overwrite or self.delete or self.problems or self.times)


@dataclass(frozen=True, slots=True)
class RevertResult:
    """What a revert did. Sizes in bytes."""

    target: bytes
    """directory that was written to"""
    applied: bool
    """false if nothing was done: there was nothing to do, or a conflict forbade it"""
    created: int
    """entries that were not there"""
    overwritten: int
    """entries that were replaced or mended, but for those that only got a time"""
    deleted: int
    """entries that went"""
    conflicts: int
    """paths that were left as they are"""
    left_out: int
    """paths that were not touched, for the rules of one of the two snapshots left them out"""
    written_bytes: int
    """size of the files that were written, holes counted"""
    safety: Snapshot | None
    """snapshot of what was there before"""
    touched: tuple[bytes, ...]
    """paths, from the root, that all of it lies in; the root is the empty one"""
    problems: int
    """entries that could not be brought back as they were"""
    duration_ns: int
    """time it took"""
    times: int
    """directories that got back the time that they had, and were else as they were"""
