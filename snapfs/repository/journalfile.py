"""One file of the journal: its name, its header, and the chain of records in it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple, Self

from snapfs.blocks.chain import (
    END_BYTES,
    RECORD_HEADER_BYTES,
    RecordSpan,
    decode_end,
    decode_record_header,
    find_record_header,
    read_first_piece,
    read_pieces,
    read_record,
)
from snapfs.blocks.sealed import SEAL_BYTES, seal, unseal
from snapfs.errors import DamageError, RepositoryError
from snapfs.storage.contract import Backend, Reader

JOURNAL_FOLDER = "journal"
JOURNAL_MAGIC = b"\xf5snapJRN"
JOURNAL_VERSION = 1
WAY_OUT = "run snapfs repair, which makes the journal sound again"

_SUFFIX = ".log"

# magic, version, reserved, number of the file, repository id; then xxh3-64 of these.
_HEADER = struct.Struct("<8sHHIQ16s")
FILE_HEADER_BYTES = _HEADER.size + SEAL_BYTES


class JournalTail(NamedTuple):
    """The place after a record: ``offset`` in bytes in ``file``, and the record's number and hash."""

    file: str
    offset: int
    seq: int
    hash: bytes


class Fault(NamedTuple):
    """Where the chain of a file breaks off, and why."""

    offset: int
    what: str


def journal_key(name: str) -> str:
    """Storage key of a journal file."""
    return f"{JOURNAL_FOLDER}/{name}"


def file_name(number: int) -> str:
    """Name of the journal file with that number (from 1)."""
    return f"{number:010d}{_SUFFIX}"


def file_number(name: str) -> int:
    """Number of a journal file; 0 for anything else that lies in the folder."""
    stem = name.removesuffix(_SUFFIX)
    number = int(stem) if stem.isascii() and stem.isdigit() else 0
    return number if file_name(number) == name else 0


def encode_file_header(number: int, repository_id: bytes) -> bytes:
    """The first bytes of a journal file; ``repository_id`` has 16."""
    return seal(_HEADER.pack(JOURNAL_MAGIC, JOURNAL_VERSION, 0, 0, number, repository_id))


class JournalFile:
    """A journal file, open for reading.

    Raises ``DamageError`` (subject: the key) if its header is damaged, ``RepositoryError`` if it is
    of a newer version, of another repository or under a wrong name, and the backend's errors.
    ``headless`` reads the records of a file whose header is damaged: their chain proves them.
    """

    def __init__(
        self, backend: Backend, name: str, repository_id: bytes, *, headless: bool = False
    ) -> None:
        self.name = name
        self.key = journal_key(name)
        self._reader = backend.open_reader(self.key)
        self.size = self._reader.size
        try:
            self._check_header(repository_id)
        except DamageError:
            if not headless:
                self.close()
                raise
        except BaseException:
            self.close()
            raise

    def spans(
        self, after: JournalTail | None, at: int = FILE_HEADER_BYTES
    ) -> Iterator[RecordSpan | Fault]:
        """The records from offset ``at`` on; a fault is the last thing that is given, if any.

        The first must follow ``after``, if that is known.
        """
        known = None if after is None else (after.seq, after.hash)
        if self.size == FILE_HEADER_BYTES:
            yield Fault(FILE_HEADER_BYTES, "file has no record")
        while at < self.size:
            try:
                span = read_record(self._reader.pread, at)
            except DamageError as error:
                yield Fault(at, error.message)
                return
            if known is not None and known != (span.seq - 1, span.previous):
                yield Fault(at, f"record {span.seq} does not follow record {known[0]}")
                return
            known = (span.seq, span.hash)
            at = span.end
            yield span

    def tails(
        self, after: JournalTail | None, at: int = FILE_HEADER_BYTES
    ) -> tuple[list[JournalTail], Fault | None]:
        """The same as a list of tails, and the fault."""
        tails: list[JournalTail] = []
        for span in self.spans(after, at):
            if isinstance(span, Fault):
                return tails, span
            tails.append(self.tail(span))
        return tails, None

    def span_before(self, tail: JournalTail) -> RecordSpan:
        """The record that ends at ``tail``, checked. Raises ``DamageError``."""
        try:
            end = decode_end(self._reader.pread(max(0, tail.offset - END_BYTES), END_BYTES))
            span = read_record(self._reader.pread, max(0, tail.offset - end.length))
        except DamageError as error:
            raise self.damage(Fault(tail.offset, error.message)) from error
        if self.tail(span) != tail:
            raise self.damage(Fault(tail.offset, f"record {tail.seq} is not there"))
        return span

    def first_span(self) -> RecordSpan:
        """The first record, checked. Raises ``DamageError``."""
        try:
            return read_record(self._reader.pread, FILE_HEADER_BYTES)
        except DamageError as error:
            raise self.damage(Fault(FILE_HEADER_BYTES, error.message)) from error

    def pieces(self, span: RecordSpan) -> Iterator[bytes]:
        """What was written into a record. Raises ``DamageError``."""
        return read_pieces(self._reader.pread, span)

    def tail(self, span: RecordSpan) -> JournalTail:
        """The place after a record of this file."""
        return JournalTail(self.name, span.end, span.seq, span.hash)

    def ends_at(self, tail: JournalTail) -> bool:
        """Whether a record with the number and hash of ``tail`` ends there; reads only its end."""
        if not FILE_HEADER_BYTES + END_BYTES <= tail.offset <= self.size:
            return False
        try:
            end = decode_end(self._reader.pread(tail.offset - END_BYTES, END_BYTES))
        except DamageError:
            return False
        return (end.seq, end.hash) == (tail.seq, tail.hash)

    def goes_on_after(self, fault: Fault) -> bool:
        """Whether a sound record begins behind the fault, which is then no torn end."""
        return find_record_header(self._reader.pread, fault.offset + 1, self.size) is not None

    def numbers(self) -> Iterator[int]:
        """Numbers of all records whose headers are sound, also behind damage."""
        return (seq for seq, _ in self._beginnings())

    def remains(self) -> Iterator[tuple[int, bytes | None]]:
        """The same with the first piece of each, None if it is damaged; then of the record that ends the file."""
        seq = 0
        for seq, at in self._beginnings():
            try:
                yield seq, read_first_piece(self._reader.pread, at)
            except (DamageError, RepositoryError):
                yield seq, None
        try:
            end = decode_end(self._reader.pread(max(0, self.size - END_BYTES), END_BYTES))
        except DamageError:
            return
        if end.seq > seq:
            yield end.seq, None

    def _beginnings(self) -> Iterator[tuple[int, int]]:
        """Number and offset of each sound record header."""
        at = find_record_header(self._reader.pread, FILE_HEADER_BYTES, self.size)
        while at is not None:
            yield decode_record_header(self._reader.pread(at, RECORD_HEADER_BYTES))[0], at
            at = find_record_header(self._reader.pread, at + 1, self.size)

    def is_torn(self, fault: Fault) -> bool:
        """Whether the fault is an append that was killed: no record and no end comes after it.

        Never the first record, since a file gets its name with that.
        """
        if fault.offset == FILE_HEADER_BYTES or self.goes_on_after(fault):
            return False
        try:
            decode_end(self._reader.pread(max(0, self.size - END_BYTES), END_BYTES))
        except DamageError:
            return True
        return False

    def damage(self, fault: Fault) -> DamageError:
        """The error that names this file and the place."""
        return DamageError(
            f"{self.key}, offset {fault.offset}: {fault.what}", subject=self.key, hint=WAY_OUT
        )

    def close(self) -> None:
        """Give the descriptor back; may be called twice."""
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_header(self, repository_id: bytes) -> None:
        number, owner = _read_header(self._reader, self.key)
        if number != file_number(self.name) or owner != repository_id:
            raise RepositoryError(
                f"{self.key} is not a file of this repository's journal",
                subject=self.key,
                hint="if it was copied there, move it out of the repository",
            )


def read_repository_id(backend: Backend, name: str) -> bytes:
    """Which repository a journal file says it belongs to, its id. Raises as ``JournalFile``."""
    key = journal_key(name)
    with backend.open_reader(key) as reader:
        return _read_header(reader, key)[1]


def _read_header(reader: Reader, key: str) -> tuple[int, bytes]:
    """Number of the file and id of its repository."""
    try:
        magic, version, _, _, number, owner = unseal(
            _HEADER, reader.pread(0, FILE_HEADER_BYTES), "journal file header"
        )
        if magic != JOURNAL_MAGIC:
            raise DamageError("journal file header is damaged")
    except DamageError as error:
        raise DamageError(f"{key}, offset 0: {error.message}", subject=key, hint=WAY_OUT) from error
    if version != JOURNAL_VERSION:
        raise RepositoryError(
            f"{key} has version {version}", subject=key, hint="use a newer snapfs"
        )
    return number, bytes(owner)
