"""Reading what a scan found: batches to worker processes, results into the stage.

New files are read in order of extension, base name and path, so that like files share a segment; a
window of them is sorted at a time, which bounds memory. Files that may be equal go to one worker, which
knows what it has stored: copies of a tree are stored once. Those of a first snapshot are read while the
walk still goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from snapfs.blocks.pack import PackInfo
from snapfs.blocks.store import BlockSink
from snapfs.capture.reader import BatchRead, FileRead, FileReader, NullSink, Outcome, Sink
from snapfs.capture.shares import Shares
from snapfs.capture.stored import StoredBlocks
from snapfs.capture.trouble import put_problem
from snapfs.capture.window import StagedFile, Window, Windows
from snapfs.capture.worker import Start
from snapfs.catalog.database import Catalog
from snapfs.catalog.stage import ReadResult, Stage
from snapfs.model.kinds import State
from snapfs.model.toread import ToRead
from snapfs.progress import Progress
from snapfs.storage.files import FileBackend
from snapfs.workers import Question, Told, Worker, close_all, ready

WORKERS = 2
WINDOW_FILES = 16 * 1024
FIRST_WINDOWS = (2 * 1024, 8 * 1024, WINDOW_FILES)
"""During a walk: short ones at first, so that the workers have something to do soon."""
WINDOWS_UNDER_WAY = 3
BATCH_BYTES = 4 * 1024 * 1024
BATCH_FILES = 1024
QUEUED = 4
"""Batches a worker has in hand, so that it never waits for the parent; one if it is a very large file."""
MUCH_BYTES = 256 * 1024 * 1024
"""A worker with nothing to do takes over what another has of its own beyond this, copies or not."""
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
    """What one message carries; ``window`` None: its files are staged."""

    files: list[ToRead]
    window: Window | None
    worker: int
    """the number of the one that has their like"""
    size: int
    """their bytes"""


_NOTHING = _Batch([], None, 0, 0)


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
        on_read: Callable[[int], None] | None = None,
    ) -> None:
        """``on_read`` is told up to which row of the walk everything is staged and read."""
        self._on_read = on_read
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
        self._windows = Windows(FIRST_WINDOWS, WINDOWS_UNDER_WAY)
        self._read_windows: list[Window] = []
        self._shares = Shares(WORKERS)
        self._queues: list[deque[_Batch]] = [deque() for _ in range(WORKERS)]
        self._in_hand: dict[int, deque[_Batch]] = {}
        self.read_bytes = 0
        self._pack_number = 0
        self._segment_number = 0
        self._block_number = 0
        self.stored_bytes = 0

    # --- driving -------------------------------------------------------------------------------

    def offer(self, rows: list[StagedFile], paths: Sequence[tuple[int, bytes]]) -> list[StagedFile]:
        """Called during the walk of a first snapshot: read what comes, without waiting.

        ``rows`` are new files, ``paths`` the directories that came with them. Returns the rows that
        are to be staged.
        """
        left, window = self._windows.offer(rows, paths)
        if window is not None:
            self._put(window.files, window)
        while self._workers and self._turn(0.0):
            pass
        if window is not None:
            self._stage_windows()  # now that the workers have the next one
        return left

    def read_all(self) -> None:
        """The walk is over: read all that is left, and have the packs finished."""
        while (window := self._windows.rest()) is not None or self._windows.full():
            if window is None:
                self._turn(None)
            else:
                self._give(window.files, window)
            self._stage_windows()
        self._read_staged()
        while self._stage.heirs():
            self._read_staged()
        if self._own_reader is not None:
            self._add_packs(self._own_reader.flush())
        for worker in self._workers:
            worker.send(None)
            self._in_hand[id(worker)].append(_NOTHING)

    def _read_staged(self) -> None:
        """Read what is staged to be read, and wait for everything under way."""
        after = 0
        while files := self._stage.to_read(after=after, most=WINDOW_FILES):
            after = files[-1].seq
            self._give(files, None)
        while self._waiting() or any(worker.pending for worker in self._workers):
            self._turn(None)
            self._stage_windows()
        self._stage_windows()

    def finish(self) -> None:
        """Wait for the packs."""
        while any(worker.pending for worker in self._workers):
            self._turn(None)
        close_all(self._workers)
        self._workers = []
        self._close()

    def _give(self, files: Sequence[ToRead], window: Window | None) -> None:
        small = sum(item.size for item in files) <= INLINE_BYTES and len(files) <= INLINE_FILES
        if not self._store.workers or (small and not self._workers):
            self._inline(_batches([sorted(files, key=_order)], window))
            return
        self._put(files, window)
        while self._waiting() > QUEUED * WORKERS:
            self._turn(None)

    def _put(self, files: Sequence[ToRead], window: Window | None) -> None:
        for batch in _batches(self._shares.divide(sorted(files, key=_order)), window):
            self._queues[batch.worker].append(batch)
        self._start()

    def _waiting(self) -> int:
        """How many batches nobody has yet."""
        return sum(map(len, self._queues))

    def _next(self, number: int) -> _Batch | None:
        """The next batch for a worker: one of its own; if it is idle, one that another would do much later."""
        if self._queues[number]:
            return self._queues[number].popleft()
        other = max(self._queues, key=len)
        idle = not self._workers[number].pending
        return other.pop() if idle and sum(batch.size for batch in other) > MUCH_BYTES else None

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
        fds = (self._root_fd, self._store.fd)
        self._workers = [Worker("snapfs.capture.worker", pass_fds=fds) for _ in range(WORKERS)]
        for number, worker in enumerate(self._workers):
            self._in_hand[id(worker)] = deque()
            worker.send(
                Start(
                    self._root_fd,
                    self._store.fd,
                    self._store.owner,
                    self._store.repository_id,
                    f"{self._stem}-{number}",
                    self._asking,
                )
            )
            self._in_hand[id(worker)].append(_NOTHING)

    def _turn(self, timeout_s: float | None) -> bool:
        """Give out batches, take one round of answers; whether there were any."""
        heard = False
        for number, worker in enumerate(self._workers):
            in_hand = self._in_hand[id(worker)]
            while (
                worker.pending < QUEUED
                and sum(batch.size for batch in in_hand) < QUEUED * BATCH_BYTES
                and (batch := self._next(number))
            ):
                in_hand.append(batch)
                # Plain tuples: a class name with each of a thousand files would double the message.
                worker.send(list(map(tuple, batch.files)))
        for worker in ready(self._workers, timeout_s):
            heard = True
            answer = worker.receive()
            if isinstance(answer, Question):
                worker.answer(self._stored.known(answer.value))
                continue
            if isinstance(answer, Told):
                self._told(answer.value)
                continue
            batch = self._in_hand[id(worker)].popleft()
            if isinstance(answer, BatchRead):
                self._take(batch, answer)
            elif answer is not None:
                self._add_packs(answer)
        return heard

    def abort(self) -> None:
        """End the workers at once; what they stored in finished packs stays for the next run."""
        for worker in self._workers:
            worker.kill()
        self._workers = []
        if self._own_sink is not None:
            self._own_sink.abandon()
        self._close()

    def _close(self) -> None:
        self._windows.close()
        self._stored.close()

    # --- results -------------------------------------------------------------------------------

    def _take(self, batch: _Batch, answer: BatchRead) -> None:
        files, window, *_ = batch
        if window is not None:
            window.read(answer.plain)
            if answer.special:
                self._stage.put_files([window.take(files[at].seq) for at, _ in answer.special])
            if not len(window):
                self._read_windows.append(window)
        elif answer.plain:
            self._stage.put_digests(answer.plain)
        self._take_special(files, answer.special)
        self._add_packs(answer.packs)
        self.read_bytes += answer.read_bytes
        self._progress.advance(read_bytes=answer.read_bytes - answer.told_bytes)

    def _stage_windows(self) -> None:
        """Stage the windows that are read: nothing waits for that, but for the walk workers do."""
        if not self._read_windows:
            return
        windows, self._read_windows = self._read_windows, []
        for window in windows:
            for rows, encoded in window.pieces():
                self._stage.put_read_files(rows, encoded)
        if self._on_read is not None:
            self._on_read(self._windows.read_to())

    def _told(self, read_bytes: int) -> None:
        """So much of a large file has been read."""
        self._progress.advance(read_bytes=read_bytes)

    def _take_special(
        self, files: Sequence[ToRead], special: Sequence[tuple[int, FileRead]]
    ) -> None:
        full: list[ReadResult] = []
        contents: dict[bytes, tuple[bytes, int, bytes]] = {}
        vanished: list[int] = []
        replaced: list[int] = []
        for number, result in special:
            item = files[number]
            if result.outcome == Outcome.VANISHED:
                vanished.append(item.seq)
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

    def _full(self, item: ToRead, result: FileRead) -> ReadResult:
        size, mtime_ns, ctime_ns = result.fresh or (
            result.size,
            item.mtime_s * SECOND + item.mtime_nsec,
            item.ctime_s * SECOND + item.ctime_nsec,
        )
        state: int | None = None
        path = item.directory + b"/" + item.name if item.directory else item.name
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

    def _add_packs(self, packs: Sequence[PackInfo]) -> None:
        for pack in packs:
            self.stored_bytes += pack.size
            self._pack_number += 1
            self._segment_number, self._block_number = self._stage.put_pack(
                pack.name,
                pack.size,
                _segments(pack),
                self._pack_number,
                self._segment_number,
                self._block_number,
            )


def _segments(
    pack: PackInfo,
) -> Iterator[tuple[int, int, int, int, Iterator[tuple[bytes, int, int]]]]:
    for index in pack.segments:
        place = index.place
        yield place.offset, place.stored, place.raw, place.checksum, index.blocks()


def _order(item: ToRead) -> tuple[bytes, bytes, bytes]:
    stem, dot, extension = item.name.rpartition(b".")
    return (extension if dot and stem else b"", item.name, item.directory)


def _batches(shares: Sequence[Sequence[ToRead]], window: Window | None) -> Iterator[_Batch]:
    """Files in storing order, of each worker in turn, cut into what one message carries."""
    for number, share in enumerate(shares):
        batch: list[ToRead] = []
        size = 0
        for item in share:
            if batch and (size + item.size > BATCH_BYTES or len(batch) >= BATCH_FILES):
                yield _Batch(batch, window, number, size)
                batch, size = [], 0
            batch.append(item)
            size += item.size
        if batch:
            yield _Batch(batch, window, number, size)
