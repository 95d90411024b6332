"""The journal: all or nothing, a chain, and damage told apart from a torn end."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from snapfs.blocks import segment
from snapfs.blocks.sealed import seal
from snapfs.errors import DamageError, RepositoryError, StorageFullError
from snapfs.repository.journal import (
    Ahead,
    Behind,
    Clean,
    Damaged,
    Journal,
    JournalTail,
    Torn,
)
from snapfs.storage import FileBackend, MissingObjectError
from tests.blocks.damage import damaged_copies, spread

REPOSITORY = b"r" * 16


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with FileBackend(tmp_path) as backend:
        yield Journal(backend, REPOSITORY)


def contents(journal: Journal, name: str | None = None) -> list[list[bytes]]:
    return [list(record.pieces) for record in journal.records(name)]


def fill(journal: Journal, count: int) -> list[JournalTail]:
    tails: list[JournalTail] = []
    for number in range(count):
        tails.append(journal.append(tails[-1] if tails else None, [b"%d" % number] * 40))
    return tails


def path_of(tmp_path: Path, tail: JournalTail) -> Path:
    return tmp_path / "journal" / tail.file


class TestAppending:
    def test_records_come_back_in_order(self, journal: Journal) -> None:
        assert journal.verify_tail(None) == Clean()
        assert journal.last_tail() is None
        tails = fill(journal, 5)
        assert [record.tail for record in journal.records()] == tails
        assert contents(journal) == [[b"%d" % i] * 40 for i in range(5)]
        assert [tail.seq for tail in tails] == [1, 2, 3, 4, 5]
        assert journal.last_tail() == tails[-1]
        assert journal.verify_tail(tails[-1]) == Clean()
        assert journal.check() == []

    def test_pieces_may_be_read_later(self, journal: Journal) -> None:
        fill(journal, 3)
        records = list(journal.records())
        assert [next(record.pieces) for record in reversed(records)] == [b"2", b"1", b"0"]

    def test_one_record_is_read_by_its_tail(self, journal: Journal) -> None:
        tails = fill(journal, 3)
        assert list(journal.read(tails[1]).pieces) == [b"1"] * 40
        for wrong in (
            tails[1]._replace(offset=tails[1].offset + 1),
            tails[1]._replace(offset=3),
            tails[1]._replace(hash=bytes(32)),
            tails[1]._replace(seq=7),
        ):
            with pytest.raises(DamageError):
                journal.read(wrong)

    def test_a_failing_caller_adds_nothing(self, journal: Journal, tmp_path: Path) -> None:
        (tail,) = fill(journal, 1)
        before = path_of(tmp_path, tail).read_bytes()

        def pieces() -> Iterator[bytes]:
            for _ in range(3):
                yield os.urandom(1_500_000)
            assert sum(p.stat().st_size for p in (tmp_path / "journal").iterdir()) > 10**6
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            journal.append(tail, pieces())
        assert path_of(tmp_path, tail).read_bytes() == before
        with pytest.raises(KeyboardInterrupt):
            journal.start_file(tail, pieces())
        assert os.listdir(tmp_path / "journal") == [tail.file]

    def test_a_full_disk_adds_nothing(
        self, journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tail,) = fill(journal, 1)
        before = path_of(tmp_path, tail).read_bytes()
        real = os.pwrite
        calls = iter(range(100))

        def full_soon(fd: int, data: bytes, offset: int) -> int:
            if next(calls) < 2:
                return real(fd, bytes(data)[:10], offset)
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", full_soon)
            with pytest.raises(StorageFullError):
                journal.append(tail, [b"x" * 1000])
        assert path_of(tmp_path, tail).read_bytes() == before
        assert journal.append(tail, [b"y"]).seq == 2

    def test_an_outdated_tail_is_refused(self, journal: Journal) -> None:
        tails = fill(journal, 2)
        with pytest.raises(RepositoryError, match="does not end"):
            journal.append(tails[0], [b"x"])
        with pytest.raises(RepositoryError, match="does not know"):
            journal.append(None, [b"x"])
        assert journal.last_tail() == tails[-1]

    def test_memory_is_bounded_by_frames(
        self, journal: Journal, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        longest = 0
        real = segment.compress

        def measured(data: bytes) -> bytes:
            nonlocal longest
            longest = max(longest, len(data))
            return real(data)

        monkeypatch.setattr("snapfs.blocks.chain.compress", measured)
        journal.append(None, (b"%08d" % i * 1000 for i in range(1000)))
        assert longest < 1_100_000
        assert sum(1 for record in journal.records() for _ in record.pieces) == 1000

    def test_small_records_are_small(self, journal: Journal) -> None:
        tails = fill(journal, 2)
        assert tails[1].offset - tails[0].offset < 64 + 32 + 72 + 40


class TestFiles:
    def test_a_dump_starts_a_file_and_the_chain_goes_on(self, journal: Journal) -> None:
        first = fill(journal, 3)
        dump = journal.start_file(first[-1], [b"dump"])
        after = journal.append(dump, [b"after"])
        assert journal.files() == [first[0].file, dump.file]
        assert (dump.seq, after.seq) == (4, 5)
        assert contents(journal) == [[b"dump"], [b"after"]]
        assert len(contents(journal, first[0].file)) == 3
        assert journal.check() == []
        assert journal.remove_older(after) > 0
        assert journal.files() == [dump.file]
        assert journal.check() == []
        assert journal.verify_tail(after) == Clean()
        sizes = journal.sizes(after)
        assert sizes.delta_bytes == after.offset - dump.offset
        assert sizes.dump_bytes < dump.offset

    def test_leftovers_go_with_older_files(self, journal: Journal, tmp_path: Path) -> None:
        tails = fill(journal, 1)
        (tmp_path / "journal" / "tmp-journal-0").write_bytes(b"killed")
        (tmp_path / "journal" / "README").write_bytes(b"foreign")
        assert journal.files() == [tails[0].file]
        assert journal.remove_older(tails[0]) == 6
        assert sorted(os.listdir(tmp_path / "journal")) == [tails[0].file, "README"]

    def test_numbers_grow_on(self, journal: Journal) -> None:
        tail: JournalTail | None = None
        for number in range(1, 13):
            tail = journal.start_file(tail, [b"%d" % number])
            assert tail.file == f"{number:010d}.log"
            journal.remove_older(tail)
        assert journal.check() == []

    def test_a_file_of_another_repository_or_place_is_refused(
        self, journal: Journal, tmp_path: Path
    ) -> None:
        (tail,) = fill(journal, 1)
        with FileBackend(tmp_path) as backend:
            other = Journal(backend, b"o" * 16)
            with pytest.raises(RepositoryError, match=tail.file):
                list(other.records())
        os.rename(path_of(tmp_path, tail), tmp_path / "journal" / "0000000009.log")
        with pytest.raises(RepositoryError, match="0000000009"):
            list(journal.records())
        assert [finding.file for finding in journal.check()] == ["0000000009.log"]

    def test_no_journal_is_missing(self, journal: Journal) -> None:
        with pytest.raises(MissingObjectError):
            list(journal.records())

    def test_a_newer_file_is_refused(self, journal: Journal, tmp_path: Path) -> None:
        (tail,) = fill(journal, 1)
        data = bytearray(path_of(tmp_path, tail).read_bytes())
        data[8] = 2
        data[:48] = seal(bytes(data[:40]))
        path_of(tmp_path, tail).write_bytes(data)
        with pytest.raises(RepositoryError, match="version 2"):
            list(journal.records())


class TestTail:
    def test_ahead(self, journal: Journal) -> None:
        tails = fill(journal, 4)
        assert journal.verify_tail(tails[2]) == Ahead((tails[3],), 0)
        assert journal.verify_tail(tails[0]) == Ahead(tuple(tails[1:]), 0)
        assert isinstance(journal.verify_tail(None), Behind)

    def test_ahead_into_the_next_file(self, journal: Journal) -> None:
        tails = fill(journal, 2)
        dump = journal.start_file(tails[-1], [b"dump"])
        assert journal.verify_tail(tails[-1]) == Ahead((dump,), 0)
        assert journal.verify_tail(tails[0]) == Ahead((tails[1], dump), 0)
        after = journal.append(dump, [b"x"])
        assert journal.verify_tail(tails[-1]) == Ahead((dump, after), 0)
        journal.truncate(tails[0])
        assert journal.verify_tail(tails[0]) == Clean()
        assert journal.files() == [tails[0].file]

    def test_an_old_catalog_after_a_dump(self, journal: Journal) -> None:
        tails = fill(journal, 2)
        journal.remove_older(journal.start_file(tails[-1], [b"dump"]))
        assert isinstance(journal.verify_tail(tails[0]), Behind)
        assert isinstance(journal.verify_tail(tails[1]), Behind)

    def test_a_missing_or_short_journal(self, journal: Journal, tmp_path: Path) -> None:
        tails = fill(journal, 2)
        os.truncate(path_of(tmp_path, tails[1]), tails[0].offset)
        assert isinstance(journal.verify_tail(tails[1]), Damaged)
        with pytest.raises(DamageError):
            journal.truncate(tails[1])
        path_of(tmp_path, tails[1]).unlink()
        assert isinstance(journal.verify_tail(tails[1]), Damaged)

    def test_another_history_of_the_same_length(self, journal: Journal, tmp_path: Path) -> None:
        tails = fill(journal, 2)
        journal.truncate(tails[0])
        other = journal.append(tails[0], [b"X"] * 40)
        assert other.offset == tails[1].offset
        assert isinstance(journal.verify_tail(tails[1]), Damaged)

    def test_every_cut_of_an_append_is_torn(self, journal: Journal, tmp_path: Path) -> None:
        tails = fill(journal, 2)
        path = path_of(tmp_path, tails[1])
        data = path.read_bytes()
        for size in range(tails[0].offset + 1, tails[1].offset):
            path.write_bytes(data[:size])
            assert journal.verify_tail(tails[0]) == Torn(size - tails[0].offset)
            assert contents(journal) == [[b"0"] * 40]
            (finding,) = journal.check()
            assert (finding.offset, finding.what) == (tails[0].offset, "unfinished record")
            journal.truncate(tails[0])
            assert journal.verify_tail(tails[0]) == Clean()

    @pytest.mark.parametrize("rest", [bytes(100), bytes(100_000), b"\xff" * 5000, os.urandom(999)])
    def test_pages_that_were_never_written_are_torn(
        self, journal: Journal, tmp_path: Path, rest: bytes
    ) -> None:
        """After a power cut a file may have its new size and not its new bytes."""
        tails = fill(journal, 2)
        path = path_of(tmp_path, tails[1])
        with path.open("ab") as file:
            file.write(rest)
        assert journal.verify_tail(tails[1]) == Torn(len(rest))
        assert journal.verify_tail(tails[0]) == Ahead((tails[1],), len(rest))
        assert len(contents(journal)) == 2
        journal.truncate(tails[1])
        assert journal.verify_tail(tails[1]) == Clean()

    def test_an_end_without_its_middle_was_never_announced(
        self, journal: Journal, tmp_path: Path
    ) -> None:
        """Pages reach the disk in any order; the catalog knows that this record never counted."""
        tails = fill(journal, 2)
        path = path_of(tmp_path, tails[1])
        data = bytearray(path.read_bytes())
        data[tails[0].offset + 70] ^= 1
        path.write_bytes(data)
        assert journal.verify_tail(tails[0]) == Torn(tails[1].offset - tails[0].offset)

    def test_damage_between_the_known_tail_and_later_records(
        self, journal: Journal, tmp_path: Path
    ) -> None:
        tails = fill(journal, 4)
        path = path_of(tmp_path, tails[1])
        data = bytearray(path.read_bytes())
        data[tails[1].offset + 70] ^= 1
        path.write_bytes(data)
        assert isinstance(journal.verify_tail(tails[1]), Damaged)
        assert isinstance(journal.verify_tail(tails[0]), Damaged)
        assert journal.verify_tail(tails[3]) == Clean()


class TestDamage:
    def test_matrix(self, journal: Journal, tmp_path: Path) -> None:
        """Damage is found, and never gives a record that was not written."""
        tails = fill(journal, 6)
        whole = contents(journal)
        path = path_of(tmp_path, tails[0])
        data = path.read_bytes()
        for what, at, damaged in damaged_copies(data, spread(len(data), 120)):
            path.write_bytes(damaged)
            complete = sum(tail.offset <= at for tail in tails)
            cut_between = what == "truncate" and at in {tail.offset for tail in tails}
            findings = journal.check()
            assert bool(findings) != cut_between, (what, at)
            read: list[list[bytes]] = []
            raised = False
            try:
                read.extend(list(record.pieces) for record in journal.records())
            except DamageError:
                raised = True
            assert read == whole[:complete], (what, at)
            if what != "truncate":
                # A sound record or end follows, so it cannot be taken for a killed append.
                assert raised or at > len(data) - 72 - 64, (what, at)
            else:
                # A file gets its name with its first record: that one is never merely torn.
                assert raised == (at < tails[0].offset), at
            state = journal.verify_tail(tails[-1]) if at >= 48 else None
            assert state != Clean() or at < tails[-2].offset or at < tails[-1].offset - 72

    def test_a_record_that_was_taken_out_is_missed(self, journal: Journal, tmp_path: Path) -> None:
        tails = fill(journal, 3)
        path = path_of(tmp_path, tails[0])
        data = path.read_bytes()
        path.write_bytes(data[: tails[0].offset] + data[tails[1].offset :])
        (finding,) = journal.check()
        assert finding.what == "record 3 does not follow record 1"
        with pytest.raises(DamageError, match="does not follow"):
            list(journal.records())

    def test_a_file_that_was_exchanged_is_found(self, journal: Journal, tmp_path: Path) -> None:
        tails = fill(journal, 2)
        journal.start_file(tails[-1], [b"dump"])
        assert journal.check() == []
        journal2 = tmp_path / "other"
        journal2.mkdir()
        with FileBackend(journal2) as backend:
            other = Journal(backend, REPOSITORY)
            exchanged = other.append(None, [b"another history"])
            os.replace(journal2 / "journal" / exchanged.file, tmp_path / "journal" / exchanged.file)
        (finding,) = journal.check()
        assert finding.file == "0000000002.log"


class JournalHistory(RuleBasedStateMachine):
    """Random appends, dumps, kills and take-backs against a list."""

    def __init__(self) -> None:
        super().__init__()
        self.random = random.Random(0)
        self.folder = Path(os.path.realpath(self._make_folder()))
        self.backend = FileBackend(self.folder)
        self.journal = Journal(self.backend, REPOSITORY)
        self.known: list[tuple[JournalTail, bytes]] = []

    def _make_folder(self) -> str:
        import tempfile

        self.temporary = tempfile.TemporaryDirectory(prefix="snapfs-journal-")
        return self.temporary.name

    @property
    def tail(self) -> JournalTail | None:
        return self.known[-1][0] if self.known else None

    @rule(data=st.binary(max_size=200))
    def append(self, data: bytes) -> None:
        self.known.append((self.journal.append(self.tail, [data]), data))

    @precondition(lambda self: self.known)
    @rule(data=st.binary(max_size=50), remove=st.booleans())
    def dump(self, data: bytes, remove: bool) -> None:
        tail = self.journal.start_file(self.tail, [data])
        self.known.append((tail, data))
        if remove:
            self.journal.remove_older(tail)
            self.known = self.known[-1:]

    @precondition(lambda self: self.known)
    @rule(data=st.binary(max_size=200), share=st.floats(0, 0.999))
    def killed_append(self, data: bytes, share: float) -> None:
        assert self.tail is not None
        done = self.journal.append(self.tail, [data])
        size = int(self.tail.offset + share * (done.offset - self.tail.offset))
        os.truncate(self.folder / "journal" / self.tail.file, size)
        torn = size - self.tail.offset
        assert self.journal.verify_tail(self.tail) == (Torn(torn) if torn else Clean())
        self.journal.truncate(self.tail)

    @precondition(lambda self: len(self.known) > 1)
    @rule(count=st.integers(1, 3))
    def old_catalog(self, count: int) -> None:
        count = min(count, len(self.known) - 1)
        tail = self.known[-1 - count][0]
        ahead = tuple(known for known, _ in self.known[-count:])
        assert self.journal.verify_tail(tail) == Ahead(ahead, 0)
        self.journal.truncate(tail)
        del self.known[-count:]

    @invariant()
    def holds_what_is_known(self) -> None:
        assert self.journal.verify_tail(self.tail) == Clean()
        assert self.journal.check() == []
        assert self.journal.last_tail() == self.tail
        found = [
            (record.tail, b"".join(record.pieces))
            for name in self.journal.files()
            for record in self.journal.records(name)
        ]
        assert found == self.known

    def teardown(self) -> None:
        self.backend.close()
        self.temporary.cleanup()


TestHistory = JournalHistory.TestCase
TestHistory.settings = settings(deadline=None, max_examples=40, stateful_step_count=25)
