"""Reading what a scan found: batches to worker processes, results into the stage.

New files are read in order of extension, base name and path, so that like files share a segment; a
window of them is sorted at a time, which bounds memory. In a first snapshot of many files workers walk and
read at once (`capture.survey`), and what comes here is what they leave.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from snapfs.blocks.store import BlockSink
from snapfs.capture.claims import make_table
from snapfs.capture.held import NullSink, Sink, likeness
from snapfs.capture.packrows import PackRows
from snapfs.capture.reader import (
    MOVED,
    BatchRead,
    FileRead,
    FileReader,
    Outcome,
)
from snapfs.capture.stored import StoredBlocks
from snapfs.capture.survey import Survey
from snapfs.capture.surveyor import Ahead, Numbers, Piece, Rest, Surveyed
from snapfs.capture.trouble import put_problem
from snapfs.capture.worker import Start
from snapfs.catalog.database import Catalog
from snapfs.catalog.stage import Stage
from snapfs.catalog.stagerows import ReadResult
from snapfs.fs.handles import missing_part
from snapfs.model.kinds import State
from snapfs.model.path import join, within
from snapfs.model.toread import ToRead
from snapfs.progress import Progress
from snapfs.storage.files import FileBackend
from snapfs.workers import Question, Told, Worker, close_all, ready

WORKERS = 2
WINDOW_FILES = 16 * 1024
BATCH_BYTES = 4 * 1024 * 1024
BATCH_FILES = 1024
QUEUED = 4
"""Batches a worker has in hand, so that it never waits for the parent; one if it is a very large file."""
PARTS_QUEUED = 2
"""The same of a survey's parts."""
INLINE_BYTES = 32 * 1024 * 1024
INLINE_FILES = 4000
"""Up to here the parent reads by itself: starting two workers takes 0.13 s of both processors."""
SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class BlockStore:
    """Where blocks of a run go: into packs of the repository, or nowhere (``backend`` None)."""

    backend: FileBackend | None
    fd: int = -1
    """the repository folder, passed on to the workers"""
    repository_id: bytes = b""
    owner: tuple[int, int] | None = None
    broken: frozenset[str] = frozenset()
    """packs whose blocks are stored again"""
    reread: bool = False
    """whether a block counts as stored only if it can be read"""

    @property
    def workers(self) -> bool:
        """Whether reading may be left to worker processes."""
        return self.backend is not None

    def sink(self, stem: str) -> Sink:
        if self.backend is None:
            return NullSink()
        return BlockSink(self.backend, self.repository_id, stem)

    def stored(self, catalog: Catalog) -> StoredBlocks:
        return StoredBlocks(
            catalog, broken=self.broken, reading=self.backend if self.reread else None
        )


class _Batch(NamedTuple):
    """What one message carries."""

    files: list[ToRead]
    size: int
    """their bytes, and those of their paths"""


_NOTHING = _Batch([], 0)


class Intake:
    """Takes files from a stage, has them read, and puts the results back."""

    def __init__(
        self,
        catalog: Catalog,
        stage: Stage,
        root_fd: int,
        store: BlockStore,
        stem: str,
        *,
        progress: Progress,
    ) -> None:
        self._stored = store.stored(catalog)
        self._stage = stage
        self._root_fd = root_fd
        self._store = store
        self._stem = stem
        self._progress = progress
        self._asking = catalog.one("SELECT 1 FROM block LIMIT 1") is not None
        self._workers: list[Worker] = []
        self._own_sink: Sink | None = None
        self._own_reader: FileReader | None = None
        self._claims_fd = -1
        self._survey: Survey | None = None
        self._queue: deque[_Batch] = deque()
        self._in_hand: dict[int, deque[_Batch]] = {}
        self._moved: list[bytes] = []
        self.read_bytes = 0
        self.wasted = False
        """whether something was stored that nothing may come to use"""
        self._packs = PackRows(stage)

    @property
    def stored_bytes(self) -> int:
        """By how much the packs have grown."""
        return self._packs.stored_bytes

    # --- driving -------------------------------------------------------------------------------

    def survey(self, survey: Survey) -> None:
        """Walk with all workers."""
        self._survey = survey
        try:
            self._start()
            self._tell_all(survey.setup)
            while self._turn():
                pass
            self._tell_all(Rest())
            while self._turn():
                pass
            survey.finish()
        finally:
            survey.close()
            self._survey = None

    def read_all(self) -> None:
        """The walk is over: read all that is left, and have the packs finished."""
        self._read_staged()
        while self._stage.heirs():
            self._read_staged()
        if self._own_reader is not None:
            self._packs.put(self._own_reader.flush())
        self._tell_all(None)

    def _tell_all(self, message: object) -> None:
        for worker in self._workers:
            worker.send(message)
            self._in_hand[id(worker)].append(_NOTHING)

    def _read_staged(self) -> None:
        """Read what is staged to be read, and wait for everything under way."""
        after = 0
        while files := self._stage.to_read(after=after, most=WINDOW_FILES):
            after = files[-1].seq
            self._give(files)
        while self._turn():
            pass

    def finish(self) -> None:
        """Wait for the packs."""
        while self._turn():
            pass
        close_all(self._workers)
        self._workers = []
        self._close()

    def _give(self, files: Sequence[ToRead]) -> None:
        small = sum(item.size for item in files) <= INLINE_BYTES and len(files) <= INLINE_FILES
        batches = _batches(sorted(files, key=_order))
        if not self._store.workers or (small and not self._workers):
            self._inline(batches)
            return
        self._start()
        self._queue.extend(batches)
        while len(self._queue) > QUEUED * WORKERS and self._turn():
            pass

    def _inline(self, batches: Iterator[_Batch]) -> None:
        if self._own_reader is None:
            self._own_sink = self._store.sink(self._stem)
            known = self._stored.known if self._asking else None
            self._own_reader = FileReader(self._root_fd, self._own_sink, known, self._told)
        for batch in batches:
            self._take(batch, self._own_reader.read(batch.files))

    def _start(self) -> None:
        if self._workers:
            return
        self._claims_fd = make_table()
        fds = (self._root_fd, self._store.fd, self._claims_fd)
        self._workers = [Worker("snapfs.capture.worker", pass_fds=fds) for _ in range(WORKERS)]
        for number, worker in enumerate(self._workers):
            self._in_hand[id(worker)] = deque()
            worker.send(
                Start(
                    self._root_fd,
                    self._store.fd,
                    self._claims_fd,
                    self._store.owner,
                    self._store.repository_id,
                    f"{self._stem}-{number}",
                    self._asking,
                )
            )
            self._in_hand[id(worker)].append(_NOTHING)

    def _turn(self) -> bool:
        """Give out work and take one round of answers; whether there was any work."""
        for worker in self._workers:
            self._give_out(worker)
        if not any(worker.pending for worker in self._workers):
            return False
        for worker in ready(self._workers):
            answer = worker.receive()
            if isinstance(answer, Question):
                worker.answer(self._answer(answer.value))
            elif isinstance(answer, Told):
                self._told(answer.value)
            else:
                self._done(self._in_hand[id(worker)].popleft(), answer)
        return True

    def _give_out(self, worker: Worker) -> None:
        in_hand = self._in_hand[id(worker)]
        if self._survey is not None:
            while worker.pending < PARTS_QUEUED and (part := self._survey.next()):
                in_hand.append(_NOTHING)
                worker.send(part)
        while (
            self._queue
            and worker.pending < QUEUED
            and sum(batch.size for batch in in_hand) < QUEUED * BATCH_BYTES
        ):
            batch = self._queue.popleft()
            in_hand.append(batch)
            # Plain tuples: a class name with each of a thousand files would double the message.
            worker.send(list(map(tuple, batch.files)))

    def _answer(self, question: object) -> object:
        if isinstance(question, Numbers):
            assert self._survey is not None
            return self._survey.numbers(question)
        assert isinstance(question, list)
        return self._stored.known(question)

    def _done(self, batch: _Batch, answer: object) -> None:
        if isinstance(answer, BatchRead):
            self._take(batch, answer)
        elif isinstance(answer, Surveyed):
            assert self._survey is not None
            self._survey.take(answer)
            self._packs.put(answer.packs)
            self.read_bytes += answer.read_bytes
        elif isinstance(answer, list):
            self._packs.put(answer)

    def abort(self) -> None:
        """End the workers at once; what they stored in finished packs stays for the next run."""
        for worker in self._workers:
            worker.kill()
        self._workers = []
        if self._own_sink is not None:
            self._own_sink.abandon()
        self._close()

    def _close(self) -> None:
        if self._claims_fd >= 0:
            os.close(self._claims_fd)
            self._claims_fd = -1
        self._stored.close()

    # --- results -------------------------------------------------------------------------------

    def _take(self, batch: _Batch, answer: BatchRead) -> None:
        if answer.plain:
            self._stage.put_digests(answer.plain)
        self._take_special(batch.files, answer.special)
        self._packs.put(answer.packs)
        self.read_bytes += answer.read_bytes
        self._progress.advance(read_bytes=answer.read_bytes - answer.told_bytes)

    def _told(self, told: int | Ahead | Piece) -> None:
        """So much of a large file has been read, or of a survey's part; or rows of it."""
        if isinstance(told, Piece):
            assert self._survey is not None
            self._survey.put(told)
        elif isinstance(told, Ahead):
            assert self._survey is not None
            self._survey.advance(told)
        else:
            self._progress.advance(read_bytes=told)

    def _take_special(
        self, files: Sequence[ToRead], special: Sequence[tuple[int, FileRead]]
    ) -> None:
        full: list[ReadResult] = []
        contents: dict[bytes, tuple[bytes, int, bytes]] = {}
        vanished: list[int] = []
        replaced: list[int] = []
        for number, result in special:
            item = files[number]
            again = result.outcome != Outcome.READ or result.fresh is not None
            self.wasted = self.wasted or again
            if result.outcome == Outcome.VANISHED:
                vanished.append(item.seq)
                if result.what == MOVED:
                    self._see_moved(item.directory)
                continue
            if result.extents is not None and result.digest is not None:
                contents[result.digest] = (result.digest, result.size, result.extents)
            full.append(self._full(item, result))
            if result.replaced and item.nlink > 1:
                replaced.append(item.seq)
        if contents:
            self._stage.put_contents(contents.values())
        if full:
            self._stage.put_results(full)
        if replaced:
            self._stage.put_replaced(replaced)
        if vanished:
            self._stage.drop_vanished(vanished)

    def _see_moved(self, directory: bytes) -> None:
        """A file that vanishes is no trouble; of all in a directory nobody knows whether they did."""
        if any(within(directory, path) for path in self._moved):
            return
        path = missing_part(self._root_fd, directory)
        self._moved.append(path)
        self._problem(path, 0, MOVED)

    def _full(self, item: ToRead, result: FileRead) -> ReadResult:
        size, mtime_ns, ctime_ns = result.fresh or (
            result.size,
            item.mtime_s * SECOND + item.mtime_nsec,
            item.ctime_s * SECOND + item.ctime_nsec,
        )
        state: int | None = None
        path = join(item.directory, item.name)
        if result.outcome == Outcome.FAILED:
            state = int(State.UNREAD)
            self._problem(path, result.errno, result.what)
        elif result.outcome == Outcome.CHANGED:
            state = int(State.RACY)
            self._problem(path, 0, "changed while read")
        elif result.fresh is not None:
            state = int(State.RACY)
        mode, uid, gid = self._stage.plain_attr(item.attr)
        attr = self._stage.attr(mode, uid, gid, result.flags, result.xattr)
        return ReadResult(
            attr, size, *divmod(mtime_ns, SECOND), result.digest, state,
            *divmod(ctime_ns, SECOND), item.seq,
        )  # fmt: skip

    def _problem(self, path: bytes, number: int, what: str) -> None:
        put_problem(self._stage, self._progress, path, number, what)


def _order(item: ToRead) -> tuple[tuple[bytes, bytes], bytes]:
    return likeness(item.name), item.directory


def _batches(files: Sequence[ToRead]) -> Iterator[_Batch]:
    """Files in storing order, cut into what one message carries."""
    batch: list[ToRead] = []
    size = 0
    for item in files:
        # The message has the path of each: in a deep nest that is more than its bytes.
        weight = item.size + len(item.directory)
        if batch and (size + weight > BATCH_BYTES or len(batch) >= BATCH_FILES):
            yield _Batch(batch, size)
            batch, size = [], 0
        batch.append(item)
        size += weight
    if batch:
        yield _Batch(batch, size)
