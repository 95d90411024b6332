"""The journal: every change of the repository, in order, in append-only files.

``journal/<number>.log`` holds records (``blocks.chain``), each with its number and the hash of the
one before, also across files. Every file but the first begins with a full dump, so that the newest
file alone is enough to make the catalog again.

Why it is correct. A record counts once its end is durable; what follows the last sound end is the
rest of an append that was killed (torn) and is cut off by the next writer. The catalog remembers
the tail it has seen in the same transaction that makes a change visible, so comparing the two tells
a change that was not made visible (ahead by one record) from an older catalog (ahead by more) and
from damage. Callers serialize writers: whoever appends holds the catalog's write transaction, and
``append`` refuses to continue from a tail that is not the end of the file.

What a record says is not known here: it is given and read as pieces (``stream.record``). Memory is
bounded by one frame of them, whatever the size of the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from snapfs import faults
from snapfs.blocks.chain import RecordSpan, RecordWriter, first_hash
from snapfs.errors import DamageError, RepositoryError
from snapfs.repository.journalfile import (
    FILE_HEADER_BYTES,
    JOURNAL_FOLDER,
    WAY_OUT,
    Fault,
    JournalFile,
    JournalTail,
    encode_file_header,
    file_name,
    file_number,
    journal_key,
)
from snapfs.storage.contract import Backend, MissingObjectError, is_temporary

__all__ = [
    "Ahead",
    "Behind",
    "Clean",
    "Damaged",
    "Journal",
    "JournalFinding",
    "JournalRecord",
    "JournalSizes",
    "JournalTail",
    "TailState",
    "Torn",
]


class JournalRecord(NamedTuple):
    """A record that was found whole. ``pieces`` may be read once, in order, at any later time."""

    tail: JournalTail
    pieces: Iterator[bytes]


class JournalFinding(NamedTuple):
    """Something wrong in a journal file, from ``offset`` on."""

    file: str
    offset: int
    what: str


class JournalSizes(NamedTuple):
    """Bytes of the first record of the newest file (the dump), and of all records after it."""

    dump_bytes: int
    delta_bytes: int


@dataclass(frozen=True, slots=True)
class Clean:
    """The journal ends where the catalog says."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """Whole records follow the known tail, oldest first; ``torn_bytes`` follow the last of them."""

    records: tuple[JournalTail, ...]
    torn_bytes: int


@dataclass(frozen=True, slots=True)
class Torn:
    """An unfinished record of ``torn_bytes`` follows the known tail: ``truncate`` to that."""

    torn_bytes: int


@dataclass(frozen=True, slots=True)
class Behind:
    """The journal has gone on to newer files and no longer has the known one: an old catalog."""

    what: str


@dataclass(frozen=True, slots=True)
class Damaged:
    """The known tail is not there, or damage lies between it and later records."""

    what: str


TailState = Clean | Ahead | Torn | Behind | Damaged


class Journal:
    """The journal of one repository; holds no state but the backend.

    Raises ``StorageFullError`` and ``StorageError`` from the backend, ``DamageError`` (subject: the
    file's key) and ``RepositoryError`` for a newer version or another repository's file.
    """

    def __init__(self, backend: Backend, repository_id: bytes) -> None:
        self._backend = backend
        self._repository_id = repository_id

    def files(self) -> list[str]:
        """Names of the journal's files, oldest first."""
        return sorted(filter(file_number, self._backend.names(JOURNAL_FOLDER)), key=file_number)

    def append(self, after: JournalTail | None, pieces: Iterable[bytes]) -> JournalTail:
        """Add a record after ``after``, the journal's end (None: the journal is empty).

        It is durable when this returns; on any failure, also in ``pieces``, nothing is added.
        """
        if after is None:
            if self.files():
                raise RepositoryError("the journal has records that the catalog does not know")
            return self.start_file(None, pieces)
        key = journal_key(after.file)
        with self._backend.open_appender(key) as appender:
            if appender.tell() != after.offset:
                raise RepositoryError(f"{key} does not end where the catalog says", subject=key)
            try:
                own = _write_record(appender.append, after[2:], pieces)
                appender.sync()
            except BaseException:
                appender.truncate(after.offset)
                appender.sync()
                raise
            return JournalTail(after.file, appender.tell(), after.seq + 1, own)

    def start_file(self, after: JournalTail | None, pieces: Iterable[bytes]) -> JournalTail:
        """Begin a new file whose first record is this one, a full dump (or the very first record).

        Until it is durable under its name the journal is as before. The older files are then no
        longer needed: ``remove_older``.
        """
        number = 1 + max(map(file_number, self.files()), default=0)
        last = (0, first_hash(self._repository_id)) if after is None else after[2:]
        with self._backend.create(JOURNAL_FOLDER, "journal") as writer:
            writer.write(encode_file_header(number, self._repository_id))
            own = _write_record(writer.write, last, pieces)
            tail = JournalTail(file_name(number), writer.tell(), last[0] + 1, own)
            writer.commit(tail.file)
        return tail

    def truncate(self, to: JournalTail) -> None:
        """Take back whatever follows ``to``, newer files included; durable when it returns."""
        for name in reversed(self.files()):
            # Newest first: killed in between, what is left is still a chain.
            if file_number(name) > file_number(to.file):
                self._backend.remove(journal_key(name))
                self._backend.sync(JOURNAL_FOLDER)
        key = journal_key(to.file)
        with self._backend.open_appender(key) as appender:
            if appender.tell() < to.offset:
                raise DamageError(
                    f"{key} is shorter than the catalog says", subject=key, hint=WAY_OUT
                )
            appender.truncate(to.offset)
            appender.sync()

    def remove_older(self, than: JournalTail) -> int:
        """Remove the files before that of ``than``, and leftovers; bytes freed."""
        freed = 0
        for name in self._backend.names(JOURNAL_FOLDER):
            if is_temporary(name) or 0 < file_number(name) < file_number(than.file):
                freed += self._backend.size(journal_key(name))
                self._backend.remove(journal_key(name))
        self._backend.sync(JOURNAL_FOLDER)
        return freed

    def verify_tail(self, known: JournalTail | None) -> TailState:
        """Compare the journal's end with the tail that the catalog remembers; cheap if clean."""
        files = self.files()
        if known is None:
            return Behind("the catalog knows nothing of the journal") if files else Clean()
        if known.file not in files:
            if files and file_number(files[-1]) > file_number(known.file):
                return Behind(f"{known.file} was replaced by {files[-1]}")
            return Damaged(f"{journal_key(known.file)} is missing")
        newer = files[files.index(known.file) + 1 :]
        with self._open(known.file) as file:
            if not file.ends_at(known):
                return Damaged(f"{file.key} does not hold the last change of the catalog")
            if file.size == known.offset and not newer:
                return Clean()
            records, fault = file.tails(known, known.offset)
            if fault is not None and (newer or file.goes_on_after(fault)):
                return Damaged(str(file.damage(fault)))
            torn_bytes = file.size - fault.offset if fault else 0
        for name in newer:
            with self._open(name) as file:
                more, fault = file.tails(records[-1] if records else known)
                records += more
                if not more or (
                    fault is not None and (name != newer[-1] or file.goes_on_after(fault))
                ):
                    return Damaged(str(file.damage(fault or Fault(0, "no record"))))
                torn_bytes = file.size - fault.offset if fault else 0
        return Ahead(tuple(records), torn_bytes) if records else Torn(torn_bytes)

    def goes_beyond(self, known: JournalTail | None) -> bool:
        """Whether a later record than ``known`` begins anywhere, whatever is damaged before it.

        Then the catalog is old, and the journal must not be made anew from it. Reads whole files, also
        those whose header is damaged: it says nothing of what stands behind it.
        """
        number, seq = (0, 0) if known is None else (file_number(known.file), known.seq)
        for name in self.files():
            if file_number(name) >= number:
                with self._open(name, headless=True) as file:
                    later = [found for found in file.numbers() if found > seq]
                # A file begins with a dump: of the catalog as it is known, if somebody was
                # killed who began it.
                if later and (file_number(name) == number or later != [seq + 1] or known is None):
                    return True
        return False

    def remains(self, after: JournalTail) -> Iterator[tuple[int, bytes | None]]:
        """Number and first piece of whatever begins behind ``after``, sound or not; None where no piece is."""
        for name in self.files():
            if file_number(name) >= file_number(after.file):
                with self._open(name, headless=True) as file:
                    for seq, piece in file.remains():
                        if seq > after.seq:
                            yield seq, piece

    def is_of_another(self, known: JournalTail) -> bool:
        """Whether the journal is whole and has another record in place of ``known``. Reads whole files."""
        try:
            last = self.last_tail()
            return last is not None and last.seq >= known.seq and not self.check()
        except (DamageError, RepositoryError):
            return False

    def last_tail(self) -> JournalTail | None:
        """The end of the last whole record of the newest file, found by reading it all."""
        files = self.files()
        if not files:
            return None
        with self._open(files[-1]) as file:
            tails, _ = file.tails(None)
        return tails[-1] if tails else None

    def records(
        self, name: str | None = None, *, headless: bool = False, after: JournalTail | None = None
    ) -> Iterator[JournalRecord]:
        """The records of a file, the newest by default, each checked as a whole before it is given; only
        those that follow ``after``.

        A torn end is left out. ``headless`` passes over a damaged file header. Raises
        ``DamageError`` where damage lies, after giving what is before it, and
        ``MissingObjectError`` if there is no journal.
        """
        if name is None:
            files = self.files()
            if not files:
                raise MissingObjectError("the repository has no journal", subject=JOURNAL_FOLDER)
            name = files[-1]
        with self._open(name, headless=headless) as file:
            for span in file.spans(after, FILE_HEADER_BYTES if after is None else after.offset):
                if isinstance(span, Fault):
                    if file.is_torn(span):
                        return
                    raise file.damage(span)
                yield JournalRecord(file.tail(span), self._pieces(name, span, headless=headless))

    def read(self, tail: JournalTail, *, headless: bool = False) -> JournalRecord:
        """The one record that ends at ``tail``, as ``verify_tail`` lists them."""
        with self._open(tail.file, headless=headless) as file:
            span = file.span_before(tail)
            return JournalRecord(file.tail(span), self._pieces(file.name, span, headless=headless))

    def sizes(self, tail: JournalTail) -> JournalSizes:
        """How large the record at the start of ``tail``'s file is, and what was added since."""
        with self._open(tail.file) as file:
            span = file.first_span()
        return JournalSizes(span.end - span.start, tail.offset - span.end)

    def check(self) -> list[JournalFinding]:
        """Every byte of every file, and the chain through them; a torn end is a finding as well."""
        findings: list[JournalFinding] = []
        tail: JournalTail | None = None
        for name in self.files():
            tails: list[JournalTail] = []
            try:
                with self._open(name) as file:
                    tails, fault = file.tails(tail)
                    if fault is not None:
                        what = "unfinished record" if file.is_torn(fault) else fault.what
                        findings.append(JournalFinding(name, fault.offset, what))
            except (DamageError, RepositoryError) as error:
                findings.append(JournalFinding(name, 0, error.message))
            tail = tails[-1] if tails else None
        return findings

    def _open(self, name: str, *, headless: bool = False) -> JournalFile:
        return JournalFile(self._backend, name, self._repository_id, headless=headless)

    def _pieces(self, name: str, span: RecordSpan, *, headless: bool = False) -> Iterator[bytes]:
        # Opens the file once more: a record may be read after it was passed on.
        with self._open(name, headless=headless) as file:
            yield from file.pieces(span)


def _write_record(
    write: Callable[[bytes], object], after: tuple[int, bytes], pieces: Iterable[bytes]
) -> bytes:
    """Write the record that follows ``after`` (number, hash); its own hash."""
    seq, previous = after
    record = RecordWriter(write, seq + 1, previous)
    for piece in pieces:
        record.add(piece)
    faults.point("journal.record-started")
    return record.finish()
