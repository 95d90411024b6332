"""What a snapshot could not capture whole: kept with it, and told."""

from __future__ import annotations

from typing import Protocol

from snapfs.fs.handles import refuse_exhausted
from snapfs.progress import Problem, Progress


class Kept(Protocol):
    """What is kept with a snapshot."""

    def put_problem(self, path: bytes, errno: int, what: str) -> None: ...


def put_problem(kept: Kept, progress: Progress, path: bytes, number: int, what: str) -> None:
    """An entry, by path from the root, with its errno (0: none). Raises SnapfsError if no descriptor was
    left: that is no fault of the entry.
    """
    refuse_exhausted(number)
    kept.put_problem(path, number, what)
    progress.problem(Problem(path, number, what))
