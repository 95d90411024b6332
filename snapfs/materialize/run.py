"""What all parts of one run share: its terms, its directories, its counts, and whom to tell of trouble."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass

from snapfs.fs.handles import refuse_exhausted
from snapfs.materialize.attributes import Attributes, Refusals
from snapfs.materialize.dirtable import DirTable
from snapfs.materialize.filewriter import Report, storage_full
from snapfs.materialize.naming import CHANGED
from snapfs.materialize.wanted import MaterializeOptions, MaterializeResult
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind
from snapfs.progress import Problem, Progress

_FULL = frozenset((errno.ENOSPC, errno.EDQUOT))
_SETUID, _SETGID = 0o4000, 0o2000


@dataclass(slots=True)
class Counts:
    """Entries by what became of them (see `MaterializeResult`)."""

    created: int = 0
    overwritten: int = 0
    retimed: int = 0
    deleted: int = 0
    left_alone: int = 0
    unchanged: int = 0
    written_bytes: int = 0
    problems: int = 0


class Run:
    """One call of `materialize`."""

    def __init__(self, target: bytes, options: MaterializeOptions, progress: Progress) -> None:
        self.target = target
        self.options = options
        self.progress = progress
        self.table = DirTable()
        self.counts = Counts()
        self.uid = os.geteuid()
        self.gid = os.getegid()
        self.failed: set[tuple[int, bytes]] = set()
        """What could not be made, by directory and name."""
        self.set_id_files = 0

    def wanted_attributes(self, entry: Entry) -> Attributes:
        """What the entry is to have here, under the owner rule of the run."""
        rule = self.options.owner
        mtime_ns = entry.mtime_s * 1_000_000_000 + entry.mtime_nsec
        if rule.is_plain:
            return Attributes(entry.mode, entry.uid, entry.gid, entry.flags, entry.xattr, mtime_ns)
        mode = entry.mode
        if not rule.set_owner and entry.kind != Kind.DIR:
            # A program that ran as its owner must not run as whoever restores it.
            mode &= ~(_SETUID if entry.uid != self.uid else 0)
            mode &= ~(_SETGID if entry.gid != self.gid else 0)
        return Attributes(
            mode,
            rule.user(entry.uid),
            rule.group(entry.gid),
            entry.flags,
            rule.xattrs(entry.xattr),
            mtime_ns,
        )

    def problem(self, directory: int, name: bytes, number: int, what: str) -> None:
        """Tell that the entry ``name`` of a directory (``b""``: the directory) is not as wanted."""
        self.problem_at(self.table.path(directory, name), number, what)

    def problem_at(self, path: bytes, number: int, what: str) -> None:
        """The same by path from the target. Raises SnapfsError if no descriptor was left."""
        refuse_exhausted(number)
        self.counts.problems += 1
        self.counts.left_alone += what == CHANGED
        self.progress.problem(Problem(path, number, what))

    def tell_unread(self, directory: int, name: bytes) -> None:
        """Tell that the snapshot does not have what the entry held."""
        self.problem(
            directory, name, 0, "could not be read when the snapshot was taken, or is lost"
        )

    def is_saved(self, path: bytes, live: os.stat_result) -> bool:
        """Whether a live entry may go or be replaced; else it is told and counted as left alone."""
        saved = self.options.saved
        if saved is None or saved(path, live):
            return True
        self.problem_at(path, 0, "came or changed since the safety snapshot was taken: left alone")
        self.counts.left_alone += 1
        return False

    def trouble(self, directory: int, name: bytes, error: OSError) -> None:
        """Tell of a failed call; raises StorageFullError if the target is full."""
        self.stop_if_full(error)
        self.problem(directory, name, error.errno or 0, error.strerror or str(error))

    def stop_if_full(self, error: OSError) -> None:
        """Raise StorageFullError if that is what ``error`` says."""
        if error.errno in _FULL:
            raise storage_full(self.target) from error

    def refusals(self, directory: int, name: bytes, refused: Refusals) -> None:
        """Tell what an entry did not get, if there is anything."""
        if refused:
            self.problem(directory, name, refused.errno, refused.text())

    def passed(self, entry: Entry) -> None:
        """Nothing need be written of an entry: what is left to do is less by all of it."""
        size = entry.size if entry.kind == Kind.FILE else 0
        self.progress.advance(entries=1, read_bytes=size)

    def report(self, report: Report) -> None:
        """Take in what a batch of files came to."""
        counts = self.counts
        counts.written_bytes += report.written_bytes
        for trouble in report.troubles:
            self.problem(trouble.directory, trouble.name, trouble.errno, trouble.what)
            if trouble.missing:
                self.failed.add((trouble.directory, trouble.name))
                if trouble.replaces:
                    counts.overwritten -= 1
                else:
                    counts.created -= 1
        self.progress.advance(entries=report.files, read_bytes=report.written_bytes)

    def result(self) -> MaterializeResult:
        """The counts so far."""
        counts = self.counts
        return MaterializeResult(
            created=counts.created,
            overwritten=counts.overwritten,
            retimed=counts.retimed,
            deleted=counts.deleted,
            left_alone=counts.left_alone,
            unchanged=counts.unchanged,
            written_bytes=counts.written_bytes,
            problems=counts.problems,
        )
