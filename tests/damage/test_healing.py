"""A later create of the same source stores damaged blocks again, and every older snapshot is whole."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from snapfs import faults
from snapfs.capture import store as capture_store
from snapfs.create import CreateOptions, create
from snapfs.progress import RecordingProgress
from snapfs.repository.rebuild import rebuild_catalog
from tests.damage.damaging import DAMAGES
from tests.verify.repositories import Store, Tables


@pytest.fixture
def store(workspace: Path) -> Store:
    """Two snapshots with a pack each; all but one file of the first are in the tree still."""
    made = Store(workspace)
    rng = random.Random(52)
    for number in range(4):
        (made.tree() / f"small{number}").write_bytes(rng.randbytes(20_000))
    (made.tree() / "large").write_bytes(rng.randbytes(3_000_000))
    made.take("s0")
    (made.tree() / "more").write_bytes(rng.randbytes(20_000))
    made.take("s1")
    return made


def pack(store: Store, number: int = 0) -> Path:
    name: str = sorted(store.tables()["PACK"])[number][1]
    return store.path / "packs" / name


def rebuild(store: Store) -> None:
    store.lose_catalog()
    result = rebuild_catalog(store.key, lock_wait_s=0, progress=RecordingProgress())
    assert result.problems == 0


def ids(tables: Tables) -> list[tuple[int, bytes, int]]:
    return [(row[0], row[1], row[4]) for row in tables["BLOCK"]]


def stop_at(patch: pytest.MonkeyPatch, point: str) -> None:
    def reached(name: str) -> None:
        if name == point:
            raise KeyboardInterrupt

    patch.setattr(faults, "point", reached)


@pytest.mark.parametrize("workers", [False, True])
@pytest.mark.parametrize("how", DAMAGES)
def test_checksum_heals(
    how: str, workers: bool, never_young: None, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    if workers:
        monkeypatch.setattr(capture_store, "INLINE_FILES", 0)
    before = store.tables()
    DAMAGES[how](pack(store), 0.4)
    assert store.verify().damaged
    store.take("healing", checksum=True)
    assert store.verify().damaged == ()
    after = store.tables()
    assert ids(after) == ids(before), "blocks keep their ids"
    assert after["INODE_DIFF"] == before["INODE_DIFF"]
    rebuild(store)
    assert store.tables() == after
    packs = store.packs()
    store.take("again", checksum=True)
    assert store.packs() == packs, "what is whole is not stored again"


def test_rebuild_without_the_old_pack(store: Store) -> None:
    """The record of the healing names the block again: what the first record said is gone with its pack."""
    pack(store).unlink()
    store.take("healing", checksum=True)
    after = store.tables()
    views = store.views()
    assert all(row[1] is not None for row in after["BLOCK"])
    rebuild(store)
    assert store.tables() == after
    assert store.views() == views


@pytest.mark.parametrize("how", ["remove", "truncate"])
def test_plain_create_heals_what_it_reads(how: str, store: Store) -> None:
    """A pack that is missing or has another size is noticed by any create, flipped bits are not."""
    store.edit("UPDATE inode SET state = 0")  # too young to be trusted, they would all be read
    DAMAGES[how](pack(store), 0.01)
    os.utime(store.tree() / "small0", (1, 1))
    os.utime(store.tree() / "large", (1, 1))
    store.take("plain")
    assert [file.path for file in store.verify().damaged] == [b"small1", b"small2", b"small3"]


def test_unchanged_and_skipped(store: Store) -> None:
    """--skip-if-unchanged takes no snapshot, and heals all the same."""
    pack(store).unlink()
    with store.open() as repository:
        (root,) = repository.roots()
        options = CreateOptions(checksum=True, skip_if_unchanged=True)
        assert create(repository, root, options, progress=RecordingProgress()).snapshot is None
    assert store.verify().damaged == ()
    after = store.tables()
    assert len(after["SNAPSHOT"]) == 2
    rebuild(store)
    assert store.tables() == after


@pytest.mark.parametrize("point", ["create.packs-durable", "create.journal-durable"])
def test_killed_while_healing(point: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next run takes the packs in, or finishes the record."""
    pack(store).unlink()
    with monkeypatch.context() as patch:
        stop_at(patch, point)
        with pytest.raises(KeyboardInterrupt):
            store.take("killed", checksum=True)
    store.take("next")
    assert store.verify().damaged == ()
    after = store.tables()
    rebuild(store)
    assert store.tables() == after


def test_adopted_pack_moves_nothing_that_is_whole(store: Store) -> None:
    before = store.tables()
    # As if a killed run had stored the same once more.
    twin = store.path / "packs" / ("0" * 32)
    shutil.copyfile(pack(store), twin)
    store.take("next")
    after = store.tables()
    assert after["BLOCK"] == before["BLOCK"]
    assert len(after["PACK"]) == 3
    rebuild(store)
    assert store.tables() == after


def test_collect(store: Store) -> None:
    """A pack without any block goes with the run that left none; one that the catalog does not know stays."""
    broken = pack(store)
    DAMAGES["flip"](broken, 0.4)
    DAMAGES["truncate"](broken, 0.9)
    store.take("healing", checksum=True)
    unknown = store.path / "packs" / ("0" * 32)
    shutil.copyfile(pack(store, 1), unknown)
    assert not broken.exists()
    store.delete("s1")
    assert unknown.exists()
    unknown.unlink()
    store.clean()
    after = store.tables()
    assert len(after["PACK"]) == 2
    rebuild(store)
    assert store.tables() == after
