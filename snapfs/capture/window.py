"""Files of a first snapshot between the walk and the stage: held as rows until their bytes are read.

A row that waits here goes into the stage once, whole, instead of being put in, looked up and put in
again, which halves what a new file costs the parent.
"""

from __future__ import annotations

import marshal
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from snapfs.catalog.commit import FILE_TYPES
from snapfs.model.toread import ToRead
from snapfs.storage.scratch import Place, ScratchFile
from snapfs.stream.columns import encode_columns
from snapfs.stream.record import ROWS_PER_PIECE

StagedFile = tuple[Any, ...]
"""A row of ``STAGE_FILE``."""

_SEQ, _PARENT, _NLINK = 0, 1, 14
_DIGEST = 9
"""Where the digest stands in a row of ``STAGE_FILE_READ``."""


class Window:
    """A run of new files, all with one name, that are read together and staged in order."""

    def __init__(self) -> None:
        self.files: list[ToRead] = []
        self.last = 0
        """the last row of the walk when it was closed"""
        self._rows: dict[int, StagedFile] = {}
        self._read: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        """How many files still wait to be read."""
        return len(self._rows)

    def add(self, row: StagedFile, directory: bytes) -> None:
        """A file of the walk; ``directory`` is its directory's path from the root."""
        (seq, _, _, name, _, attr, size, mtime_s, mtime_nsec, _, ctime_s, ctime_nsec, dev, ino,
         nlink) = row  # fmt: skip
        self._rows[seq] = row
        self.files.append(
            ToRead(seq, directory, name, size, mtime_s, mtime_nsec, ctime_s, ctime_nsec, dev, ino,
                   nlink, attr)
        )  # fmt: skip

    def read(self, results: Sequence[tuple[bytes | None, int]]) -> None:
        """``(digest, seq)`` of files that are as the walk saw them."""
        for digest, seq in results:
            row = self._rows.pop(seq)
            self._read.append((*row[:_DIGEST], digest, *row[_DIGEST:]))

    def take(self, seq: int) -> StagedFile:
        """The row of a file of which there is more to say."""
        return self._rows.pop(seq)

    def pieces(self) -> Iterator[tuple[list[tuple[Any, ...]], bytes]]:
        """What was read, in order and some thousand at a time: rows of ``STAGE_FILE_READ``, and the
        same as the journal has them.
        """
        self._read.sort()
        for start in range(0, len(self._read), ROWS_PER_PIECE):
            rows = self._read[start : start + ROWS_PER_PIECE]
            (seq, _, parent, name, _, attr, size, mtime_s, mtime_nsec, _, state, ctime_s,
             ctime_nsec, dev, ino, _) = zip(*rows, strict=True)  # fmt: skip
            columns = (seq, parent, name, attr, size, mtime_s, mtime_nsec, state, ctime_s,
                       ctime_nsec, dev, ino)  # fmt: skip
            yield rows, encode_columns(FILE_TYPES, columns)


class _Piece(NamedTuple):
    """Files of a walk that came together."""

    rows: list[StagedFile]
    directories: dict[int, bytes]
    """path of each directory that they are in"""
    last: int
    """the last row of the walk that came with them"""


class Windows:
    """Collects the files of a walk into windows, as many as may be under way at a time.

    A walk that goes ahead of the reading is not held up: what it finds waits in a file.
    """

    def __init__(self, sizes: Sequence[int], most: int) -> None:
        """``sizes``: files of the first, second, ... window, the last for all after."""
        self._sizes = list(sizes)
        self._most = most
        self._open = Window()
        self._closed: deque[Window] = deque()
        self._waiting: deque[Place] = deque()
        self._file = ScratchFile()
        self._directory: tuple[int, bytes] = (0, b"")
        self._read_to = 0
        self._first_left: int | None = None

    def offer(
        self, rows: Sequence[StagedFile], paths: Sequence[tuple[int, bytes]]
    ) -> tuple[list[StagedFile], Window | None]:
        """Take rows of the walk. ``paths`` are (key, path) of directories that came with them.

        Returns those that are not taken (files with several names), and a window to be read now. Raises
        StorageFullError.
        """
        where = dict(paths)
        where.setdefault(*self._directory)
        # The next rows may go on in the directory where these end.
        parent = rows[-1][_PARENT]
        self._directory = (parent, where[parent])
        mine = [row for row in rows if row[_NLINK] <= 1]
        left = [row for row in rows if row[_NLINK] > 1]
        if left and self._first_left is None:
            self._first_left = left[0][_SEQ]
        piece = _Piece(mine, where, rows[-1][_SEQ])
        if self._waiting or self.full():
            self._waiting.append(self._file.append(marshal.dumps(tuple(piece))))
        else:
            self._add(piece)
        return left, self._next(self._sizes[0])

    def full(self) -> bool:
        """Whether no window can be given before another is read."""
        self._forget_read()
        return len(self._closed) >= self._most

    def rest(self) -> Window | None:
        """The walk is over: the next window, None if it was the last or `full`."""
        return self._next(1)

    def close(self) -> None:
        """Forget what waits."""
        self._file.close()

    def read_to(self) -> int:
        """Up to this row all files are read."""
        self._forget_read()
        if self._first_left is None:
            return self._read_to
        return min(self._read_to, self._first_left - 1)

    def _add(self, piece: _Piece) -> None:
        window, directories = self._open, piece.directories
        for row in piece.rows:
            window.add(row, directories[row[_PARENT]])
        window.last = piece.last

    def _next(self, least: int) -> Window | None:
        """The open window, if it has so many files and may be under way."""
        if self.full():
            return None
        window = self._open
        while self._waiting and len(window) < self._sizes[0]:
            piece = marshal.loads(self._file.read(self._waiting.popleft()))
            self._add(_Piece._make(piece))
        if len(window) < least:
            return None
        if len(self._sizes) > 1:
            self._sizes.pop(0)
        self._open = Window()
        self._closed.append(window)
        return window

    def _forget_read(self) -> None:
        closed = self._closed
        while closed and not len(closed[0]):
            self._read_to = closed.popleft().last
