"""Records, configs and packs that somebody made with sound checksums: damage that is named, in bounded time and memory."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest
from blake3 import blake3
from xxhash import xxh3_64_intdigest

from snapfs.blocks import chain, pack, segment
from snapfs.repository.journalfile import encode_file_header
from tests.harness.inprocess import InProcess
from tests.harness.program import PROGRAM, Program
from tests.harness.require import need_root
from tests.harness.user import User

HEADER = b'H{"op":"dump","counters":{}}'

RECORDS = {
    "width": [HEADER, b"R\x04ROOT\x02qq\x01" + bytes(18)],
    "many columns": [HEADER, b"R\x04ROOT\x7f" + b"q" * 127 + b"\x80\x80\x40" + bytes(9 * 127)],
    "nested": [b"H" + b"[" * 100_000],
    "large": [b'H{"op":"collect","counters":{"root":1180591620717411303424}}'],
    "list": [b'H{"op":"collect","counters":{"root":[]}}'],
    "unknown": [b'H{"op":"nonsense","counters":{}}'],
}


@pytest.fixture
def run(workspace: Path, tree: Path) -> InProcess:
    run = InProcess(workspace / "repository")
    (tree / "a").write_text("a")
    run("create", tree, "--name", "one")
    return run


def identity(run: InProcess) -> bytes:
    return bytes.fromhex(json.loads((run.repository / "config").read_text())["id"])


@pytest.mark.parametrize("pieces", RECORDS.values(), ids=RECORDS)
def test_a_record_that_makes_no_sense(pieces: list[bytes], run: InProcess, tree: Path) -> None:
    data = bytearray(encode_file_header(1, identity(run)))
    writer = chain.RecordWriter(data.extend, 1, chain.first_hash(identity(run)))
    for piece in pieces:
        writer.add(piece)
    writer.finish()
    (run.repository / "journal" / "0000000001.log").write_bytes(data)
    for part in run.repository.glob("catalog.db*"):
        part.unlink()
    tracemalloc.start()
    done = run("rebuild-catalog", ok=(1, 3))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "journal" in done.errors
    assert peak < 300 << 20


@pytest.mark.parametrize(
    "text",
    [
        "[" * 60_000, '{"format":1e400,"id":"00","need_read":[],"need_write":[]}', "null", "{}",
        '{"format":1,"id":"00","need_read":' + "[" * 60_000,
    ],
)  # fmt: skip
def test_a_config_that_makes_no_sense(text: str, run: InProcess, tree: Path) -> None:
    (run.repository / "config").write_text(text)
    run("ls", "tree@one")
    assert "rebuild-catalog" in run("create", tree, ok=(1,)).errors
    run("rebuild-catalog", ok=(0, 3))
    run("create", tree)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '["0000000001.log",1e400,1,"00"]', f'["0000000001.log",1,{2**100},"00"]'],
)
def test_a_place_in_the_journal_that_makes_no_sense(text: str, run: InProcess, tree: Path) -> None:
    with closing(sqlite3.connect(run.repository / "catalog.db")) as catalog:
        catalog.execute("UPDATE meta SET value = ? WHERE key = 'journal'", (text,))
        catalog.commit()
    for words in (("create", tree), ("delete", "tree@one", "--yes")):
        assert "rebuild-catalog" in run(*words, ok=(1,)).errors
    assert run("verify", ok=(3,)).text
    run("rebuild-catalog", ok=(0, 3))
    run("create", tree)


def test_rules_that_make_no_sense(run: InProcess, tree: Path) -> None:
    with closing(sqlite3.connect(run.repository / "catalog.db")) as catalog:
        catalog.execute("UPDATE snapshot SET rules = ?", ("[" * 100_000,))
        catalog.commit()
    for words in (("show", "one"), ("diff",), ("restore", "one", "--in-place", "-n"), ("verify",)):
        assert "damage" in str(run(*words, cwd=tree, ok=(1, 3)))


def _put_pack(run: InProcess, encoded: segment.EncodedSegment) -> None:
    data = bytearray(pack.encode_pack_header(identity(run)))
    place = pack.SegmentPlace(
        0, len(data), encoded.stored, encoded.raw, len(encoded.lengths), encoded.checksum
    )
    for part in encoded.parts:
        data += part
    data += pack.encode_index([place], len(data))
    (run.repository / "packs" / ("a" * 32)).write_bytes(data)


def test_packs_that_nobody_would_write_are_not_taken_in(run: InProcess, tree: Path) -> None:
    count = 1000
    table = bytes(count) + blake3(b"").digest() * count
    values = (segment.SEGMENT_MAGIC, 1, 0, 0, 1, count, 0, 0, 0)
    sums = (xxh3_64_intdigest(table), xxh3_64_intdigest(b""))
    head = segment.seal(segment._HEADER.pack(*values, *sums))
    _put_pack(
        run,
        segment.EncodedSegment(
            (head + table, b""), len(head + table), 0, segment._seal_of(head), b"", [0] * count
        ),  # type: ignore[arg-type]
    )
    huge = run.repository / "packs" / ("b" * 32)
    huge.write_bytes(pack.encode_pack_header(identity(run)))
    os.truncate(huge, 200 << 30)
    (tree / "b").write_text("b")
    run("create", tree, "--name", "two")
    with closing(sqlite3.connect(run.repository / "catalog.db")) as catalog:
        names = {name for (name,) in catalog.execute("SELECT name FROM pack")}
    assert names.isdisjoint({"a" * 32, huge.name})
    huge.unlink()
    run("restore", "two", "--to", tree.parent / "to", cwd=tree)


@pytest.mark.parametrize(
    "name", ["reserve", "catalog.db-journal", "catalog.db-wal", "catalog.db-shm", "catalog.db"]
)
def test_a_planted_hard_link_is_neither_written_nor_given_away(
    name: str, snapfs: Program, as_user: Program, user: User, workspace: Path
) -> None:
    """Root works in a user's repository, where the user has linked another's file."""
    need_root()
    tree = workspace / "own" / "tree"
    as_user.create(tree, "one")
    victim = workspace / "own" / "victim"
    victim.write_text("root's own")
    before = victim.stat()
    planted = as_user.repository / name
    planted.unlink(missing_ok=True)
    os.link(victim, planted)
    root = Program(repository=as_user.repository, home=snapfs.home)
    root("create", tree, "--name", "two", ok=(0, 1))
    root("list", ok=(0, 1))
    after = victim.stat()
    assert victim.read_text() == "root's own"
    assert (after.st_uid, after.st_gid, after.st_mode) == (
        before.st_uid,
        before.st_gid,
        before.st_mode,
    )


@pytest.mark.parametrize("mask", ["0277", "0777", "077"])
def test_a_mask_never_keeps_the_owner_out(mask: str, snapfs: Program, tree: Path) -> None:
    (tree / "a").write_text("a")
    for name in ("one", "two"):
        words = " ".join(
            [*PROGRAM, "-r", str(snapfs.repository), "create", str(tree), "--name", name]
        )
        subprocess.run(
            ["bash", "-c", f"umask {mask}; {words}"],
            env=snapfs.environment(), check=True, capture_output=True,
        )  # fmt: skip
    made = [snapfs.repository, *snapfs.repository.rglob("*")]
    for path in made:
        wanted = 0o700 if path.is_dir() else 0o600
        assert path.stat().st_mode & 0o777 == wanted, path
    snapfs("verify", "--data")


def test_a_pack_is_taken_in_only_if_it_holds_what_it_says(run: InProcess, tree: Path) -> None:
    """Its checksums are sound, its digest is another block's: a file with that digest would be lost."""
    (tree / "good").write_bytes(b"GOOD!" * 2000)
    _put_pack(run, segment.encode_segment([blake3(b"GOOD!" * 2000).digest()], [b"EVIL!" * 2000]))
    run("create", tree, "--name", "two")
    run("restore", "two", "--to", tree.parent / "to", cwd=tree)
    assert (tree.parent / "to" / "good").read_bytes() == b"GOOD!" * 2000
