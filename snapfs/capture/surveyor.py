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
from snapfs.capture.reader import MOVED, FileReader
from snapfs.capture.seen import FILE, SECOND, Frame, ScanOptions, ScanTotals
from snapfs.capture.staging import FLUSH_ROWS
from snapfs.capture.walk import Walk
from snapfs.catalog.attrnumbers import Attributes, AttrNumbers
from snapfs.catalog.stagerows import FILE_TYPES, Lost, StagedFile
from snapfs.fs.dirstack import DirStack
from snapfs.fs.handles import NO_DIRECTORY, missing_part, open_below, refuse_exhausted
from snapfs.fs.matching import DirRules, Met, RuleMatcher, Trail
from snapfs.fs.rules import Rules
from snapfs.progress import NullProgress
from snapfs.stream.columns import encode_columns

READ_AT_ONCE = 16 * 1024 * 1024
"""A worker that has read so many bytes gives back what is left."""
HELD_BYTES = 12 * 1024 * 1024
"""Of files that are read before they are stored, those of like names together."""
ROOT_SEQ = 1
_NUMBERS = 64 * 1024
_ATTRS = 256
_PIECE_BYTES = 4 * 1024 * 1024
"""Of paths and extended attributes that travel together."""


class Setup(NamedTuple):
    """What a survey is of; sent before its first part."""

    rules: Rules
    options: ScanOptions
    ahead_ns: int
    """what the time of the run is ahead of the clock"""
    root_dev: int
    entries_at_once: int
    """a worker that has seen so many gives back what is left"""
    piece_rows: int
    """rows that travel together"""


class Level(NamedTuple):
    """Directories in one directory where nobody has been yet."""

    depth: int
    """how far below the root the directory is that they are in"""
    seq: int
    """its row"""
    identity: tuple[int, int]
    """its device and inode number"""
    names: list[bytes]
    seqs: list[int]
    """their rows"""


class Part(NamedTuple):
    """What is to be surveyed, with all that is below: directories at each level of one way down.

    A walk that is interrupted goes on so where it was. No levels: the root and everything.
    """

    parts: tuple[bytes, ...]
    """the way: names from the root to the directory of the deepest level"""
    trail: Trail
    """where the rules of that directory come from"""
    levels: list[Level]
    """the deepest last"""


class Numbers(NamedTuple):
    """A question: so many numbers of rows, or of attributes, in a run; answered with the first."""

    rows: int
    attrs: int


class Rest(NamedTuple):
    """The message after the last part: tell what has not been told yet."""


class Piece(NamedTuple):
    """Rows for the stage, in the order in which they are to be put there."""

    attrs: list[tuple[int, Attributes]]
    rows: list[tuple[Any, ...]]
    read: list[tuple[Any, ...]]
    encoded: bytes
    files: list[StagedFile]
    paths: list[tuple[int, bytes]]
    problems: list[tuple[bytes, int, str]]
    unsound: list[int]
    """rows of directories that are not as their fingerprints tell"""
    unread: list[int]
    """rows of directories of which not everything was seen"""


class Ahead(NamedTuple):
    """What a worker has done of a part, told before the part is done."""

    entries: int
    read_bytes: int


class Surveyed(NamedTuple):
    """The answer to a part, and with ``met`` that to `Rest`; the rows were told on the way."""

    counted: ScanTotals
    read_bytes: int
    told: Ahead
    """so much of both has been told already"""
    left: Part | None
    packs: list[PackInfo]
    met: Met | None
    rule_problems: list[tuple[bytes, int]]


class _Rows:
    """Rows on their way to the stage."""

    first = True

    def __init__(self, piece_rows: int) -> None:
        self._most = piece_rows
        self.attrs = AttrNumbers(self._take_attr)
        self._next_attr = self._end_attr = 0
        self._empty()

    def _take_attr(self) -> int:
        if self._next_attr == self._end_attr:
            self._next_attr = workers.ask(Numbers(0, _ATTRS))
            self._end_attr = self._next_attr + _ATTRS
        self._next_attr += 1
        return self._next_attr - 1

    def _empty(self) -> None:
        self._rows: list[tuple[Any, ...]] = []
        self._read: list[tuple[Any, ...]] = []
        self._files: list[StagedFile] = []
        self._paths: list[tuple[int, bytes]] = []
        self._problems: list[tuple[bytes, int, str]] = []
        self._unsound: list[int] = []
        self._unread: list[int] = []
        self._path_bytes = 0

    def attr(self, mode: int, uid: int, gid: int, flags: int, xattr: bytes) -> int:
        return self.attrs.number((mode, uid, gid, flags, xattr))

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
        self._path_bytes += sum(len(path) for _, path in rows)

    def put_lost(self, rows: list[Lost]) -> None:
        raise AssertionError("nothing is known, so nothing is lost")

    def put_problem(self, path: bytes, errno: int, what: str) -> None:
        self._problems.append((path, errno, what))

    def put_unsound(self, seq: int) -> None:
        """A directory is not as its fingerprint tells."""
        self._unsound.append(seq)

    def put_unread(self, seq: int) -> None:
        """Not everything in a directory was seen."""
        self._unread.append(seq)

    def _grown(self) -> None:
        rows = len(self._rows) + len(self._read) + len(self._files)
        if rows >= self._most or self._path_bytes + self.attrs.new_bytes >= _PIECE_BYTES:
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
            self.attrs.take_new(), self._rows, self._read, encoded, self._files, self._paths,
            self._problems, self._unsound, self._unread,
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
            setup.ahead_ns,
            progress=NullProgress(),
            on_files=self._read,
        )
        self.totals.root_dev = setup.root_dev
        self._root_fd = root_fd
        self._reader = reader
        self._read_bytes = 0
        self._told = Ahead(0, 0)
        self._end_seq = 0
        self._entries_at_once = setup.entries_at_once
        self._bases = 0
        """how many of the frames stand on the way to where a part begins"""

    def survey(self, part: Part) -> Surveyed:
        """Go as far as is due. Raises StorageFullError and StorageError of the repository."""
        left: Part | None = None
        top = part.levels[0].depth if part.levels else 0
        try:
            fd = open_below(self._root_fd, part.parts[:top])
        except OSError as error:
            self._unreachable(part, part.levels, error)
            return self._surveyed(None)
        with DirStack(fd, above=part.parts[:top]) as self._stack:
            self._start(part)
            while self._frames:
                if left is None and self._is_enough():
                    left = self._give_back()
                self._go_on()
        return self._surveyed(left if left is not None and left.levels else None)

    def rest(self) -> Surveyed:
        """All parts are done: store and tell what waits."""
        self._reader.held.store(like_together=True)
        self._staging.flush()
        self._out.tell()
        return self._surveyed(None, self.matcher.met())

    # --- parts ---------------------------------------------------------------------------------

    def _start(self, part: Part) -> None:
        """Stand where a part begins: in the deepest directory of which there is more to be seen."""
        self._bases = 0
        self._frames = []
        if not part.levels:
            root = Frame()
            root.seq = ROOT_SEQ
            root.st = os.fstat(self._stack.fd)
            self.totals.count(root.st)
            self._frames.append(root)
            self._enter(root)
            return
        rules = self.matcher.follow(part.trail)
        uppermost = len(part.parts) - len(rules) + 1
        at = part.levels[0].depth
        for number, level in enumerate(part.levels):
            try:
                while at < level.depth:
                    self._stack.push(part.parts[at])
                    at += 1
                    self._stand(at, rules, uppermost)
                if number == 0:
                    self._stand(at, rules, uppermost)
                st = os.fstat(self._stack.fd)
                if (st.st_dev, st.st_ino) != level.identity:
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            except OSError as error:
                self._unreachable(part, part.levels[number:], error)
                return
            frame = self._frames[-1]
            frame.seq = level.seq
            frame.st = st
            below = zip(level.names, level.seqs, strict=True)
            frame.todo = iter([(name, seq, None, None) for name, seq in below])

    def _stand(self, depth: int, rules: list[DirRules], uppermost: int) -> None:
        """A frame for a directory that somebody has listed."""
        frame = Frame()
        if depth >= uppermost:
            frame.rules = rules[depth - uppermost]
        self._frames.append(frame)
        self._bases = len(self._frames)

    def _is_enough(self) -> bool:
        return self.totals.entries >= self._entries_at_once or self._read_bytes >= READ_AT_ONCE

    def _give_back(self) -> Part:
        """Where the walk has not been yet; the directories that it is in end here."""
        levels: list[Level] = []
        parts = self._stack.parts
        last: Frame | None = None
        for depth, frame in enumerate(self._frames, len(parts) - len(self._frames) + 1):
            below = list(frame.todo)
            frame.todo = iter(())
            if not below:
                continue
            if frame.parts is not None:
                frame.parts.lose()
            identity = (frame.st.st_dev, frame.st.st_ino)
            names, seqs = [item[0] for item in below], [item[1] for item in below]
            levels.append(Level(depth, frame.seq, identity, names, seqs))
            last = frame
        trail = () if last is None or last.rules is None else last.rules.trail()
        return Part(parts[: levels[-1].depth] if levels else (), trail, levels)

    def _surveyed(self, left: Part | None, met: Met | None = None) -> Surveyed:
        problems, self._rule_problems = self._rule_problems, []
        read_bytes, self._read_bytes = self._read_bytes, 0
        told, self._told = self._told, Ahead(0, 0)
        return Surveyed(
            self.totals.split(), read_bytes, told, left, self._reader.take_packs(), met, problems
        )

    # --- the walk ------------------------------------------------------------------------------

    def _leave(self, frame: Frame) -> None:
        if len(self._frames) > self._bases:
            super()._leave(frame)
            return
        # It was staged when it was listed, by whoever gave this part back.
        self._frames.pop()
        self._bases -= 1
        if frame.refresh:
            self._out.put_unsound(frame.seq)
        if self._frames:
            self._go_up()

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
        look, held, plain = self._reader.look, self._reader.held, self._out.attrs.plain
        before = self._read_bytes
        left: list[StagedFile] = []
        read: list[tuple[Any, ...]] = []
        children: list[ChildTuple] = []
        for row in files:
            (seq, above, parent, name, inode, attr, size, mtime_s, mtime_nsec, state, ctime_s,
             ctime_nsec, dev, ino, nlink) = row  # fmt: skip
            key = plain(attr)
            if nlink != 1 or key is None:
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
        if len(files) >= FLUSH_ROWS:  # a part may be one directory of a million names
            ahead = Ahead(len(files), self._read_bytes - before)
            workers.tell(ahead)
            told = self._told
            self._told = Ahead(told.entries + ahead.entries, told.read_bytes + ahead.read_bytes)
        return left

    # --- trouble -------------------------------------------------------------------------------

    def _rule_problem(self, path: bytes, error: OSError) -> None:
        self._rule_problems.append((path, error.errno or 0))

    def _unreachable(self, part: Part, levels: list[Level], error: OSError) -> None:
        """The directories of some levels are not where they were, or nobody may go there any more: what is
        below them is not seen.
        """
        refuse_exhausted(error.errno or 0)
        for level in levels:
            self._out.put_unread(level.seq)
        path = b"/".join(part.parts[: levels[0].depth])
        if error.errno in NO_DIRECTORY:
            self._out.put_problem(missing_part(self._root_fd, path), 0, MOVED)
        else:
            self._out.put_problem(path, error.errno or 0, "directory cannot be opened")
