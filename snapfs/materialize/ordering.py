"""In which order small files are written: by the segments that their bytes are in, then by directory.

Segments are filled in order of name, so the files of one directory lie in many of them. Jobs are sorted
into groups whose segments fit into the cache of a writing process; a group is written by one process, in
order of directories, and so each segment is decoded once and each directory visited in one go.
"""

from __future__ import annotations

import heapq
import pickle
from collections.abc import Iterable, Iterator

from snapfs.materialize.filewriter import FileJob
from snapfs.storage.scratch import Place, ScratchFile

_LOOK_FILES = 2048
"""So often it is looked which segments are done with."""

_IDLE_FILES = 8192
"""A segment that so many files in a row did not need will hardly be needed again: it was filled in one
window of the walk, of files near to each other.
"""

_WINDOW_FILES = 65_536
"""So many are held at most, about 35 MB of jobs."""

_GROUP_RAW_BYTES = 12 << 20
_GROUP_FILES = 16_384

_WORTH_DECODING = 0.2
"""Files are written at once if they use at least this share of what their segments hold, roughly;
else they wait on disk to be merged with the others, since they would decode the same segments again."""

_USUAL_RATIO = 2.5
_CHUNK = 512


_Segment = tuple[str, int]
"""Pack and offset."""


class SegmentOrder:
    """Takes jobs of one block each, gives them back in groups."""

    def __init__(self) -> None:
        self._jobs: dict[_Segment, list[FileJob]] = {}
        self._touched: dict[_Segment, int] = {}
        self._held = 0
        self._count = 0
        self._next_look = _LOOK_FILES
        self._spool = ScratchFile()
        self._runs: list[list[Place]] = []

    def add(self, jobs: list[FileJob]) -> None:
        """Take jobs."""
        held, touched = self._jobs, self._touched
        for job in jobs:
            _, _, _, pack, segment_offset, _, _ = job.places[0]
            segment = (pack, segment_offset)
            found = held.get(segment)
            if found is None:
                held[segment] = [job]
            else:
                found.append(job)
            self._count += 1
            touched[segment] = self._count
        self._held += len(jobs)

    @property
    def is_full(self) -> bool:
        """Whether `take` must be called now."""
        return self._count >= self._next_look

    def take(self) -> Iterator[list[FileJob]]:
        """Groups to write now: of segments that are done with, or of all if too much is held; none if it
        is better to put them aside.
        """
        self._next_look = self._count + _LOOK_FILES
        idle = self._count - _IDLE_FILES
        full = self._held >= _WINDOW_FILES
        jobs = self._release([one for one, at in self._touched.items() if full or at < idle])
        if jobs and _share_used(jobs) >= _WORTH_DECODING:
            yield from _groups(jobs)
        elif jobs:
            self._put_aside(jobs)

    def _release(self, segments: list[_Segment]) -> list[FileJob]:
        """What is held of these segments, in order of place."""
        jobs: list[FileJob] = []
        for segment in segments:
            del self._touched[segment]
            jobs += self._jobs.pop(segment)
        self._held -= len(jobs)
        jobs.sort(key=_place_key)
        return jobs

    def take_all(self) -> Iterator[list[FileJob]]:
        """All that is left, what was put aside as well."""
        jobs = self._release(list(self._touched))
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
