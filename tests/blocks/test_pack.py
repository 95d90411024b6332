"""Packs: written, read by index, read by scanning, and read when damaged."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapfs.blocks.digest import block_digest
from snapfs.blocks.pack import (
    PACK_HEADER_BYTES,
    TRAILER_BYTES,
    PackInfo,
    PackWriter,
    decode_pack_header,
)
from snapfs.blocks.packreader import PackFinding, PackReader
from snapfs.blocks.reader import BlockReader
from snapfs.blocks.segment import encode_segment
from snapfs.errors import DamageError, RepositoryError
from snapfs.storage import FileBackend, MissingObjectError, StorageError
from tests.blocks.damage import damaged_copies, spread

REPOSITORY = bytes(range(16))


def make_blocks(seed: int, count: int = 12) -> list[bytes]:
    rng = random.Random(seed)
    return [
        rng.randbytes(rng.randrange(1, 200)) * rng.randrange(1, 4) + b"text " * rng.randrange(80)
        for _ in range(count)
    ]


def write_pack(backend: FileBackend, segments: list[list[bytes]], name: str = "ab12") -> PackInfo:
    with PackWriter(backend, REPOSITORY, "run") as pack:
        for blocks in segments:
            pack.append(encode_segment([block_digest(b) for b in blocks], blocks))
        return pack.finish(name)


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[FileBackend]:
    with FileBackend(tmp_path) as backend:
        yield backend


@pytest.fixture
def segments() -> list[list[bytes]]:
    return [make_blocks(seed) for seed in range(4)]


def readable(backend: FileBackend, info: PackInfo) -> set[bytes]:
    """Digests of the blocks that can be read through their places; wrong bytes fail."""
    found = set()
    with BlockReader(backend) as reader:
        for index in info.segments:
            place = index.place
            for digest, offset, length in index.blocks():
                try:
                    data = reader.read(
                        info.name, place.offset, place.stored, offset, length, digest=digest
                    )
                except (DamageError, MissingObjectError):
                    continue
                assert block_digest(data) == digest
                found.add(digest)
    return found


def test_a_pack_describes_itself(backend: FileBackend, segments: list[list[bytes]]) -> None:
    info = write_pack(backend, segments)
    assert info.size == backend.size("packs/ab12")
    findings: list[PackFinding] = []
    with PackReader(backend, "ab12") as reader:
        assert reader.repository_id() == REPOSITORY
        assert reader.info(findings) == info
        assert list(reader.scan(findings)) == info.segments
        assert reader.places() == [index.place for index in info.segments]
        assert reader.check(deep=True) == []
    assert findings == []
    everything = {block_digest(block) for blocks in segments for block in blocks}
    assert readable(backend, info) == everything


def test_names_are_random(backend: FileBackend, segments: list[list[bytes]]) -> None:
    names = set()
    for _ in range(3):
        with PackWriter(backend, REPOSITORY, "run") as pack:
            names.add(pack.finish().name)
    assert len(names) == 3
    assert all(len(name) == 32 and int(name, 16) >= 0 for name in names)


def test_an_unfinished_pack_is_removed(backend: FileBackend, segments: list[list[bytes]]) -> None:
    with PackWriter(backend, REPOSITORY, "run") as pack:
        pack.append(encode_segment([block_digest(b"x")], [b"x"]))
        assert backend.names("packs") == ["tmp-run-0"]
    assert backend.names("packs") == []


def test_a_killed_writers_pack_is_read_by_scanning(
    backend: FileBackend, segments: list[list[bytes]]
) -> None:
    pack = PackWriter(backend, REPOSITORY, "run")
    for blocks in segments:
        pack.append(encode_segment([block_digest(b) for b in blocks], blocks))
    findings: list[PackFinding] = []
    with PackReader(backend, "tmp-run-0") as reader:
        found = list(reader.index(findings))
    assert [len(index.lengths) for index in found] == [12] * 4
    assert [finding.ordinal for finding in findings] == [-1]
    pack.abandon()


def test_damage_matrix(backend: FileBackend, tmp_path: Path, segments: list[list[bytes]]) -> None:
    """Truncate, flip and zero at many offsets.

    Damage is found, names its segment, and costs the blocks of that segment at most, both for who
    knows the places (restore) and for who does not (rebuild).
    """
    info = write_pack(backend, segments)
    path = tmp_path / "packs" / "ab12"
    data = path.read_bytes()
    ends = [index.place.offset + index.place.stored for index in info.segments]
    near = [e + d for e in [PACK_HEADER_BYTES, *ends, len(data)] for d in (-2, -1, 0, 1, 9)]
    offsets = sorted({*spread(len(data), 150), *(at for at in near if 0 <= at < len(data))})
    for what, at, damaged in damaged_copies(data, offsets):
        path.write_bytes(damaged)
        touched = {
            digest
            for index in info.segments
            for digest, _, _ in index.blocks()
            if at < index.place.offset + index.place.stored
            and (what == "truncate" or at + 64 > index.place.offset)
        }
        safe = {d for i in info.segments for d, _, _ in i.blocks()} - touched
        assert readable(backend, info) >= safe, (what, at)
        with PackReader(backend, "ab12") as reader:
            findings = reader.check(deep=True)
            assert findings, (what, at)
            found: list[PackFinding] = []
            rediscovered = reader.info(found)
        assert {d for i in rediscovered.segments for d, _, _ in i.blocks()} >= safe, (what, at)
        named = {d for finding in findings for d in finding.digests}
        assert not named & safe, (what, at)
        if what == "flip":
            hit = next((i for i, end in enumerate(ends) if at < end), -1)
            if hit >= 0 and at >= PACK_HEADER_BYTES:
                assert {finding.ordinal for finding in findings} == {hit}, at
            else:
                assert {finding.ordinal for finding in findings} == {-1}, at


def test_segments_keep_their_numbers_after_a_damaged_one(
    backend: FileBackend, tmp_path: Path, segments: list[list[bytes]]
) -> None:
    info = write_pack(backend, segments)
    path = tmp_path / "packs" / "ab12"
    data = bytearray(path.read_bytes())
    data[info.segments[1].place.offset + 3] ^= 1
    path.write_bytes(data)
    findings: list[PackFinding] = []
    with PackReader(backend, "ab12") as reader:
        assert [index.place.ordinal for index in reader.index(findings)] == [0, 2, 3]
    assert [(f.ordinal, f.offset) for f in findings] == [(1, info.segments[1].place.offset)]


def test_a_damaged_table_is_mended_but_told(
    backend: FileBackend, tmp_path: Path, segments: list[list[bytes]]
) -> None:
    info = write_pack(backend, segments)
    path = tmp_path / "packs" / "ab12"
    data = bytearray(path.read_bytes())
    place = info.segments[2].place
    data[place.offset + 56 + 2 * place.block_count + 40] ^= 1
    path.write_bytes(data)
    findings: list[PackFinding] = []
    with PackReader(backend, "ab12") as reader:
        assert list(reader.index(findings)) == info.segments
    assert [finding.ordinal for finding in findings] == [2]


def test_bytes_swapped_under_a_sound_checksum_are_found_by_digest(
    backend: FileBackend, segments: list[list[bytes]]
) -> None:
    """A forged pack: everything agrees but the digests."""
    with PackWriter(backend, REPOSITORY, "run") as pack:
        pack.append(
            encode_segment([block_digest(b"good"), block_digest(b"fine")], [b"evil", b"fine"])
        )
        info = pack.finish("forged")
    with PackReader(backend, "forged") as reader:
        (finding,) = reader.check(deep=True)
        assert finding.digests == (block_digest(b"good"),)
        assert reader.check(deep=False) == []
    assert readable(backend, info) == {block_digest(b"fine")}


def test_nothing_is_believed_by_its_name(
    backend: FileBackend, tmp_path: Path, segments: list[list[bytes]]
) -> None:
    write_pack(backend, segments)
    (tmp_path / "packs" / "foreign").write_bytes(b"not a pack")
    (tmp_path / "packs" / "empty").write_bytes(b"")
    (tmp_path / "packs" / "link").symlink_to("ab12")
    for name in ("foreign", "empty"):
        with PackReader(backend, name) as reader:
            assert reader.check(deep=True)
            with pytest.raises(DamageError, match=name):
                reader.repository_id()
            with pytest.raises(DamageError, match=name):
                reader.read_segment(0, 100)
    with pytest.raises(StorageError, match="link"):
        PackReader(backend, "link")
    with pytest.raises(MissingObjectError, match="gone"):
        PackReader(backend, "gone")


def test_a_newer_pack_is_refused(backend: FileBackend, tmp_path: Path) -> None:
    write_pack(backend, [[b"x"]])
    data = bytearray((tmp_path / "packs" / "ab12").read_bytes())
    data[8] = 2
    with pytest.raises(DamageError):
        decode_pack_header(bytes(data))
    from snapfs.blocks.sealed import seal

    newer = seal(bytes(data[: PACK_HEADER_BYTES - 8]))
    with pytest.raises(RepositoryError, match="version 2"):
        decode_pack_header(newer)


def test_sizes_of_format_1() -> None:
    assert (PACK_HEADER_BYTES, TRAILER_BYTES) == (40, 48)
