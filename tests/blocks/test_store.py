"""The sink inside a worker, and reading back what it stored."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapfs.blocks import reader as reader_module
from snapfs.blocks import store
from snapfs.blocks.digest import block_digest
from snapfs.blocks.pack import PackInfo
from snapfs.blocks.packreader import PackReader
from snapfs.blocks.reader import BlockReader
from snapfs.blocks.store import BlockSink
from snapfs.errors import DamageError, StorageFullError
from snapfs.storage import FileBackend

REPOSITORY = b"r" * 16


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[FileBackend]:
    with FileBackend(tmp_path) as backend:
        yield backend


def read_all(backend: FileBackend, packs: list[PackInfo]) -> dict[bytes, bytes]:
    out: dict[bytes, bytes] = {}
    with BlockReader(backend) as reader:
        for pack in packs:
            for index in pack.segments:
                place = index.place
                for digest, offset, length in index.blocks():
                    out[digest] = bytes(
                        reader.read(
                            pack.name, place.offset, place.stored, offset, length, digest=digest
                        )
                    )
    return out


@settings(deadline=None, max_examples=50)
@given(
    blocks=st.lists(
        st.tuples(st.binary(min_size=1, max_size=300), st.booleans(), st.booleans()), max_size=60
    ),
    small=st.integers(1, 3000),
    large=st.integers(1, 3000),
    target=st.integers(1, 4000),
)
def test_everything_given_is_stored_once(
    tmp_path_factory: pytest.TempPathFactory,
    blocks: list[tuple[bytes, bool, bool]],
    small: int,
    large: int,
    target: int,
) -> None:
    folder = tmp_path_factory.mktemp("sink")
    with pytest.MonkeyPatch.context() as patch, FileBackend(folder) as backend:
        patch.setattr(store, "SMALL_SEGMENT_BYTES", small)
        patch.setattr(store, "LARGE_SEGMENT_BYTES", large)
        packs: list[PackInfo] = []
        with BlockSink(backend, REPOSITORY, "run", pack_target_bytes=target) as sink:
            for data, is_large, take in blocks:
                sink.add(block_digest(data), data, large=is_large)
                if take:
                    packs += sink.take_finished()
            packs += sink.flush()
            stored = sink.stored_bytes
        assert read_all(backend, packs) == {block_digest(data): data for data, _, _ in blocks}
        digests = [d for p in packs for i in p.segments for d, _, _ in i.blocks()]
        assert len(digests) == len(set(digests))
        assert sorted(p.name for p in packs) == backend.names("packs")
        assert stored == sum(i.place.stored for p in packs for i in p.segments)


def test_add_says_whether_it_is_new(backend: FileBackend) -> None:
    with BlockSink(backend, REPOSITORY, "run") as sink:
        assert sink.add(block_digest(b"x"), b"x")
        assert not sink.add(block_digest(b"x"), b"x", large=True)


def test_buffers_may_be_used_again(backend: FileBackend) -> None:
    buffer = bytearray(b"first")
    with BlockSink(backend, REPOSITORY, "run") as sink:
        sink.add(block_digest(b"first"), memoryview(buffer))
        buffer[:] = b"other"
        packs = sink.flush()
    assert read_all(backend, packs) == {block_digest(b"first"): b"first"}


def test_what_is_remembered_is_bounded(
    backend: FileBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_REMEMBERED", 10)
    monkeypatch.setattr(store, "_SEGMENT_BLOCKS", 10)
    blocks = [b"%d" % i for i in range(100)]
    with BlockSink(backend, REPOSITORY, "run") as sink:
        for block in blocks:
            sink.add(block_digest(block), block)
        assert len(sink._recent) + len(sink._older) <= 20
        assert not sink.add(block_digest(blocks[-1]), blocks[-1])
        # Forgotten, so stored twice: allowed, and both places are right.
        assert sink.add(block_digest(blocks[0]), blocks[0])
        packs = sink.flush()
    assert len(read_all(backend, packs)) == 100


def test_small_and_large_do_not_mix(backend: FileBackend) -> None:
    with BlockSink(backend, REPOSITORY, "run") as sink:
        sink.add(block_digest(b"s"), b"s")
        sink.add(block_digest(b"l"), b"l", large=True)
        (pack,) = sink.flush()
    assert [len(index.lengths) for index in pack.segments] == [1, 1]


def test_what_a_worker_sends_is_small(backend: FileBackend) -> None:
    with BlockSink(backend, REPOSITORY, "run") as sink:
        for i in range(10_000):
            sink.add(block_digest(b"%d" % i), b"%d" % i)
        packs = sink.flush()
    message = pickle.dumps(packs)
    assert len(message) < 37 * 10_000
    assert pickle.loads(message) == packs


def test_giving_up_keeps_finished_packs_only(backend: FileBackend) -> None:
    rng = random.Random(4)
    with BlockSink(backend, REPOSITORY, "run", pack_target_bytes=1) as sink:
        data = rng.randbytes(store.LARGE_SEGMENT_BYTES)
        sink.add(block_digest(data), data, large=True)
        (pack,) = sink.take_finished()
        sink.add(block_digest(b"x"), b"x")
    assert backend.names("packs") == [pack.name]


def test_a_full_disk_leaves_no_open_pack(
    backend: FileBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StorageFullError), BlockSink(backend, REPOSITORY, "run") as sink:
        sink.add(block_digest(b"x"), b"x")

        def full(*_: object) -> None:
            raise StorageFullError("full")

        monkeypatch.setattr("snapfs.storage.files.FileWriter.commit", full)
        sink.flush()
    assert backend.names("packs") == []


class TestReader:
    @pytest.fixture
    def packs(self, backend: FileBackend) -> list[PackInfo]:
        rng = random.Random(5)
        with BlockSink(backend, REPOSITORY, "run", pack_target_bytes=1) as sink:
            for _ in range(6):
                data = rng.randbytes(store.LARGE_SEGMENT_BYTES)
                sink.add(block_digest(data), data, large=True)
            return sink.flush()

    def test_segments_are_decoded_once_in_order(
        self, backend: FileBackend, packs: list[PackInfo], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        decoded: list[tuple[str, int]] = []
        original = PackReader.read_raw

        def counting(self: PackReader, offset: int, stored: int) -> memoryview:
            decoded.append((self.name, offset))
            return original(self, offset, stored)

        monkeypatch.setattr(PackReader, "read_raw", counting)
        with BlockReader(backend, cache_bytes=2 * store.LARGE_SEGMENT_BYTES) as reader:
            for pack in packs:
                for index in pack.segments:
                    for _ in range(3):
                        reader.read(pack.name, index.place.offset, index.place.stored, 5, 10)
            assert len(decoded) == len(set(decoded)) == 6
            first = packs[0].segments[0].place
            reader.read(packs[0].name, first.offset, first.stored, 5, 10)
            assert len(decoded) == 7
            last = packs[-1].segments[-1].place
            reader.read(packs[-1].name, last.offset, last.stored, 5, 10)
            assert len(decoded) == 7

    def test_descriptors_are_bounded(
        self, backend: FileBackend, packs: list[PackInfo], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(reader_module, "_OPEN_PACKS", 2)
        with BlockReader(backend) as reader:
            for pack in packs * 2:
                place = pack.segments[0].place
                reader.read(pack.name, place.offset, place.stored, 0, 1)
                assert len(reader._packs) <= 2

    def test_wrong_places_are_damage(self, backend: FileBackend, packs: list[PackInfo]) -> None:
        name, place = packs[0].name, packs[0].segments[0].place
        for offset, stored, at, length, digest in (
            (place.offset, place.stored, place.raw - 1, 2, None),
            (place.offset, place.stored - 1, 0, 1, None),
            (place.offset, place.stored + 1, 0, 1, None),
            (place.offset + 1, place.stored, 0, 1, None),
            (10**9, place.stored, 0, 1, None),
            (place.offset, place.stored, 0, 1, bytes(32)),
        ):
            with BlockReader(backend) as reader, pytest.raises(DamageError, match=name) as caught:
                reader.read(name, offset, stored, at, length, digest=digest)
            assert caught.value.subject == name


def test_a_pack_of_tiny_blocks_is_finished_by_their_number(
    backend: FileBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "PACK_TARGET_BLOCKS", 10)
    monkeypatch.setattr(store, "SMALL_SEGMENT_BYTES", 20)
    data = [b"%04d" % number for number in range(40)]
    with BlockSink(backend, REPOSITORY, "run") as sink:
        for block in data:
            sink.add(block_digest(block), block)
        packs = sink.flush()
    # A segment has five blocks, a pack two segments.
    assert [sum(s.place.block_count for s in pack.segments) for pack in packs] == [10] * 4
    assert read_all(backend, packs) == {block_digest(block): block for block in data}
