"""In which order small files are written: by the segments that their bytes are in, then by directory.

Segments are filled in order of name, so the files of one directory lie in many of them. Jobs are sorted
into groups whose segments fit into the cache of a writing process; a group is written by one process, in
order of directories, and so each segment is decoded once and each directory visited in one go.
"""

from __future__ import annotations

import heapq
import pickle
from collections.abc import Iterable, Iterator
from itertools import chain, repeat

from snapfs.materialize.filewriter import FileJob
from snapfs.storage.scratch import Place, ScratchFile

_FIRST_WINDOWS = (8192, 16_384, 32_768)
"""As those of a first snapshot: its segments are decoded once, and the processes soon have something to do."""

_WINDOW_FILES = 65_536
"""About 35 MB of jobs."""

_GROUP_RAW_BYTES = 12 << 20
_GROUP_FILES = 16_384

_WORTH_DECODING = 0.2
"""A full window is written at once if it uses at least this share of what its segments hold, roughly;
else it waits on disk to be merged with the others, since they would decode the same segments again."""

_USUAL_RATIO = 2.5
_CHUNK = 512


class SegmentOrder:
    """Takes jobs of one block each, gives them back in groups."""

    def __init__(self) -> None:
        self._jobs: list[FileJob] = []
        self._spool = ScratchFile()
        self._runs: list[list[Place]] = []
        self._windows = chain(_FIRST_WINDOWS, repeat(_WINDOW_FILES))
        self._most = next(self._windows)

    def add(self, jobs: list[FileJob]) -> None:
        """Take jobs."""
        self._jobs += jobs

    @property
    def is_full(self) -> bool:
        """Whether `take` must be called now."""
        return len(self._jobs) >= self._most

    def take(self) -> Iterator[list[FileJob]]:
        """Groups to write now: of the jobs held, or none if it is better to put them aside."""
        jobs = sorted(self._jobs, key=_place_key)
        self._jobs = []
        self._most = next(self._windows)
        if _share_used(jobs) >= _WORTH_DECODING:
            yield from _groups(jobs)
        else:
            self._put_aside(jobs)

    def take_all(self) -> Iterator[list[FileJob]]:
        """All that is left, what was put aside as well."""
        jobs = sorted(self._jobs, key=_place_key)
        self._jobs = []
        runs = [self._read_run(places) for places in self._runs]
        self._runs = []
        yield from _groups(heapq.merge(jobs, *runs, key=_place_key) if runs else jobs)

    def close(self) -> None:
        """Forget everything."""
        self._spool.close()

    def _put_aside(self, jobs: list[FileJob]) -> None:
        places = []
        for at in range(0, len(jobs), _CHUNK):
            chunk = [tuple(job) for job in jobs[at : at + _CHUNK]]
            places.append(self._spool.append(pickle.dumps(chunk, protocol=5)))
        self._runs.append(places)

    def _read_run(self, places: list[Place]) -> Iterator[FileJob]:
        for place in places:
            # Our own private file, which has no name.
            yield from map(FileJob._make, pickle.loads(self._spool.read(place)))


def _groups(jobs: Iterable[FileJob]) -> Iterator[list[FileJob]]:
    """Cut jobs in order of segments into groups, and sort each by directory."""
    group: list[FileJob] = []
    segment: tuple[str, int] | None = None
    full_segments_bytes = end = 0
    for job in jobs:
        _, length, _, pack, segment_offset, _, offset = job.places[0]
        here = (pack, segment_offset)
        if here != segment:
            segment = here
            full_segments_bytes += end
            end = 0
            if full_segments_bytes >= _GROUP_RAW_BYTES or len(group) >= _GROUP_FILES:
                group.sort()
                yield group
                group = []
                full_segments_bytes = 0
        end = offset + length
        group.append(job)
    if group:
        group.sort()
        yield group


def _place_key(job: FileJob) -> tuple[str, int, int]:
    place = job.places[0]
    return place[3], place[4], place[6]


def _share_used(jobs: list[FileJob]) -> float:
    """Rough share of the decoded bytes of all segments touched that these jobs need."""
    stored = {(job.places[0][3], job.places[0][4]): job.places[0][5] for job in jobs}
    return sum(job.size for job in jobs) / (_USUAL_RATIO * sum(stored.values()) or 1)
