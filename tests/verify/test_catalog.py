"""Damage in the catalog: each broken rule is found, named, and leads to what it touches."""

from __future__ import annotations

import os
import random
import sqlite3
from contextlib import closing

import pytest

from snapfs.errors import SnapfsError
from tests.verify.repositories import Store, random_history


def named(name: str) -> str:
    """The inode behind a name of the newest state."""
    return f"(SELECT inode_id FROM dirent WHERE name = CAST('{name}' AS BLOB))"


ROOT = "(SELECT inode_id FROM root)"
SPARSE = "(SELECT id FROM content WHERE size = 1000010)"

EDITS = {
    "inode-gone": (f"DELETE FROM inode WHERE id = {named('linked')}", "names no inode", b""),
    "entry-of-file": (
        f"UPDATE dirent SET parent_id = {named('big')} WHERE name = CAST('link' AS BLOB)",
        "names no inode of its root",
        b"big",
    ),
    "entry-swapped": (
        f"UPDATE dirent SET inode_id = {named('big')} WHERE name = CAST('changed' AS BLOB)",
        "does not have its digest",
        b"",
    ),
    "nameless": ("DELETE FROM dirent WHERE name = CAST('link' AS BLOB)", "has no name", b""),
    "two-names": (
        f"INSERT INTO dirent VALUES ({named('b')}, CAST('again' AS BLOB), {named('a')})",
        "more than one name",
        b"a",
    ),
    "loop": (
        f"UPDATE dirent SET parent_id = {named('b')} WHERE name = CAST('b' AS BLOB)",
        "reached from no root",
        b"",
    ),
    "slash": (
        "UPDATE dirent SET name = CAST('../evil' AS BLOB) WHERE name = CAST('link' AS BLOB)",
        "entry named b'../evil'",
        b"",
    ),
    "size": (
        f"UPDATE inode SET size = size + 1 WHERE id = {named('big')}",
        "do not fit together",
        b"big",
    ),
    "content": (
        f"UPDATE inode SET content_id = 999999 WHERE id = {named('big')}",
        "do not fit together",
        b"big",
    ),
    "no-attr": (
        f"UPDATE inode SET attr_id = 999999 WHERE id = {named('moved')}",
        "do not fit together",
        b"b/moved",
    ),
    "foreign-root": (
        f"UPDATE inode SET root_id = 77 WHERE id = {named('moved')}",
        "do not fit together",
        None,
    ),
    "mtime": (
        f"UPDATE inode SET mtime_s = mtime_s + 1 WHERE id = {named('moved')}",
        "does not have its digest",
        b"b",
    ),
    "target": (
        "UPDATE inode SET target = CAST('elsewhere' AS BLOB) WHERE kind = 3",
        "does not have its digest",
        b"",
    ),
    "wrong-kind": (
        f"UPDATE inode SET mtime_s = 'soon' WHERE id = {named('moved')}",
        "of the wrong kind",
        b"b",
    ),
    "attributes": ("UPDATE attr SET uid = uid + 1", "does not have its digest", b""),
    "xattr": ("UPDATE xattr SET value = x'00'", "does not have its digest", b""),
    "xattr-gone": ("DELETE FROM xattr", "extended ones that are not there", b""),
    "old-value": (
        "UPDATE inode_diff SET mtime_nsec = mtime_nsec + 1 WHERE size = 30000",
        "in snapshot 1 does not have its digest",
        b"",
    ),
    "old-value-gone": (
        "DELETE FROM inode_diff WHERE size = 30000",
        "in snapshot 1 does not have its digest",
        b"",
    ),
    "old-size": (
        "UPDATE inode_diff SET size = 1 WHERE size = 30000",
        "had in snapshot 1 do not fit together",
        b"changed",
    ),
    "old-name": (
        "UPDATE dirent_diff SET inode_id = 999999 WHERE name = CAST('gone' AS BLOB)",
        "had in snapshot 1 names no inode",
        b"",
    ),
    "old-name-gone": (
        "DELETE FROM dirent_diff WHERE name = CAST('gone' AS BLOB)",
        "in snapshot 1 does not have its digest",
        b"",
    ),
    "diff-of-head": (
        "UPDATE dirent_diff SET snapshot_id = 3 WHERE name = CAST('gone' AS BLOB)",
        "had in snapshot 3",
        b"",
    ),
    "diff-of-nobody": (
        "UPDATE inode_diff SET snapshot_id = 40 WHERE size = 30000",
        "had in snapshot 40",
        None,
    ),
    "head": ("UPDATE root SET head_id = 2", "does not know its newest snapshot", None),
    "snapshot-root": ("UPDATE snapshot SET root_id = 9 WHERE id = 2", "has no root", None),
    "snapshot-digest": (
        "UPDATE snapshot SET tree_digest = zeroblob(32) WHERE id = 2",
        "snapshot 2 does not have the digest of its root",
        b"",
    ),
    "snapshot-counts": ("UPDATE snapshot SET files = 7 WHERE id = 3", "says 7 files", None),
    "tag": ("UPDATE snapshot_tag SET snapshot_id = 9", "tag of 9, which is not there", None),
    "counter": ("UPDATE counter SET next = 2 WHERE name = 'inode'", "would give id", None),
    "extents": (
        f"UPDATE content SET extents = x'ff' WHERE id = {SPARSE}",
        "wrong kind",
        b"sparse",
    ),
    "content-size": (
        f"UPDATE content SET size = size + 1 WHERE id = {SPARSE}",
        "do not add up",
        b"sparse",
    ),
    "content-digest": (
        f"UPDATE content SET digest = zeroblob(32) WHERE id = {SPARSE}",
        "does not have its digest",
        b"sparse",
    ),
    "content-blocks": (
        f"DELETE FROM content_block WHERE content_id = {SPARSE} AND seq = 0",
        "is not that of its extents",
        b"sparse",
    ),
    "content-gone": (f"DELETE FROM content WHERE id = {SPARSE}", "which is not there", b"sparse"),
    "block-gone": (
        f"DELETE FROM block WHERE id = (SELECT block_id FROM content_block WHERE content_id = {SPARSE})",
        "is not there",
        b"sparse",
    ),
    "block-digest": (
        "UPDATE block SET digest = zeroblob(32) WHERE length = 1000",
        "are not those in the pack",
        b"gone",
    ),
    "block-place": (
        "UPDATE block SET offset = offset + 1 WHERE length = 1000",
        "are not those in the pack",
        b"gone",
    ),
    "block-segment": (
        "UPDATE block SET segment_id = 999 WHERE length = 1000",
        "lies in no segment",
        b"gone",
    ),
    "segment-offset": (
        "UPDATE segment SET offset = offset + 1 WHERE id = (SELECT segment_id FROM block WHERE length = 1000)",
        "damaged",
        b"gone",
    ),
    "segment-checksum": (
        "UPDATE segment SET checksum = 5 WHERE id = (SELECT segment_id FROM block WHERE length = 1000)",
        "not the one that the index lists",
        None,
    ),
    "segment-pack": ("UPDATE segment SET pack_id = 99 WHERE id = (SELECT min(id) FROM segment)", "lies in no pack", None),
    "pack-size": ("UPDATE pack SET size = size + 1 WHERE id = (SELECT min(id) FROM pack)", "bytes instead of", None),
    "pack-name": ("UPDATE pack SET name = 'abcdef' WHERE id = (SELECT min(id) FROM pack)", "pack is missing", b"gone"),
    "journal-place": ("UPDATE meta SET value = '[]' WHERE key = 'journal'", "its place in", None),
    "identity": ("UPDATE meta SET value = 'ff' WHERE key = 'id'", "not that of the catalog", None),
}  # fmt: skip


@pytest.mark.parametrize("what", EDITS)
def test_broken_rule(what: str, history: Store) -> None:
    statement, text, path = EDITS[what]
    history.edit(statement)
    result = history.verify()
    said = [finding.what for finding in result.findings]
    assert any(text in line for line in said), said
    assert result.problems == len(result.findings)
    if path is not None:
        assert path in {file.path for file in result.damaged}, result.damaged


def test_history_is_clean(history: Store) -> None:
    history.clean()
    assert history.verify(data=False).problems == 0


def test_counts(history: Store) -> None:
    result = history.verify()
    tables = history.tables()
    assert result.packs == len(tables["PACK"]) == 3
    assert result.segments == len(tables["SEGMENT"])
    assert result.blocks == len(tables["BLOCK"])
    assert result.read_bytes == sum(row[3] for row in tables["SEGMENT"])
    assert history.verify(data=False).read_bytes < result.read_bytes / 50


def test_nothing_is_written(history: Store) -> None:
    def state() -> dict[str, tuple[int, bytes]]:
        return {
            str(path): (path.stat().st_mtime_ns, path.read_bytes())
            for path in sorted(history.path.rglob("*"))
            if path.is_file() and not path.name.endswith(("-shm", "-wal"))
        }

    (history.path / "packs" / "tmp-root-1-0").write_bytes(b"unfinished")
    with (history.path / "journal" / "0000000001.log").open("ab") as file:
        file.write(b"torn")
    before = state()
    history.verify()
    assert state() == before


@pytest.mark.parametrize("seed", range(2))
def test_random_history_is_clean(seed: int, store: Store) -> None:
    rng = random.Random(seed)
    random_history(store, rng, 16)
    store.clean()


def test_a_bit_in_the_text_of_a_table(store: Store) -> None:
    """SQLite reads it as another name, and its own check has nothing against that."""
    (store.tree() / "f").write_bytes(b"x")
    store.take("s0")
    catalog = store.path / "catalog.db"
    pristine = catalog.read_bytes()
    for word in (b"fingerprint", b"inode_linked", b"utc_offset_s"):
        data = bytearray(pristine)
        data[data.rindex(word) + 3] ^= 1
        catalog.write_bytes(data)
        try:
            problems = store.verify().problems
        except SnapfsError:
            problems = 1
        assert problems
    catalog.write_bytes(pristine)
    store.clean()


def test_equal_findings_are_told_once(history: Store) -> None:
    """A page that cannot be read breaks nearly every rule, with the same words."""
    catalog = history.path / "catalog.db"
    with closing(sqlite3.connect(catalog)) as database:
        ((page_size,),) = database.execute("PRAGMA page_size")
        ((page,),) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'inode'")
    with catalog.open("r+b") as file:
        file.seek((page - 1) * page_size)
        file.write(b"\xee" * page_size)
    result = history.verify(data=False)
    assert result.findings
    assert len(set(result.findings)) == len(result.findings) == result.problems


def test_random_flips(history: Store) -> None:
    """What passes unseen changes nothing that any snapshot restores."""
    rng = random.Random(5)
    catalog = history.path / "catalog.db"
    pristine = catalog.read_bytes()
    used = [at for at, byte in enumerate(pristine) if byte]
    views = history.views()
    seen = 0
    for _ in range(60):
        for name in ("catalog.db-wal", "catalog.db-shm"):
            (history.path / name).unlink(missing_ok=True)
        data = bytearray(pristine)
        data[rng.choice(used)] ^= 1 << rng.randrange(8)
        catalog.write_bytes(data)
        try:
            found = history.verify(data=False).problems > 0
        except SnapfsError:
            found = True
        seen += found
        if not found:
            assert history.views() == views
    assert seen > 5


def test_many_broken_rows_are_bounded(store: Store) -> None:
    tree = store.tree()
    for number in range(60):
        (tree / f"f{number:02d}").write_bytes(b"%d" % number)
    store.take("s0")
    store.edit("UPDATE inode SET content_id = 99999 WHERE kind = 1")
    result = store.verify()
    assert len(result.findings) < 30
    assert any("only 20" in note for note in store.notes)


def test_deep_nesting(store: Store) -> None:
    """Paths are found without recursion."""
    at = os.open(store.tree(), os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    file = os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=at)
    os.write(file, b"some bytes")
    os.close(file)
    os.close(at)
    store.take("s0")
    store.clean()
    (pack,) = store.packs()
    (store.path / "packs" / pack).unlink()
    (damaged,) = store.verify().damaged
    assert damaged.path == b"d/" * 1500 + b"file"
