"""The formats as snapfs-repository.5 has them, read by a program that shares nothing with snapfs."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from pathlib import Path

from blake3 import blake3
from xxhash import xxh3_64_intdigest

from snapfs.blocks.digest import block_digest
from snapfs.blocks.store import BlockSink
from snapfs.repository.journal import Journal
from snapfs.storage import FileBackend

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MANUAL = Path(__file__).parents[2] / "man" / "snapfs-repository.5"
REPOSITORY = bytes(range(16))


def sealed(data: bytes, at: int, size: int) -> bytes:
    """A structure of ``size`` bytes with its seal, which must agree."""
    body = data[at : at + size - 8]
    assert struct.unpack_from("<Q", data, at + size - 8)[0] == xxh3_64_intdigest(body)
    return body


def example() -> str:
    """The program on the page."""
    text = re.search(r"\.Bd -literal[^\n]*\n(.*?)\n\.Ed", MANUAL.read_text(), re.DOTALL)
    assert text is not None
    return text.group(1).replace("\\e", "\\")


def test_pack(tmp_path: Path) -> None:
    blocks = [b"block %d " % i * (i + 1) for i in range(30)]
    with FileBackend(tmp_path) as backend, BlockSink(backend, REPOSITORY, "run") as sink:
        for i, block in enumerate(blocks):
            sink.add(block_digest(block), block, large=i % 2 == 0)
        (pack,) = sink.flush()
    path = tmp_path / "packs" / pack.name
    data = path.read_bytes()
    header = sealed(data, 0, 40)
    assert header[:10] == b"\xf5snapPAK\x01\x00"
    assert header[16:32] == REPOSITORY
    trailer = sealed(data, len(data) - 48, 48)
    assert trailer[:8] == b"\xf5snapIDX"
    index_at, index_size, segments, index_sum = struct.unpack_from("<QQQQ", trailer, 8)
    index = data[index_at : index_at + index_size]
    assert xxh3_64_intdigest(index) == index_sum
    assert (segments, index_size) == (2, 56)
    found = []
    at = 40
    for number in range(segments):
        offset, seal, stored, raw, count = struct.unpack_from("<QqIII", index, 28 * number)
        assert offset == at
        head = sealed(data, at, 52)
        assert head[:10] == b"\xf5snapSEG\x01\x00"
        assert struct.unpack_from("<q", data, at + 44)[0] == seal
        compression, width, count2, raw2, payload_size, _, table_sum, payload_sum = (
            struct.unpack_from("<BBIIIIQQ", head, 10)
        )
        assert (count2, raw2) == (count, raw)
        table = data[at + 52 : at + 52 + count * (width + 32)]
        assert xxh3_64_intdigest(table) == table_sum
        payload = data[at + 52 + len(table) :][:payload_size]
        assert xxh3_64_intdigest(payload) == payload_sum
        assert stored == 52 + len(table) + len(payload)
        content = zstd.decompress(payload) if compression == 1 else payload
        start = 0
        for i in range(count):
            length = int.from_bytes(table[i * width : (i + 1) * width], "little")
            block = content[start : start + length]
            start += length
            digest = table[count * width + 32 * i :][:32]
            assert blake3(block).digest() == digest
            found.append((digest, block))
        assert start == raw
        at += stored
    assert at == index_at
    assert sorted(found) == sorted((block_digest(block), block) for block in blocks)

    listing = subprocess.run(
        [sys.executable, "-c", example(), str(path)], capture_output=True, text=True, check=True
    ).stdout
    assert listing.splitlines() == [f"{digest.hex()} {len(block)}" for digest, block in found]


def test_journal(tmp_path: Path) -> None:
    with FileBackend(tmp_path) as backend:
        journal = Journal(backend, REPOSITORY)
        tail = journal.append(None, [b"Hfirst", b"R" * 300])
        tail = journal.append(tail, [b"second"])
    data = (tmp_path / "journal" / "0000000001.log").read_bytes()
    header = sealed(data, 0, 48)
    assert header[:10] == b"\xf5snapJRN\x01\x00"
    assert header[16:40] == struct.pack("<Q", 1) + REPOSITORY
    previous = blake3(
        REPOSITORY, derive_key_context="snapfs format 1: hash before the first journal record"
    ).digest()
    at = 48
    records = []
    for number in (1, 2):
        start = at
        head = sealed(data, at, 64)
        assert head[:10] == b"\xf5snapREC\x01\x00"
        assert head[16:56] == struct.pack("<Q", number) + previous
        at += 64
        content = b""
        frames = 0
        while data[at : at + 4] == b"\xf5FRM":
            frame = sealed(data, at, 32)
            compression, stored, size, checksum = struct.unpack_from("<B3xIIQ", frame, 4)
            body = data[at + 32 : at + 32 + stored]
            assert xxh3_64_intdigest(body) == checksum
            content += zstd.decompress(body) if compression == 1 else body
            assert len(content) == size
            at += 32 + stored
            frames += 1
        previous = blake3(data[start:at]).digest()
        end = sealed(data, at, 72)
        at += 72
        assert end == b"\xf5snapEND" + struct.pack("<QQQ", number, at - start, frames) + previous
        records.append(content)
    assert at == len(data) == tail.offset
    assert previous == tail.hash
    assert records == [b"\x06Hfirst\xac\x02" + b"R" * 300, b"\x06second"]
