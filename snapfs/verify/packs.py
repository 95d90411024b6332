"""Packs against the catalog: that they are there, what their indexes and segments say, every byte.

By default the header and the table of each segment are read, which name its blocks; a segment that is
chosen for it is read whole, decoded, and the digest of each of its blocks computed. Decoding runs in
two threads, which the decoder and the hash leave free to run side by side; the catalog is asked by
the calling thread only.
"""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from snapfs.blocks.digest import block_digest
from snapfs.blocks.pack import SegmentIndex, SegmentPlace, pack_key
from snapfs.blocks.packreader import PackFinding, PackReader
from snapfs.blocks.segment import HEADER_BYTES, DecodedSegment
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.errors import SnapfsError
from snapfs.repository.oldcatalog import NEW_CATALOG
from snapfs.repository.opened import Repository
from snapfs.storage.contract import MissingObjectError, is_temporary
from snapfs.verify.report import CATALOG, Report
from snapfs.verify.rules import attempt

_THREADS = 2
_AHEAD = 6
"""Segments in work or waiting for it: at most so many are in memory, each with its raw bytes."""


class Pack(NamedTuple):
    """A pack as the catalog has it."""

    id: int
    name: str
    size: int


class Counts(NamedTuple):
    """What was looked at."""

    packs: int
    segments: int
    blocks: int


class _Block(NamedTuple):
    """A block as the catalog has it."""

    id: int
    digest: bytes | None
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class _Job:
    """A segment to be looked at: its id and its place."""

    reader: PackReader
    segment: int
    place: SegmentPlace
    whole: bool


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a segment holds. ``index`` is None if nothing of it can be read."""

    job: _Job
    findings: list[PackFinding]
    index: SegmentIndex | None
    wrong: set[int]
    """offsets of blocks that do not have their digests"""
    read_bytes: int


def catalog_packs(catalog: Catalog) -> list[Pack]:
    """The packs that the catalog knows."""
    return [Pack(*row) for row in catalog.execute(sql.PACKS)]


def check_packs(
    repository: Repository, report: Report, packs: Iterable[Pack], share: float
) -> Counts:
    """Look at every segment, and into a random ``share`` (0..1) of them, at least one unless it is 0."""
    check = _PackCheck(repository, report, share)
    return check.run(packs)


def check_strangers(repository: Repository, report: Report, listed: Iterable[str]) -> None:
    """Tell what lies there and is none of the catalog's: nothing depends on it."""
    catalog = repository.catalog
    if os.path.lexists(os.path.join(repository.path, NEW_CATALOG)):
        report.note(f"{os.fsdecode(NEW_CATALOG)} is unfinished")
    known: set[str] = set()
    with attempt(catalog, report):
        known.update(row[1] for row in catalog.execute(sql.PACKS))
        known.update(row[0] for row in catalog.execute(sql.DOOMED))
    for name in listed:
        if is_temporary(name):
            report.note(f"{pack_key(name)} is unfinished")
        elif name not in known:
            report.note(f"{pack_key(name)} {_stranger(repository, name)}")


def _stranger(repository: Repository, name: str) -> str:
    try:
        with PackReader(repository.backend, name) as reader:
            own = reader.repository_id() == repository.config.id
    except SnapfsError:
        return "is no pack"
    if not own:
        return "is a pack of another repository"
    return "is a pack that the catalog does not know; the next create takes it in if it is sound"


class _PackCheck:
    """One pass over the packs."""

    def __init__(self, repository: Repository, report: Report, share: float) -> None:
        self._repository = repository
        self._report = report
        self._share = share
        # Each is as likely as any other, and their number is what was asked for.
        self._due = random.random()
        self._segments = 0
        self._blocks = 0

    def run(self, packs: Iterable[Pack]) -> Counts:
        count = 0
        if self._share:
            with attempt(self._repository.catalog, self._report):
                segments = self._repository.catalog.value(sql.SEGMENTS_COUNTED)
                self._share = max(self._share, (1 + 1e-9) / max(1, segments))
        with ThreadPoolExecutor(_THREADS) as threads:
            for pack in packs:
                count += 1
                reader = self._open(pack)
                if reader is None:
                    continue
                with reader:
                    segments = self._known_segments(pack)
                    self._check_frame(pack, reader, segments.values())
                    for seen in _ahead(threads, self._jobs(reader, segments)):
                        self._compare(pack, seen)
        return Counts(count, self._segments, self._blocks)

    def _open(self, pack: Pack) -> PackReader | None:
        try:
            return PackReader(self._repository.backend, pack.name)
        except MissingObjectError:
            self._add(pack, "pack is missing")
        except SnapfsError as error:
            self._add(pack, error.message)
        self._report.touched.packs.append(pack.id)
        return None

    def _known_segments(self, pack: Pack) -> dict[int, SegmentPlace]:
        """The catalog's segments of a pack, by their ids."""
        found: dict[int, SegmentPlace] = {}
        with attempt(self._repository.catalog, self._report):
            rows = self._repository.catalog.execute(sql.SEGMENTS_OF_PACK, {"pack": pack.id})
            for ordinal, (id_, offset, stored, raw, checksum) in enumerate(rows):
                found[id_] = SegmentPlace(ordinal, offset, stored, raw, 0, checksum)
        return found

    def _check_frame(
        self, pack: Pack, reader: PackReader, segments: Iterable[SegmentPlace]
    ) -> None:
        """What is around the segments: size, header, index."""
        if reader.size != pack.size:
            self._add(pack, f"pack has {reader.size} bytes instead of {pack.size}")
        try:
            if reader.repository_id() != self._repository.config.id:
                self._add(pack, "pack is of another repository", offset=0)
        except SnapfsError as error:
            self._add(pack, error.message, offset=0)
        try:
            places = {place.offset: place for place in reader.places()}
        except SnapfsError as error:
            self._add(pack, error.message, offset=reader.size)
            return
        for known in segments:
            listed = places.get(known.offset)
            if listed is None or _identity(listed) != _identity(known):
                self._add(
                    pack, "the index does not list this segment",
                    segment=known.ordinal, offset=known.offset,
                )  # fmt: skip

    def _add(
        self, pack: Pack, what: str, *, segment: int | None = None, offset: int | None = None
    ) -> None:
        self._report.add(pack_key(pack.name), what, segment=segment, offset=offset)
        self._report.touched.broken.add(pack.name)

    def _jobs(self, reader: PackReader, segments: dict[int, SegmentPlace]) -> Iterator[_Job]:
        for id_, place in segments.items():
            self._due += self._share
            whole = self._due >= 1.0
            if whole:
                self._due -= 1.0
            yield _Job(reader, id_, place, whole)

    def _known_blocks(self, segment: int) -> list[_Block]:
        with attempt(self._repository.catalog, self._report):
            rows = self._repository.catalog.execute(sql.VERIFY_BLOCKS, {"segment": segment})
            return [_Block(*row) for row in rows]
        return []

    def _compare(self, pack: Pack, seen: _Seen) -> None:
        """What was seen in a segment against what the catalog says of it."""
        report, place = self._report, seen.job.place
        blocks = self._known_blocks(seen.job.segment)
        self._segments += 1
        self._blocks += len(blocks)
        report.read_bytes += seen.read_bytes
        report.progress.advance(entries=1, read_bytes=seen.read_bytes)
        if seen.findings and not blocks:
            # What was stored again elsewhere: the pack stays for the sake of its other segments.
            report.note(
                f"{pack_key(pack.name)} segment {place.ordinal} is damaged; nothing needs it any more"
            )
            report.touched.broken.add(pack.name)
            return
        for finding in seen.findings:
            self._add(pack, finding.what, segment=place.ordinal, offset=finding.offset)
        if seen.index is None:
            report.touched.blocks += _unreadable(seen.job, blocks)
            return
        lost = [block.id for block in blocks if block.digest is None]
        if lost:
            what = f"{len(lost)} blocks were lost when the catalog was made again"
            self._add(pack, what, segment=place.ordinal, offset=place.offset)
        table = {offset: (digest, length) for digest, offset, length in seen.index.blocks()}
        strange = [
            block.id
            for block in blocks
            if block.digest is not None and table.get(block.offset) != (block.digest, block.length)
        ]
        if strange:
            what = f"{len(strange)} blocks of segment {seen.job.segment} are not those in the pack"
            report.add(CATALOG, what)
            report.touched.broken.add(pack.name)
        report.touched.blocks += [
            *lost, *strange, *(block.id for block in blocks if block.offset in seen.wrong)
        ]  # fmt: skip


def _identity(place: SegmentPlace) -> tuple[int, ...]:
    return place.offset, place.stored, place.raw, place.checksum


def _ahead(threads: ThreadPoolExecutor, jobs: Iterable[_Job]) -> Iterator[_Seen]:
    """What the jobs see, in their order, with a few in work at any time."""
    waiting: deque[Future[_Seen]] = deque()
    for job in jobs:
        waiting.append(threads.submit(_look, job))
        if len(waiting) >= _AHEAD:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _look(job: _Job) -> _Seen:
    """Read a segment, whole or its head alone."""
    reader, place = job.reader, job.place
    findings: list[PackFinding] = []

    def found(what: str) -> None:
        findings.append(PackFinding(reader.name, place.ordinal, place.offset, what))

    if place.offset + place.stored > reader.size:
        found("segment is cut off")
        return _Seen(job, findings, None, set(), 0)
    index: SegmentIndex | None = None
    wrong: set[int] = set()
    read_bytes = 0
    try:
        index = reader.read_table(place, findings)
        if index is not None:
            read_bytes = HEADER_BYTES + len(index.digests) + len(index.lengths)
            if job.whole:
                read_bytes = place.stored
                wrong = _wrong_blocks(reader.read_segment(place.offset, place.stored))
    except SnapfsError as error:
        found(error.message)
        index = None
    if wrong:
        found(f"{len(wrong)} blocks do not have their digests")
    return _Seen(job, findings, index, wrong, read_bytes)


def _unreadable(job: _Job, blocks: Iterable[_Block]) -> list[int]:
    """Blocks that cannot be read: without a table too, the catalog knows where each one is."""
    try:
        raw = job.reader.read_raw(job.place.offset, job.place.stored)
    except SnapfsError:
        return [block.id for block in blocks]
    return [
        block.id
        for block in blocks
        if block_digest(raw[block.offset : block.offset + block.length]) != block.digest
    ]


def _wrong_blocks(segment: DecodedSegment) -> set[int]:
    """Offsets of the blocks that do not have their digests."""
    wrong: set[int] = set()
    offset = 0
    for digest, data in segment.blocks():
        if block_digest(data) != digest:
            wrong.add(offset)
        offset += len(data)
    return wrong
