"""Taking a snapshot of a directory. Both `create` and the safety snapshot of a restore are this."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields

from snapfs.capture.append import Appended, AppendOptions, Head, append
from snapfs.capture.capture import Captured, capture
from snapfs.capture.listed import Listed
from snapfs.capture.seen import ScanOptions
from snapfs.capture.store import BlockStore
from snapfs.fs.matching import MOST_LARGE, RuleMatcher
from snapfs.fs.mounts import mounts_below
from snapfs.fs.rules import Rules
from snapfs.model.snapshot import Root
from snapfs.progress import Problem, Progress
from snapfs.repository.opened import Repository


@dataclass(frozen=True, slots=True)
class TakeOptions(AppendOptions):
    """How to take it."""

    ignore_ctime: bool = False
    ignore_inode: bool = False
    spare: Callable[[bytes], bool] | None = None
    """says of a path that is left out for a marker or its size that it is wanted all the same"""
    listed: Listed | None = None
    """what to look at, if the rest is to be taken as unchanged"""


@dataclass(frozen=True, slots=True)
class Taken(Appended):
    """What came of it, and of the rules."""

    matcher: RuleMatcher
    unread_rules: int
    """ignore files whose rules do not count"""
    whole: bool
    """whether all of the directory was looked at"""


def take(
    repository: Repository,
    root: Root,
    root_fd: int,
    rules: Rules,
    options: TakeOptions,
    *,
    progress: Progress,
) -> Taken:
    """Take a snapshot of the directory open as ``root_fd`` (left open).

    Raises UsageError (the name is taken), LockedError, StorageFullError, CatalogBehindError.
    """
    taking = _Taking(repository, root, root_fd, rules, options, progress)
    done = append(repository, root, options, taking.capture, taking.rules, progress=progress)
    values = {field.name: getattr(done, field.name) for field in fields(done)}
    return Taken(
        **values,
        matcher=taking.matcher,
        unread_rules=len(taking.unread_rules),
        whole=taking.listed is None,
    )


class _Taking:
    """A directory on its way into a snapshot."""

    def __init__(
        self,
        repository: Repository,
        root: Root,
        root_fd: int,
        rules: Rules,
        options: TakeOptions,
        progress: Progress,
    ) -> None:
        self._repository = repository
        self._root = root
        self._root_fd = root_fd
        self._options = options
        self._progress = progress
        self.unread_rules: set[Problem] = set()
        self.matcher = RuleMatcher(rules, problem=self._rule_problem)
        self.listed: Listed | None = None
        self._before = Rules()

    def _rule_problem(self, at: bytes, error: OSError) -> None:
        problem = Problem(at, error.errno or 0, "ignore file cannot be read")
        if problem not in self.unread_rules:
            self.unread_rules.add(problem)
            self._progress.problem(problem)

    def capture(self, head: Head, store: BlockStore) -> Captured:
        """Compare it with the head."""
        self.listed = self._what_is_listed(head)
        captured = capture(
            self._repository.catalog,
            head.row,
            os.dup(self._root_fd),
            self.matcher,
            _scan_options(self._repository, self._root, self._options, self.matcher.rules),
            store,
            now_ns=self._repository.clock.now_ns(),
            progress=self._progress,
            listed=self.listed,
        )
        if self.matcher.forgot:
            self._progress.note(
                f"more than {MOST_LARGE:,} files are left out for their size: restore --delete will "
                "not know the rest of them once they are smaller"
            )
        return captured

    def rules(self) -> str:
        """What the snapshot keeps of its rules."""
        met = self.matcher.as_met()
        return (met if self.listed is None else self.listed.left(self._before, met)).to_text()

    def _what_is_listed(self, head: Head) -> Listed | None:
        """What is looked at alone; None if all must be, since what the head has is no answer for the rest."""
        listed, newest = self._options.listed, head.newest
        if listed is None or listed.everything:
            return None
        if newest is None:
            self._progress.note(
                f"{self._root.label} has no snapshot yet, so all of it is looked at, listed or not"
            )
            return None
        self._before = Rules.from_text(newest.rules)
        other = self._before.digest() != self.matcher.rules.digest()
        if other or self._before.has_spared:
            was = "was taken with other rules" if other else "has what rules leave out"
            self._progress.note(
                f"{newest.name} {was}, so all of {self._root.label} is looked at, listed or not"
            )
            return None
        return listed


def _scan_options(
    repository: Repository, root: Root, options: TakeOptions, rules: Rules
) -> ScanOptions:
    """How the walk compares, and what it never enters."""
    assert root.path is not None
    own = frozenset(
        os.path.relpath(mount.point, root.path) for mount in mounts_below(root.path) if mount.is_own
    )
    return ScanOptions(
        one_file_system=rules.one_file_system,
        ignore_ctime=options.ignore_ctime,
        ignore_inode=options.ignore_inode,
        checksum=options.checksum,
        skip=repository.folders(),
        spare=options.spare,
        foreign=own,
    )
