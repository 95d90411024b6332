"""Damaged packs: what can be had again is, everything else is lost as it says, and nothing beyond that."""

from __future__ import annotations

import errno
import os
import random
import shutil
from dataclasses import fields
from pathlib import Path

import pytest

from snapfs import faults
from snapfs.blocks.pack import PACK_HEADER_BYTES
from snapfs.blocks.segment import HEADER_BYTES
from snapfs.catalog import compiled as sql
from snapfs.catalog.rows import SnapshotRow
from snapfs.errors import RepositoryError, StorageFullError
from snapfs.progress import RecordingProgress
from snapfs.repair import LostFile, RepairOptions, RepairResult, repair
from snapfs.repair.salvage import Store as Found
from snapfs.repository.rebuild import rebuild_catalog
from snapfs.storage.openfile import FileWriter
from tests.damage.damaging import DAMAGES, flip
from tests.verify.repositories import COMMAND, Store, random_history

SNAPSHOT_COLUMNS = [one.name for one in fields(SnapshotRow)]
Lost = dict[bytes, tuple[str, ...]]
HERE, ELSEWHERE = "host", "another"
"""The machine that has the directory, and one that does not."""


def mend(store: Store, *, dry_run: bool = False, host: str = HERE) -> tuple[RepairResult, Lost]:
    """Repair, and what it says is lost; afterwards nothing is wrong."""
    lost: list[LostFile] = []
    options = RepairOptions(host, dry_run=dry_run, on_lost=lost.append)
    progress = RecordingProgress()
    result = repair(store.key, options, lock_wait_s=0, command_line=COMMAND, progress=progress)
    assert result.lost_files == len(lost)
    if not dry_run:
        store.clean()
    by_path: Lost = {}
    for file in lost:  # two roots may have the same path, and never a snapshot of the same name
        by_path[file.path] = (*by_path.get(file.path, ()), *file.snapshots)
    return result, by_path


def packs(store: Store) -> list[Path]:
    return [store.path / "packs" / row[1] for row in sorted(store.tables()["PACK"])]


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def rebuild(store: Store) -> int:
    store.lose_catalog()
    return rebuild_catalog(store.key, lock_wait_s=0, progress=RecordingProgress()).problems


def rebuilt_is_the_same(store: Store) -> None:
    """The journal gives the very same catalog, also the record of the repair."""
    after = store.tables()
    assert rebuild(store) == 0
    again = store.tables()
    for name, rows in after.items():
        assert again[name] == rows, name


def compare(store: Store, before: dict[str, list[object]], lost: Lost) -> None:
    """Every snapshot is as it was, but for the bytes of what is lost in it."""
    after = store.views()
    assert after.keys() == before.keys()
    for name, entries in before.items():
        now = {path: (values, places) for path, values, places in after[name]}
        assert now.keys() == {path for path, _, _ in entries}
        for path, values, places in entries:
            assert now[path][0] == values
            digests = [] if name in lost.get(path, ()) else [one.digest for one in places]
            assert [one.digest for one in now[path][1]] == digests


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize(("at", "host"), [(0.1, ELSEWHERE), (0.6, HERE)])
def test_what_is_not_named_is_as_it_was(how: str, at: float, host: str, history: Store) -> None:
    before = history.views()
    DAMAGES[how](packs(history)[0], at)
    planned, would_be = mend(history, dry_run=True, host=host)
    result, lost = mend(history, host=host)
    assert lost == would_be
    assert planned.packs == result.packs != ()
    assert (result.lost_blocks > 0) == bool(lost)
    if host == HERE:
        assert lost.keys() <= {b"a/deep/moved", b"changed", b"gone"} - {b"a/deep/moved"}
    compare(history, before, lost)
    rebuilt_is_the_same(history)
    assert mend(history)[0].damaged is False


def test_a_lost_file_stays_in_its_snapshots(store: Store, never_young: None) -> None:
    """Its name and attributes are there; the next create takes what the file is now."""
    tree = store.tree()
    (tree / "d").mkdir()
    (tree / "d" / "a").write_bytes(os.urandom(3000))
    (tree / "b").write_bytes(os.urandom(3000))
    store.take("s0")
    (tree / "c").write_bytes(os.urandom(3000))
    store.take("s1")
    packs(store)[0].unlink()
    (tree / "b").write_bytes(b"edited")
    result, lost = mend(store, host=ELSEWHERE)
    assert lost == {b"b": ("s0", "s1"), b"d/a": ("s0", "s1")}
    assert result.incomplete == ("tree@s0", "tree@s1")
    tables = store.tables()
    complete = SNAPSHOT_COLUMNS.index("complete")
    assert [row[complete] for row in tables["SNAPSHOT"]] == [0, 0]
    assert sorted({(row[0], row[2]) for row in tables["PROBLEM"]}) == [
        (snapshot[0], path) for snapshot in tables["SNAPSHOT"] for path in (b"b", b"d/a")
    ]
    store.take("s2")
    rebuilt_is_the_same(store)
    views = store.views()
    assert [len(places) for path, _, places in views["s2"] if path in lost] == [1, 1]
    store.delete("s2")
    store.clean()


@pytest.mark.parametrize("source", ["twin", "live"])
def test_the_same_bytes_elsewhere(source: str, history: Store) -> None:
    """In a pack that the catalog does not know, or in a file that has another name and other times now."""
    pack = packs(history)[0]
    before = history.views()
    if source == "twin":
        shutil.copyfile(pack, pack.with_name("0" * 32))
    flip(pack, 0.001)
    flip(pack, 0.6)
    result, lost = mend(history, host=ELSEWHERE if source == "twin" else HERE)
    assert lost == {}
    assert not pack.exists()
    assert [name for name in result.set_aside if pack.name in name]
    compare(history, before, lost)
    rebuilt_is_the_same(history)


@pytest.mark.parametrize(
    ("how", "known"),
    [
        ("missing", "older"),
        ("missing", "live"),
        ("missing", "nowhere"),
        ("table", "nowhere"),
        ("table and bytes", "older"),
        ("table and bytes", "nowhere"),
    ],
)
def test_a_catalog_that_does_not_know_what_blocks_were(
    how: str, known: str, store: Store, never_young: None
) -> None:
    """The catalog was made again without the pack: what a block was is proved, or the file is lost."""
    rng = random.Random(3)
    tree = store.tree()
    (tree / "d").mkdir()
    for number in range(3):
        (tree / "d" / f"small{number}").write_bytes(rng.randbytes(5000))
    (tree / "large").write_bytes(rng.randbytes(700_000))
    store.take("s0")
    (tree / "more").write_bytes(rng.randbytes(5000))
    store.take("s1")
    before = store.views()
    pack = packs(store)[0]
    if known == "older":
        shutil.copyfile(store.path / "catalog.db", store.path / "catalog.db.old")
    if how == "missing":
        pack.unlink()
    else:
        # Lengths of the first segment's blocks, so that the digests cannot be computed again.
        overwrite(pack, PACK_HEADER_BYTES + HEADER_BYTES, bytes(4))
    if how == "table and bytes":
        overwrite(pack, 8000, bytes(4))
    rebuild(store)
    assert any(row[1] is None for row in store.tables()["BLOCK"])
    _, lost = mend(store, host=HERE if known == "live" else ELSEWHERE)
    small = {b"d/small0", b"d/small1", b"d/small2"}
    expected: set[bytes] = set()
    if known != "live" and how == "missing":
        expected = small | {b"large"}
    elif known != "live" and how == "table and bytes":
        # An older catalog proves what the others are, whose bytes are there.
        expected = small if known == "nowhere" else {b"d/small1"}
    assert lost == dict.fromkeys(expected, ("s0", "s1"))
    assert all(row[1] is not None for row in store.tables()["BLOCK"])
    compare(store, before, lost)
    rebuilt_is_the_same(store)


def test_stored_anew_before_it_was_known_what_it_was(store: Store, never_young: None) -> None:
    """Then two blocks are one: the older snapshots get the new one."""
    rng = random.Random(4)
    tree = store.tree()
    (tree / "small").write_bytes(rng.randbytes(5000))
    (tree / "large").write_bytes(rng.randbytes(700_000))
    store.take("s0")
    before = store.views()["s0"]
    packs(store)[0].unlink()
    rebuild(store)
    os.utime(tree / "small", (1, 1))
    os.utime(tree / "large", (1, 1))
    store.take("s1")
    mend(store)
    after = store.views()["s0"]
    for (path, values, places), (_, now, found) in zip(before, after, strict=True):
        assert (path, values, [one.digest for one in places]) == (
            path, now, [one.digest for one in found],
        )  # fmt: skip
    rebuilt_is_the_same(store)


@pytest.mark.parametrize(
    "point",
    ["pack.written", "journal.record-started", "repair.journal-durable", "repair.pack-moved"],
)
def test_interrupted(point: str, history: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """At any point: nothing sound is lost, and the next repair finishes."""
    before = history.views()
    flip(packs(history)[0], 0.1)
    flip(packs(history)[0], 0.9)
    _, would_be = mend(history, dry_run=True, host=ELSEWHERE)

    def reached(name: str) -> None:
        if name == point:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(faults, "point", reached)
        with pytest.raises(KeyboardInterrupt):
            mend(history, host=ELSEWHERE)
    _, lost = mend(history, host=ELSEWHERE)
    assert {**would_be, **lost} == would_be
    compare(history, before, would_be)
    rebuilt_is_the_same(history)
    assert not [name for name in history.packs() if name.startswith("tmp-")]


def test_full_disk(history: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    flip(packs(history)[0], 0.1)
    before, there = history.tables(), history.packs()

    def full(self: FileWriter, data: bytes) -> None:
        raise StorageFullError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(FileWriter, "write", full)
        with pytest.raises(StorageFullError):
            mend(history)
    assert history.tables() == before
    assert history.packs() == there
    assert mend(history)[1] == {}


def test_packs_out_of_reach_are_no_damage(history: Store) -> None:
    """A disk that is not mounted, a link that leads nowhere: nothing may be lost by that."""
    folder = history.path / "packs"
    away = history.base / "away"
    folder.rename(away)
    with pytest.raises(RepositoryError, match="packs"):
        mend(history)
    away.rename(folder)
    pack = packs(history)[0]
    pack.rename(away)
    pack.symlink_to(away)
    with pytest.raises(RepositoryError, match="plain file"):
        mend(history)
    pack.unlink()
    away.rename(pack)
    assert not mend(history)[0].damaged


def test_a_file_that_cannot_be_read_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have what is lost: whoever may read it should be asked before that is so."""
    (store.tree() / "a").write_bytes(b"a" * 3000)
    store.take("s0")
    packs(store)[0].unlink()
    real = os.open

    def refuse(path: object, *args: int, **more: int) -> int:
        if path == b"a":
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, *args, **more)  # type: ignore[arg-type]

    progress = RecordingProgress()
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        options = RepairOptions(HERE, dry_run=True)
        planned = repair(store.key, options, lock_wait_s=0, progress=progress)
    assert planned.lost_files == 1
    assert [(one.path, one.errno) for one in progress.problems] == [(b"a", errno.EACCES)]
    assert mend(store)[1] == {}


def test_wanted_blocks_are_looked_up(store: Store) -> None:
    """By their digests: every block of every pack may be one."""
    (store.tree() / "a").write_bytes(b"a")
    store.take("s0")
    with store.open() as repository:
        Found(repository, dry_run=True)
        for statement in (sql.DAMAGED_WANTED, sql.DAMAGED_FOUND, sql.DAMAGED_ANY):
            text = f"EXPLAIN QUERY PLAN {statement}"
            plan = repository.catalog.execute(text, {"digest": b""}).fetchall()
            assert "damaged_block_digest" in plan[0][3]


@pytest.mark.parametrize("seed", range(3))
def test_random_histories(seed: int, store: Store, never_young: None) -> None:
    """Renames, links, deletes, two roots; damage and a lost catalog, twice: all that is not lost stays."""
    rng = random.Random(seed)
    random_history(store, rng, 8)
    for _ in range(2):
        before = store.views()
        there = packs(store)
        for pack in rng.sample(there, min(len(there), 2)):
            DAMAGES[rng.choice(list(DAMAGES))](pack, rng.random())
        if seed % 2:
            rebuild(store)
        _, lost = mend(store, host=ELSEWHERE)
        compare(store, before, lost)
        rebuilt_is_the_same(store)
    store.take("after", store.tree("one"))
    store.clean()


def test_record_of_the_run(store: Store) -> None:
    """One is one pack, in the words of `snapfs runs`."""
    (store.tree() / "a").write_bytes(os.urandom(1000))
    store.take("s0")
    flip(packs(store)[0], 0.0)
    mend(store)
    with store.open() as repository:
        summary = [row[-1] for row in repository.catalog.execute("SELECT * FROM run")][-1]
    assert summary == "1 pack damaged, 0 blocks found again, 0 lost"
