"""A process that writes files of a restore: ``python -m snapfs.materialize.worker FD`` (``snapfs.workers``)."""

from __future__ import annotations

import gc
import os
import select
import sys
from collections.abc import Callable

from snapfs.blocks.reader import BlockReader
from snapfs.materialize.dirtable import DirCache, DirTable, raise_descriptor_limit
from snapfs.materialize.filewriter import FileJob, FileWriter, Report
from snapfs.materialize.messages import Batch, PieceBatch, Start
from snapfs.storage.files import FileBackend
from snapfs.workers import serve

CACHE_BYTES = 24 << 20
"""Decoded segments that one process keeps: a few, since batches come in the order of segments."""


class _Handler:
    def __init__(self, connection_fd: int) -> None:
        self._hangup = select.poll()
        self._hangup.register(connection_fd, select.POLLHUP)
        self._table = DirTable()
        self._writer: FileWriter | None = None

    def __call__(self, message: Start | Batch | PieceBatch) -> Report | None:
        if isinstance(message, Start):
            self._start(message)
            return None
        assert self._writer is not None
        self._table.learn(message.new_dirs)
        if isinstance(message, PieceBatch):
            return self._writer.write_piece(message.piece)
        make: Callable[[object], FileJob] = FileJob._make  # type: ignore[assignment]
        return self._writer.write(map(make, zip(*message.columns, strict=True)))

    def _start(self, start: Start) -> None:
        os.umask(0)
        gc.disable()  # batches are large and have no cycles
        os.set_inheritable(start.top_fd, False)
        dirs = DirCache(start.top_fd, self._table, raise_descriptor_limit())
        reader = BlockReader(FileBackend(start.repository), CACHE_BYTES)
        self._writer = FileWriter(
            dirs, reader, start.target, sparse=start.sparse, check_stop=self._check_stop
        )

    def _check_stop(self) -> None:
        """End, leaving no unfinished file, once nobody waits for an answer any more."""
        if self._hangup.poll(0):
            raise SystemExit


if __name__ == "__main__":
    serve(_Handler(int(sys.argv[1])))
