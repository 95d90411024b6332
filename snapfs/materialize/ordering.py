"""Sorting the writing of small files by the segment that their bytes are in, in bounded memory."""

from __future__ import annotations

import heapq
import pickle
import tempfile
from collections.abc import Iterator
from typing import IO

from snapfs.materialize.filewriter import FileJob

_WINDOW_FILES = 80_000
"""About 40 MB of jobs."""

_WORTH_DECODING = 0.2
"""A full window is written at once if it uses at least this share of what its segments hold, roughly;
else it waits on disk to be merged with the others, since they would decode the same segments again."""

_USUAL_RATIO = 2.5
_CHUNK = 512


class SegmentOrder:
    """Takes jobs of one block each, gives them back in order of (pack, segment, offset)."""

    def __init__(self) -> None:
        self._jobs: list[FileJob] = []
        self._spool: IO[bytes] | None = None
        self._runs: list[list[int]] = []

    def add(self, job: FileJob) -> None:
        """Take one job."""
        self._jobs.append(job)

    @property
    def is_full(self) -> bool:
        """Whether `take` must be called now."""
        return len(self._jobs) >= _WINDOW_FILES

    def take(self) -> list[FileJob]:
        """Jobs to do now: those held, or none if it is better to put them aside."""
        jobs = sorted(self._jobs, key=_place_key)
        self._jobs = []
        if _share_used(jobs) >= _WORTH_DECODING:
            return jobs
        self._put_aside(jobs)
        return []

    def take_all(self) -> Iterator[FileJob]:
        """All that is left, those put aside as well."""
        jobs = sorted(self._jobs, key=_place_key)
        self._jobs = []
        runs = [self._read_run(offsets) for offsets in self._runs]
        return heapq.merge(iter(jobs), *runs, key=_place_key) if runs else iter(jobs)

    def close(self) -> None:
        """Forget everything."""
        if self._spool is not None:
            self._spool.close()

    def _put_aside(self, jobs: list[FileJob]) -> None:
        if self._spool is None:
            self._spool = tempfile.TemporaryFile(prefix="snapfs-")  # noqa: SIM115 - see close
        offsets = []
        for at in range(0, len(jobs), _CHUNK):
            offsets.append(self._spool.tell())
            chunk = [tuple(job) for job in jobs[at : at + _CHUNK]]
            pickle.dump(chunk, self._spool, protocol=5)
        self._runs.append(offsets)

    def _read_run(self, offsets: list[int]) -> Iterator[FileJob]:
        assert self._spool is not None
        for offset in offsets:
            self._spool.seek(offset)
            # Our own private file, which has no name.
            yield from map(FileJob._make, pickle.load(self._spool))


def _place_key(job: FileJob) -> tuple[str, int, int]:
    place = job.places[0]
    return place[3], place[4], place[6]


def _share_used(jobs: list[FileJob]) -> float:
    """Rough share of the decoded bytes of all segments touched that these jobs need."""
    stored = {(job.places[0][3], job.places[0][4]): job.places[0][5] for job in jobs}
    return sum(job.size for job in jobs) / (_USUAL_RATIO * sum(stored.values()) or 1)
