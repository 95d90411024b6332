"""A store of trees, and running `materialize` on them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from snapfs.materialize.apply import materialize
from snapfs.materialize.wanted import (
    MaterializeOptions,
    MaterializeResult,
    Overwrite,
    Same,
)
from snapfs.model.entry import Entry
from snapfs.progress import Problem, RecordingProgress
from tests.harness.trees import survey
from tests.materialize.stored import StoredTree, is_same, store


@dataclass
class Restorer:
    """Restores one stored tree; ``options`` are those of all its runs."""

    stored: StoredTree
    options: MaterializeOptions = field(default_factory=lambda: MaterializeOptions(workers=0))

    def __call__(
        self,
        target: Path | bytes,
        wanted: Callable[[], object] | None = None,
        *,
        problems: list[Problem] | None = None,
        dry: bool = True,
        **changes: object,
    ) -> MaterializeResult:
        """Restore, after a dry run that must change nothing and come to the same counts.

        Problems are appended to ``problems``; without it there must be none.
        """
        options = replace(self.options, **changes)  # type: ignore[arg-type]
        if options.overwrite is Overwrite.IF_CHANGED and "same" not in changes:
            options = replace(options, same=self.same)
        planned = self.run(target, wanted, replace(options, dry_run=True), []) if dry else None
        found: list[Problem] = []
        result = self.run(target, wanted, options, found)
        if problems is None:
            assert found == []
        else:
            problems.extend(found)
        if planned is not None and not found:
            assert replace(planned, written_bytes=result.written_bytes) == result
        return result

    def run(
        self,
        target: Path | bytes,
        wanted: Callable[[], object] | None,
        options: MaterializeOptions,
        problems: list[Problem],
    ) -> MaterializeResult:
        """One run."""
        progress = RecordingProgress()
        there = options.dry_run and os.path.lexists(target)
        before = survey(os.fsencode(target)) if there and os.path.isdir(target) else None
        dirs: object = (wanted or self.stored.wanted)()
        result = materialize(
            os.fsencode(target), dirs, self.stored.source, options, progress=progress  # type: ignore[arg-type]
        )  # fmt: skip
        problems.extend(progress.problems)
        if options.dry_run:
            assert os.path.lexists(target) == there
            assert before is None or survey(os.fsencode(target)) == before
        return result

    def same(self, entry: Entry, live: os.stat_result, dir_fd: int) -> Same:
        """Compares the bytes of the live file."""
        return is_same(self.stored, entry, live, dir_fd)


@pytest.fixture
def stored(workspace: Path) -> Callable[[Path], Restorer]:
    """``stored(tree)`` reads a tree into a repository of its own."""
    count = 0

    def read(tree: Path) -> Restorer:
        nonlocal count
        count += 1
        return Restorer(store(tree, workspace / f"repository-{count}"))

    return read
