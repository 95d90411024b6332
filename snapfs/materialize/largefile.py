"""A file too large for one message: made and finished here, filled piece by piece by all processes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator

from snapfs.fs import temporary
from snapfs.fs.inodeflags import NOCOW, set_flags
from snapfs.fs.xattrs import ACCESS_ACL, drop_xattr
from snapfs.materialize.attributes import Attributes, Refusals, give, give_flags
from snapfs.materialize.dirtable import DirCache
from snapfs.materialize.dispatch import Dispatcher
from snapfs.materialize.filewriter import (
    DIRECT,
    REPLACES,
    STRIP_ACL,
    STRIP_FLAGS,
    FileJob,
    Piece,
    Report,
    Trouble,
)
from snapfs.materialize.naming import give_name
from snapfs.materialize.places import Place
from snapfs.materialize.run import Run
from snapfs.model.kinds import Kind

LARGE_BYTES = 64 << 20
_PIECE_BYTES = 8 << 20
_PIECE_PLACES = 512
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class LargeFile:
    """One large file being written. `abandon` it if the run ends before `is_done`."""

    def __init__(self, run: Run, dirs: DirCache, job: FileJob) -> None:
        """Make the file at its full size; ``job.places`` are not used. Raises OSError."""
        self._run = run
        self._job = job
        direct = job.how & DIRECT
        self._working_name = job.name if direct else temporary.new_name()
        self._dir_fd = os.dup(dirs.fd(job.directory))
        self._fd = -1
        self._open_pieces = 1  # this one stands for pieces still to come
        self._trouble: Trouble | None = None
        self._written = 0
        try:
            self._fd = os.open(self._working_name, _CREATE, 0o600, dir_fd=self._dir_fd)
            if not direct:
                temporary.hold(self._fd)
            if job.flags & NOCOW:
                with contextlib.suppress(OSError):
                    set_flags(self._fd, NOCOW)
            os.ftruncate(self._fd, job.size)
        except BaseException:
            self.abandon()
            raise

    @property
    def is_done(self) -> bool:
        """Whether it has its name, or is gone."""
        return self._dir_fd < 0

    def fill(self, dispatcher: Dispatcher, places: Iterable[Place]) -> None:
        """Hand out all its extents. Bytes that are lost become a problem of the file."""
        at = 0
        job = self._job
        for piece in _pieces(places):
            length = sum(place[1] for place in piece)
            if at + length > job.size:
                break
            self._open_pieces += 1
            dispatcher.add_piece(
                Piece(job.directory, self._working_name, at, piece), self._on_report
            )
            at += length
            if self._trouble is not None:
                break
        if at != job.size and self._trouble is None:
            self._fail(0, "damaged: the repository has lost some of its bytes")
        self._piece_done()

    def abandon(self) -> None:
        """Remove it."""
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.unlink(self._working_name, dir_fd=self._dir_fd)
        self._close()

    def _on_report(self, report: Report) -> None:
        self._written += report.written_bytes
        self._run.progress.advance(read_bytes=report.written_bytes)
        if report.troubles and self._trouble is None:
            self._fail(report.troubles[0].errno, report.troubles[0].what)
        self._piece_done()

    def _piece_done(self) -> None:
        self._open_pieces -= 1
        if self._open_pieces or self.is_done:
            return
        troubles = []
        if self._trouble is None:
            try:
                refused = self._complete()
            except OSError as error:
                self._run.stop_if_full(error)
                self._fail(error.errno or 0, error.strerror or str(error))
            else:
                self._run.refusals(self._job.directory, self._job.name, refused)
        if self._trouble is not None:
            troubles.append(self._trouble)
            self.abandon()
        self._close()
        self._run.counts.written_bytes += 0 if troubles else self._written
        self._run.report(Report(1, 0, troubles))

    def _fail(self, number: int, what: str) -> None:
        replaces = bool(self._job.how & REPLACES)
        self._trouble = Trouble(self._job.directory, self._job.name, number, what, True, replaces)

    def _complete(self) -> Refusals:
        job, fd = self._job, self._fd
        refused = Refusals()
        if job.how & STRIP_ACL:
            drop_xattr(fd, ACCESS_ACL)
        wanted = Attributes(job.mode, job.uid, job.gid, job.flags, job.xattr, job.mtime_ns)
        give(fd, Kind.FILE, wanted, refused)
        if not job.how & DIRECT:
            replaces = bool(job.how & REPLACES)
            give_name(
                self._working_name, job.name, self._dir_fd, replaces=replaces, before=job.before
            )
        if job.flags or job.how & STRIP_FLAGS:
            give_flags(fd, job.flags, refused)
        return refused

    def _close(self) -> None:
        for fd in (self._fd, self._dir_fd):
            if fd >= 0:
                os.close(fd)
        self._fd = self._dir_fd = -1


def _pieces(places: Iterable[Place]) -> Iterator[list[Place]]:
    piece: list[Place] = []
    size = 0
    for place in places:
        piece.append(place)
        size += place[1]
        if size >= _PIECE_BYTES or len(piece) >= _PIECE_PLACES:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece
