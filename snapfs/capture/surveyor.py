"""The walk of a worker through a part of a tree that no snapshot has: look, read and store at once.

In a first snapshot nothing has to be compared with anything, so that a file can be read where it is
found, with its directory open. A worker goes down from the directories that it is given until it has
seen so much, and gives back those that it has not been in: the next worker that has nothing to do goes
on there. What takes more than a look (large files, sparse ones, those with several names, those that
change) it leaves to be read later (`capture.store`).
"""

from __future__ import annotations

import errno
import os
from typing import Any, NamedTuple

from snapfs import workers
from snapfs.blocks.pack import PackInfo
from snapfs.blocks.treedigest import ChildTuple, TreeParts
from snapfs.capture.reader import FileReader
from snapfs.capture.seen import FILE, SECOND, Frame, ScanOptions, ScanTotals
from snapfs.capture.walk import Walk
from snapfs.catalog.stagerows import FILE_TYPES, Lost, StagedFile
from snapfs.fs.dirstack import DirStack
from snapfs.fs.handles import open_below, refuse_exhausted
from snapfs.fs.matching import Met, RuleMatcher, Trail
from snapfs.fs.rules import Rules
from snapfs.model.path import join
from snapfs.progress import NullProgress
from snapfs.stream.columns import encode_columns

READ_AT_ONCE = 16 * 1024 * 1024
"""A worker that has read so many bytes gives back what is left."""
HELD_BYTES = 12 * 1024 * 1024
"""Of files that are read before they are stored, those of like names together."""
_NUMBERS = 64 * 1024
_ATTRS = 256
_KNOWN_ATTRS = 50_000


class Setup(NamedTuple):
    """What a survey is of; sent before its first part."""

    rules: Rules
    options: ScanOptions
    now_ns: int
    root_dev: int
    entries_at_once: int
    """a worker that has seen so many gives back what is left"""
    piece_rows: int
    """rows that travel together"""


class Part(NamedTuple):
    """Directories to be surveyed with all that is below them, all in one directory.

    ``names`` None: the root itself. ``seqs`` are their rows.
    """

    parts: tuple[bytes, ...]
    """names from the root to the directory that they are in"""
    seq: int
    """its row"""
    trail: Trail
    names: list[bytes] | None
    seqs: list[int]


class Numbers(NamedTuple):
    """A question: so many numbers of rows, or of attributes, in a run; answered with the first."""

    rows: int
    attrs: int


class Rest(NamedTuple):
    """The message after the last part: tell what has not been told yet."""


class Piece(NamedTuple):
    """Rows for the stage, in the order in which they are to be put there."""

    attrs: list[tuple[int, tuple[int, int, int, int, bytes]]]
    rows: list[tuple[Any, ...]]
    read: list[tuple[Any, ...]]
    encoded: bytes
    files: list[StagedFile]
    paths: list[tuple[int, bytes]]
    problems: list[tuple[bytes, int, str]]
    unsound: list[int]
    """rows of directories that are not as their fingerprints tell"""


class Surveyed(NamedTuple):
    """The answer to a part, and with ``met`` that to `Rest`; the rows were told on the way."""

    counted: ScanTotals
    read_bytes: int
    left: list[Part]
    packs: list[PackInfo]
    met: Met | None
    rule_problems: list[tuple[bytes, int]]


class _Rows:
    """Rows on their way to the stage."""

    first = True

    def __init__(self, piece_rows: int) -> None:
        self._most = piece_rows
        self._attrs: dict[tuple[int, int, int, int, bytes], int] = {}
        self.keys: dict[int, tuple[int, int, int, int, bytes]] = {}
        """attributes by local id, those used lately"""
        self._next_attr = self._end_attr = 0
        self._empty()

    def _empty(self) -> None:
        self._new_attrs: list[tuple[int, tuple[int, int, int, int, bytes]]] = []
        self._rows: list[tuple[Any, ...]] = []
        self._read: list[tuple[Any, ...]] = []
        self._files: list[StagedFile] = []
        self._paths: list[tuple[int, bytes]] = []
        self._problems: list[tuple[bytes, int, str]] = []
        self._unsound: list[int] = []

    def attr(self, mode: int, uid: int, gid: int, flags: int, xattr: bytes) -> int:
        key = (mode, uid, gid, flags, xattr)
        found = self._attrs.get(key)
        if found is None:
            if len(self._attrs) >= _KNOWN_ATTRS:
                self._attrs.clear()
                self.keys.clear()
            if self._next_attr == self._end_attr:
                self._next_attr = workers.ask(Numbers(0, _ATTRS))
                self._end_attr = self._next_attr + _ATTRS
            found = self._attrs[key] = self._next_attr
            self.keys[found] = key
            self._next_attr += 1
            self._new_attrs.append((found, key))
        return found

    def put_rows(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows += rows
        self._grown()

    def put_read(self, rows: list[tuple[Any, ...]]) -> None:
        """Rows of ``STAGE_FILE_READ``."""
        self._read += rows
        self._grown()

    def put_files(self, rows: list[StagedFile]) -> None:
        self._files += rows
        self._grown()

    def put_paths(self, rows: list[tuple[int, bytes]]) -> None:
        self._paths += rows

    def put_lost(self, rows: list[Lost]) -> None:
        raise AssertionError("nothing is known, so nothing is lost")

    def put_problem(self, path: bytes, errno: int, what: str) -> None:
        self._problems.append((path, errno, what))

    def put_unsound(self, seq: int) -> None:
        """A directory is not as its fingerprint tells."""
        self._unsound.append(seq)

    def _grown(self) -> None:
        if len(self._rows) + len(self._read) + len(self._files) >= self._most:
            self.tell()

    def tell(self) -> None:
        """Send what there is. The numbers of the files that are read are in one run."""
        encoded = b""
        if self._read:
            (seq, _, parent, name, _, attr, size, mtime_s, mtime_nsec, _, state, ctime_s,
             ctime_nsec, dev, ino, _) = zip(*self._read, strict=True)  # fmt: skip
            columns = (seq, parent, name, attr, size, mtime_s, mtime_nsec, state, ctime_s,
                       ctime_nsec, dev, ino)  # fmt: skip
            encoded = encode_columns(FILE_TYPES, columns)
        piece = Piece(
            self._new_attrs, self._rows, self._read, encoded, self._files, self._paths,
            self._problems, self._unsound,
        )  # fmt: skip
        if any(piece):
            workers.tell(piece)
        self._empty()


class Surveyor(Walk):
    """One worker's part of the walk of one root."""

    def __init__(self, setup: Setup, root_fd: int, reader: FileReader) -> None:
        self._out = _Rows(setup.piece_rows)
        self._rule_problems: list[tuple[bytes, int]] = []
        super().__init__(
            self._out,
            RuleMatcher(setup.rules, problem=self._rule_problem),
            setup.options,
            setup.now_ns,
            progress=NullProgress(),
            on_files=self._read,
        )
        self.totals.root_dev = setup.root_dev
        self._root_fd = root_fd
        self._reader = reader
        self._read_bytes = 0
        self._end_seq = 0
        self._entries_at_once = setup.entries_at_once
        self._base: Frame | None = None

    def survey(self, part: Part) -> Surveyed:
        """Go as far as is due. Raises StorageFullError and StorageError of the repository."""
        left: list[Part] | None = None
        try:
            fd = open_below(self._root_fd, part.parts)
        except OSError as error:
            self._unreachable(part, error)
            return self._surveyed([])
        with DirStack(fd, above=part.parts) as self._stack:
            self._start(part)
            while self._frames:
                if left is None and self._is_enough():
                    left = self._give_back()
                self._go_on()
        return self._surveyed(left or [])

    def rest(self) -> Surveyed:
        """All parts are done: store and tell what waits."""
        self._reader.held.store(like_together=True)
        self._staging.flush()
        self._out.tell()
        return self._surveyed([], self.matcher.met())

    # --- parts ---------------------------------------------------------------------------------

    def _start(self, part: Part) -> None:
        """Stand in the directory where a part begins."""
        top = Frame()
        top.seq = part.seq
        self._frames = [top]
        if part.names is None:
            self._base = None
            top.st = os.fstat(self._stack.fd)
            self.totals.count(top.st)
            self._enter(top)
        else:
            self._base = top
            top.rules = self.matcher.follow(part.trail)
            below = zip(part.names, part.seqs, strict=True)
            top.todo = iter([(name, seq, None, None) for name, seq in below])

    def _is_enough(self) -> bool:
        return self.totals.entries >= self._entries_at_once or self._read_bytes >= READ_AT_ONCE

    def _give_back(self) -> list[Part]:
        """Where the walk has not been yet; the directories that it is in end here."""
        left: list[Part] = []
        parts = self._stack.parts
        above = len(parts) - len(self._frames) + 1
        for depth, frame in enumerate(self._frames, above):
            below = list(frame.todo)
            frame.todo = iter(())
            if not below:
                continue
            if frame.parts is not None:
                frame.parts.lose()
            trail = () if frame.rules is None else frame.rules.trail()
            names, seqs = [item[0] for item in below], [item[1] for item in below]
            left.append(Part(parts[:depth], frame.seq, trail, names, seqs))
        return left

    def _surveyed(self, left: list[Part], met: Met | None = None) -> Surveyed:
        problems, self._rule_problems = self._rule_problems, []
        read_bytes, self._read_bytes = self._read_bytes, 0
        return Surveyed(
            self.totals.split(), read_bytes, left, self._reader.take_packs(), met, problems
        )

    # --- the walk ------------------------------------------------------------------------------

    def _leave(self, frame: Frame) -> None:
        if frame is not self._base:
            super()._leave(frame)
            return
        # It was staged when it was listed, by whoever gave this part back.
        self._frames.pop()
        if frame.refresh:
            self._out.put_unsound(frame.seq)

    def _stage(self, frame: Frame, fd: int, names: list[bytes]) -> None:
        totals = self.totals
        if totals.next_seq + len(names) > self._end_seq:
            self._out.tell()
            amount = max(_NUMBERS, len(names))
            totals.next_seq = workers.ask(Numbers(amount, 0))
            self._end_seq = totals.next_seq + amount
        frame.parts = TreeParts()
        super()._stage(frame, fd, names)

    def _read(self, frame: Frame, fd: int, files: list[StagedFile]) -> list[StagedFile]:
        """Read what can be read at once; returns the others."""
        look, held, keys = self._reader.look, self._reader.held, self._out.keys
        left: list[StagedFile] = []
        read: list[tuple[Any, ...]] = []
        children: list[ChildTuple] = []
        for row in files:
            (seq, above, parent, name, inode, attr, size, mtime_s, mtime_nsec, state, ctime_s,
             ctime_nsec, dev, ino, nlink) = row  # fmt: skip
            key = keys.get(attr)
            if nlink > 1 or key is None:
                left.append(row)
                continue
            seen = look(
                fd, name, name, size, mtime_s * SECOND + mtime_nsec,
                ctime_s * SECOND + ctime_nsec, dev, ino,
            )  # fmt: skip
            if seen is None:
                left.append(row)
                continue
            digest, flags, xattr = seen
            mode, uid, gid, *_ = key
            if flags or xattr:
                attr = self._out.attr(mode, uid, gid, flags, xattr)
            read.append((
                seq, above, parent, name, inode, attr, size, mtime_s, mtime_nsec, digest or None,
                state, ctime_s, ctime_nsec, dev, ino, nlink,
            ))  # fmt: skip
            children.append((
                name, FILE, mode, uid, gid, flags, xattr, size, mtime_s, mtime_nsec, 0, b"",
                digest, 0,
            ))  # fmt: skip
            self._read_bytes += size
            if held.size >= HELD_BYTES:
                held.store(like_together=True)
        self._out.put_read(read)
        if frame.parts is not None:
            frame.parts.add(children)
            if left:
                frame.parts.lose()
        return left

    # --- trouble -------------------------------------------------------------------------------

    def _rule_problem(self, path: bytes, error: OSError) -> None:
        self._rule_problems.append((path, error.errno or 0))

    def _unreachable(self, part: Part, error: OSError) -> None:
        """The directory of a part is not where it was, or nobody may go there any more."""
        refuse_exhausted(error.errno or 0)
        self._out.put_unsound(part.seq)
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return
        above = b"/".join(part.parts)
        for name in part.names or ():
            self._out.put_problem(join(above, name), error.errno or 0, "directory cannot be opened")
