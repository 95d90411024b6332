"""Handing out the writing of files: to processes if there is enough of it, else done here.

Whoever adds files goes on with the next ones while the processes write, until too many wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from snapfs.blocks.reader import BlockReader
from snapfs.materialize.dirtable import DirCache, DirTable
from snapfs.materialize.filewriter import FileJob, FileWriter, Piece, Report
from snapfs.materialize.messages import Batch, PieceBatch, Start
from snapfs.materialize.ordering import SegmentOrder
from snapfs.storage.files import FileBackend
from snapfs.workers import Worker, close_all, ready

OnReport = Callable[[Report], None]

_INLINE_FILES = 400
_INLINE_BYTES = 24 << 20
"""With less than both of these it takes longer to start processes than to write."""

_BATCH_FILES = 256
_BATCH_BYTES = 8 << 20
_AHEAD = 3
"""Batches a process has in hand, so that it need not wait for the next."""

_MAX_WAITING_FILES = 40_000


class _Crew:
    """The processes, each with the batches of the group it is at."""

    def __init__(self, start: Start, table: DirTable, count: int) -> None:
        self._table = table
        self.workers: list[Worker] = []
        self._known_dirs = [1] * count
        self._answers: list[deque[OnReport | None]] = []
        self._own: list[deque[list[FileJob]]] = []
        self._groups: deque[list[FileJob]] = deque()
        self.waiting_files = 0
        for _ in range(count):
            worker = Worker("snapfs.materialize.worker", pass_fds=(start.top_fd,))
            self.workers.append(worker)
            self._answers.append(deque([None]))
            self._own.append(deque())
            worker.send(start)

    def add_group(self, jobs: list[FileJob]) -> None:
        """Files that one process had better write."""
        self._groups.append(jobs)
        self.waiting_files += len(jobs)

    def feed(self, on_report: OnReport) -> None:
        """Give every process what it has room for."""
        for at, worker in enumerate(self.workers):
            while worker.pending < _AHEAD:
                batch = self._next(at)
                if batch is None:
                    break
                self.waiting_files -= len(batch)
                new_dirs = self._table.since(self._known_dirs[at])
                columns = tuple(zip(*batch, strict=True))
                self._send(at, Batch(new_dirs, columns), on_report)

    def send_piece(self, piece: Piece, on_report: OnReport) -> None:
        """Give a piece to the process with the least to do, once it has room."""
        while True:
            at = min(range(len(self.workers)), key=lambda n: self.workers[n].pending)
            if self.workers[at].pending < _AHEAD:
                break
            self.receive(None)
        self._send(at, PieceBatch(self._table.since(self._known_dirs[at]), piece), on_report)

    def receive(self, timeout_s: float | None) -> None:
        """Take in answers; waits for the first one, or so long."""
        for worker in ready(self.workers, timeout_s):
            report = worker.receive()
            on_report = self._answers[self.workers.index(worker)].popleft()
            if on_report is not None:
                on_report(report)

    @property
    def is_busy(self) -> bool:
        """Whether answers are still to come."""
        return any(worker.pending for worker in self.workers)

    def close(self) -> None:
        """End the processes; those still at work remove the file they are at."""
        close_all(self.workers)
        self.workers.clear()

    def _send(self, at: int, message: Batch | PieceBatch, on_report: OnReport) -> None:
        self._known_dirs[at] = len(self._table)
        self._answers[at].append(on_report)
        self.workers[at].send(message)

    def _next(self, at: int) -> list[FileJob] | None:
        """A batch of the group this process is at, else of a new one, else of another's."""
        own = self._own[at]
        if not own and self._groups:
            own.extend(_batches(self._groups.popleft()))
        if own:
            return own.popleft()
        other = max(self._own, key=len)
        return other.pop() if other else None


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
        self._crew: _Crew | None = None
        self._backend = FileBackend(start.repository)
        self._reader = BlockReader(self._backend)
        self._writer = FileWriter(dirs, self._reader, start.target, sparse=start.sparse)
        self._small = SegmentOrder()
        self._prompt: list[FileJob] = []
        self._held_files = 0
        self._held_bytes = 0

    def add(self, jobs: list[FileJob]) -> None:
        """Files to make; done some time before `finish` returns."""
        if self._crew is None:
            self._held_files += len(jobs)
            self._held_bytes += sum(job.size for job in jobs)
            if self._held_files >= _INLINE_FILES or self._held_bytes >= _INLINE_BYTES:
                self._start_crew()
        self._small.add([job for job in jobs if len(job.places) == 1])
        self._prompt += [job for job in jobs if len(job.places) != 1]
        if self._crew is not None:
            self._hand_over_prompt()
        if self._small.is_full:
            self._hand_over(self._small.take())

    def add_piece(self, piece: Piece, on_report: OnReport) -> None:
        """A part of a large file; ``on_report`` is called when it is done."""
        self._start_crew()
        if self._crew is not None:
            self._crew.send_piece(piece, on_report)
        else:
            on_report(self._writer.write_piece(piece))

    def pump(self) -> None:
        """Call often: takes in what is done and hands out what waits, without waiting."""
        if self._crew is not None:
            self._crew.receive(0)
            self._crew.feed(self._on_report)

    def finish(self) -> None:
        """Return when everything is done.

        Raises what a process raised (StorageFullError), or WorkerDiedError if one is gone.
        """
        self._hand_over_prompt()
        self._hand_over(self._small.take_all())
        self._drain(0)
        while self._crew is not None and self._crew.is_busy:
            self._crew.receive(None)

    def close(self) -> None:
        """End everything, finished or not."""
        if self._crew is not None:
            self._crew.close()
        self._small.close()
        self._reader.close()
        self._backend.close()

    def _start_crew(self) -> None:
        if self._crew is None and self._wanted_workers:
            self._crew = _Crew(self._start, self._table, self._wanted_workers)

    def _hand_over_prompt(self) -> None:
        jobs, self._prompt = self._prompt, []
        self._hand_over(_batches(jobs))

    def _hand_over(self, groups: Iterable[list[FileJob]]) -> None:
        for group in groups:
            if self._crew is None:
                for batch in _batches(group):
                    self._on_report(self._writer.write(batch))
            else:
                self._crew.add_group(group)
                self._drain(_MAX_WAITING_FILES)

    def _drain(self, files: int) -> None:
        """Return when no more than so many files wait."""
        if self._crew is None:
            return
        self._crew.feed(self._on_report)
        while self._crew.waiting_files > files:
            self._crew.receive(None)
            self._crew.feed(self._on_report)


def _batches(jobs: Sequence[FileJob]) -> Iterable[list[FileJob]]:
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
