"""Writing regular files: in a worker process, or in place if there is little to do.

A file in a place that was empty is written under its final name (it gets its time last, so one that is
cut off shows). In a directory that held anything it is written under a temporary name and renamed, so
that the old file, a running program or a file with other names elsewhere stays whole until then. Either
way a file that cannot be finished is removed: no wrong byte stands under a final name.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from snapfs import faults
from snapfs.blocks.reader import BlockReader
from snapfs.errors import DamageError, RepositoryError, StorageFullError
from snapfs.fs import temporary
from snapfs.fs.inodeflags import NOCOW, set_flags
from snapfs.fs.xattrs import ACCESS_ACL, drop_xattr
from snapfs.materialize.attributes import (
    KEEP,
    USUAL_TIMES,
    Attributes,
    Refusals,
    give,
    give_flags,
)
from snapfs.materialize.dirtable import DirCache
from snapfs.materialize.naming import TAKEN, Seen, give_name
from snapfs.materialize.places import Place
from snapfs.model.extents import ExtentKind
from snapfs.model.kinds import Kind

DIRECT = 1
"""Write under the final name."""
CLEAN = 2
"""New files get our owner from their directory, no ACL and no flags."""
STRIP_ACL = 4
"""The directory has a default ACL, which new files inherit."""
STRIP_FLAGS = 8
"""The directory has inode flags, which new files may inherit."""
REPLACES = 16
"""The name is taken, by what is to be replaced."""

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FULL = frozenset((errno.ENOSPC, errno.EDQUOT))
_ZEROS = memoryview(bytes(1 << 20))
_STOP_CHECK_BYTES = 8 << 20
_STOP_CHECK_FILES = 32
_SPECIAL_BITS = 0o7000
_BLOCK, _ZERO = int(ExtentKind.BLOCK), int(ExtentKind.ZERO)


class FileJob(NamedTuple):
    """One regular file to make; ``how`` are the bits above, ``places`` its extents in order."""

    directory: int
    name: bytes
    mode: int
    uid: int
    gid: int
    flags: int
    xattr: bytes
    mtime_ns: int
    size: int
    how: int
    places: Sequence[Place]
    before: Seen | None = None
    """what it replaces, if that must not have changed"""


class Trouble(NamedTuple):
    """Something is not as wanted; ``missing`` if the whole file is, which was to replace another."""

    directory: int
    name: bytes
    errno: int
    what: str
    missing: bool
    replaces: bool


class Report(NamedTuple):
    """What was done of a batch."""

    files: int
    written_bytes: int
    troubles: list[Trouble]


class Piece(NamedTuple):
    """A run of extents of a large file that stands, under its working name, at its full size."""

    directory: int
    name: bytes
    offset: int
    places: Sequence[Place]


class FileWriter:
    """Makes files of jobs. Damage and refusals become troubles; a full disk ends the run."""

    def __init__(
        self,
        dirs: DirCache,
        reader: BlockReader,
        target: bytes,
        *,
        sparse: bool,
        check_stop: Callable[[], None] = lambda: None,
    ) -> None:
        """``target`` is named in errors. ``check_stop`` is called now and then and raises to stop."""
        self._dirs = dirs
        self._reader = reader
        self._target = target
        self._sparse = sparse
        self._check_stop = check_stop
        self._uid = os.geteuid()
        self._gid = os.getegid()
        self._unchecked_bytes = 0

    def write(self, jobs: Iterable[FileJob]) -> Report:
        """Make files. Raises StorageFullError naming the target."""
        troubles: list[Trouble] = []
        files = written = 0
        for job in jobs:
            if not files % _STOP_CHECK_FILES:
                self._check_stop()
            files += 1
            try:
                refused = self._make(job)
            except (DamageError, RepositoryError, OSError) as error:
                troubles.append(self._trouble(job.directory, job.name, error, job.how))
                continue
            written += job.size
            if refused:
                troubles.append(
                    Trouble(job.directory, job.name, refused.errno, refused.text(), False, False)
                )
        return Report(files, written, troubles)

    def write_piece(self, piece: Piece) -> Report:
        """Fill a part of a large file; its one trouble has the working name."""
        try:
            fd = os.open(
                piece.name,
                os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK,
                dir_fd=self._dirs.fd(piece.directory),
            )
            try:
                written = self.fill(fd, piece.offset, piece.places)
            finally:
                os.close(fd)
        except (DamageError, RepositoryError, OSError) as error:
            return Report(0, 0, [self._trouble(piece.directory, piece.name, error, 0)])
        return Report(0, written, [])

    def fill(self, fd: int, start: int, places: Sequence[Place]) -> int:
        """Write extents from offset ``start`` on; how many bytes they cover. Holes are passed over."""
        at = start
        for kind, length, digest, pack, segment_offset, stored, offset in places:
            if kind == _BLOCK:
                if not digest or not pack:
                    raise DamageError("the repository has lost a block of it")
                block = self._reader.read(
                    pack, segment_offset, stored, offset, length, digest=digest
                )
                _write_at(fd, block, at)
            elif kind == _ZERO and not self._sparse:
                for done in range(0, length, len(_ZEROS)):
                    _write_at(fd, _ZEROS[: length - done], at + done)
            at += length
            self._unchecked_bytes += length
            if self._unchecked_bytes > _STOP_CHECK_BYTES:
                self._unchecked_bytes = 0
                self._check_stop()
        return at - start

    def _make(self, job: FileJob) -> Refusals | None:
        directory, name, mode, uid, gid, flags, xattr, mtime_ns, size, how, places, before = job
        dir_fd = self._dirs.fd(directory)
        direct = how & DIRECT
        ours = uid in (KEEP, self._uid) and gid in (KEEP, self._gid)
        simple = (
            how & CLEAN and not (xattr or flags or mode & _SPECIAL_BITS) and mtime_ns in USUAL_TIMES
        )
        working_name = name if direct else temporary.new_name()
        fd = -1
        try:
            fd = os.open(working_name, _CREATE, mode if simple and ours else 0o600, dir_fd=dir_fd)
            if not direct:
                temporary.hold(fd)
            if flags & NOCOW:  # it takes effect on an empty file only
                with contextlib.suppress(OSError):
                    set_flags(fd, NOCOW)
            if len(places) == 1 and places[0][0] == _BLOCK:
                self._write_whole(fd, places[0], size)
            elif places or size:
                self._write_extents(fd, places, size)
            if simple and ours:
                refused = None
                os.utime(fd, ns=(mtime_ns, mtime_ns))
            else:
                refused = Refusals()
                if how & STRIP_ACL:
                    drop_xattr(fd, ACCESS_ACL)
                give(fd, Kind.FILE, Attributes(mode, uid, gid, flags, xattr, mtime_ns), refused)
            if not direct:
                # Nobody may wait for it any more: what follows is the next command's, or the user's.
                self._check_stop()
                faults.point("restore.file-written")
                give_name(working_name, name, dir_fd, replaces=bool(how & REPLACES), before=before)
            if refused is not None and (flags or how & STRIP_FLAGS):
                give_flags(fd, flags, refused)
        except BaseException as error:
            # An interruption may come between the making and the assignment.
            if fd >= 0 or not isinstance(error, OSError):
                with contextlib.suppress(OSError):
                    os.unlink(working_name, dir_fd=dir_fd)
            raise
        finally:
            if fd >= 0:
                os.close(fd)
        return refused

    def _write_whole(self, fd: int, place: Place, size: int) -> None:
        _, length, digest, pack, segment_offset, stored, offset = place
        if length != size or not digest or not pack:
            raise DamageError("the repository has lost its bytes")
        block = self._reader.read(pack, segment_offset, stored, offset, length, digest=digest)
        if os.write(fd, block) != length:
            _write_at(fd, block, 0)

    def _write_extents(self, fd: int, places: Sequence[Place], size: int) -> None:
        if sum(place[1] for place in places) != size:
            raise DamageError("the repository has lost its bytes")
        if any(place[0] != _BLOCK for place in places):
            # At its size from the start: XFS puts blocks into holes that a file grows over.
            os.ftruncate(fd, size)
        self.fill(fd, 0, places)

    def _trouble(self, directory: int, name: bytes, error: Exception, how: int) -> Trouble:
        replaces = bool(how & REPLACES)
        if isinstance(error, OSError):
            if error.errno in _FULL:
                raise storage_full(self._target) from error
            text = error.strerror or str(error)
            if isinstance(error, FileExistsError):
                text = TAKEN
            return Trouble(directory, name, error.errno or 0, text, True, replaces)
        return Trouble(directory, name, 0, f"damaged: {error}", True, replaces)


def storage_full(target: bytes) -> StorageFullError:
    """The error for a full target."""
    path = os.fsdecode(target)
    hint = "free some space and restore again; --overwrite if-changed keeps what is done"
    return StorageFullError(f"no space left in {path}", subject=path, hint=hint)


def _write_at(fd: int, data: memoryview, at: int) -> None:
    while data:
        count = os.pwrite(fd, data, at)
        at += count
        data = data[count:]
