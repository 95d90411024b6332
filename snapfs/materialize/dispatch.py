"""Handing out the writing of files: to processes if there is enough of it, else done here.

Small files lie in segments in another order than in the tree. They are collected and sorted by segment,
so that each segment is decoded once and by one process; what has extents of its own goes out at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from snapfs.blocks.reader import BlockReader
from snapfs.materialize.dirtable import DirCache, DirTable
from snapfs.materialize.filewriter import FileJob, FileWriter, Piece, Report
from snapfs.materialize.messages import Batch, PieceBatch, Start
from snapfs.materialize.ordering import SegmentOrder
from snapfs.storage.files import FileBackend
from snapfs.workers import Worker, ready

OnReport = Callable[[Report], None]

_INLINE_FILES = 400
_INLINE_BYTES = 24 << 20
"""With less than both of these it takes longer to start processes than to write."""

_BATCH_FILES = 256
_BATCH_BYTES = 8 << 20
_AHEAD = 2
"""Batches a process has in hand: one to work on, one so that it need not wait."""


class Dispatcher:
    """Takes jobs in any order and sees to it that they are done. `close` must be called."""

    def __init__(
        self, start: Start, table: DirTable, dirs: DirCache, workers: int, on_report: OnReport
    ) -> None:
        """``on_report`` hears of every batch of files that is done."""
        self._start = start
        self._table = table
        self._on_report = on_report
        self._wanted_workers = workers
        self._workers: list[Worker] = []
        self._known_dirs: list[int] = []
        self._waiting: list[deque[OnReport]] = []
        self._reader = BlockReader(FileBackend(start.repository))
        self._writer = FileWriter(dirs, self._reader, start.target, sparse=start.sparse)
        self._small = SegmentOrder()
        self._prompt: list[FileJob] = []
        self._prompt_bytes = 0
        self._held_files = 0
        self._held_bytes = 0

    def add(self, job: FileJob) -> None:
        """One file to make; done some time before `finish` returns."""
        if len(job.places) == 1:
            self._small.add(job)
            if self._small.is_full:
                self._start_workers()
                self._run(self._small.take())
        else:
            self._prompt.append(job)
            self._prompt_bytes += job.size
            full = len(self._prompt) >= _BATCH_FILES or self._prompt_bytes >= _BATCH_BYTES
            if full and self._workers:
                self._run_prompt()
        if not self._workers:
            self._held_files += 1
            self._held_bytes += job.size
            if self._held_files >= _INLINE_FILES or self._held_bytes >= _INLINE_BYTES:
                self._start_workers()

    def add_piece(self, piece: Piece, on_report: OnReport) -> None:
        """A part of a large file; ``on_report`` is called when it is done."""
        self._start_workers()
        if self._workers:
            self._send_piece(piece, on_report)
        else:
            on_report(self._writer.write_piece(piece))

    def finish(self) -> None:
        """Return when everything is done.

        Raises what a process raised (StorageFullError), or WorkerDiedError if one is gone.
        """
        self._run_prompt()
        self._run(self._small.take_all())
        while any(worker.pending for worker in self._workers):
            self._receive()

    def close(self) -> None:
        """End the processes; those still at work remove the file they are at."""
        for worker in self._workers:
            worker.connection.close()
        for worker in self._workers:
            worker.close()
        self._workers.clear()
        self._small.close()
        self._reader.close()

    def _start_workers(self) -> None:
        if self._workers or not self._wanted_workers:
            return
        for _ in range(self._wanted_workers):
            worker = Worker("snapfs.materialize.worker", pass_fds=(self._start.top_fd,))
            self._workers.append(worker)
            self._known_dirs.append(1)
            self._waiting.append(deque([_ignore]))
            worker.send(self._start)

    def _run_prompt(self) -> None:
        jobs, self._prompt, self._prompt_bytes = self._prompt, [], 0
        self._run(jobs)

    def _run(self, jobs: Iterable[FileJob]) -> None:
        for batch in _batches(jobs):
            if self._workers:
                self._send_batch(batch)
            else:
                self._on_report(self._writer.write(batch))

    def _send_batch(self, jobs: Sequence[FileJob]) -> None:
        at = self._idle()
        message = Batch(self._table.since(self._known_dirs[at]), tuple(zip(*jobs, strict=True)))
        self._send(at, message, self._on_report)

    def _send_piece(self, piece: Piece, on_report: OnReport) -> None:
        at = self._idle()
        message = PieceBatch(self._table.since(self._known_dirs[at]), piece)
        self._send(at, message, on_report)

    def _send(self, at: int, message: Batch | PieceBatch, on_report: OnReport) -> None:
        self._known_dirs[at] = len(self._table)
        self._waiting[at].append(on_report)
        self._workers[at].send(message)

    def _idle(self) -> int:
        """The process with the least to do, once it has not too much."""
        while True:
            at = min(range(len(self._workers)), key=lambda n: self._workers[n].pending)
            if self._workers[at].pending < _AHEAD:
                return at
            self._receive()

    def _receive(self) -> None:
        for worker in ready(self._workers):
            report = worker.receive()
            on_report = self._waiting[self._workers.index(worker)].popleft()
            if report is not None:
                on_report(report)


def _ignore(_report: Report) -> None:
    return


def _batches(jobs: Iterable[FileJob]) -> Iterator[list[FileJob]]:
    batch: list[FileJob] = []
    size = 0
    for job in jobs:
        batch.append(job)
        size += job.size
        if len(batch) >= _BATCH_FILES or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
