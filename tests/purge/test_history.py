"""After a purge every snapshot is as if it had been taken without the path, whatever is deleted later."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from snapfs.progress import RecordingProgress
from snapfs.purge import PurgeOptions, PurgeResult, purge
from snapfs.repository.rebuild import rebuild_catalog
from tests.verify.repositories import Store

Views = dict[str, list[Any]]


def views(store: Store) -> Views:
    """Every entry of each snapshot and its bytes, wherever these lie."""
    return {
        name: [
            (path, values, [(place.kind, place.length, place.digest) for place in content])
            for path, values, content in entries
        ]
        for name, entries in store.views().items()
    }


def without(entries: list[Any], paths: Sequence[bytes]) -> list[Any]:
    below = tuple(path + b"/" for path in paths)
    return [one for one in entries if one[0] not in paths and not one[0].startswith(below)]


def purged(store: Store, *paths: bytes) -> PurgeResult:
    with store.open() as repository:
        root = next(one for one in repository.roots() if one.path == os.fsencode(store.tree()))
        progress = RecordingProgress()
        return purge(repository, root, paths, PurgeOptions(), progress=progress)


def check(store: Store, wanted: Views) -> None:
    """All views, the counts of all snapshots, and every digest."""
    found = views(store)
    assert found == wanted
    store.clean()
    with store.open(write=False) as repository:
        for snapshot in store.snapshots(repository):
            inodes = {values[0]: values for _, values, _ in found[snapshot.name]}
            kinds = [values[1] for _, values, _ in found[snapshot.name]]
            counts = kinds.count(1), kinds.count(2), len(kinds)
            assert counts == (snapshot.files, snapshot.dirs, sum(counts[:2]) + snapshot.others)
            size = sum(values[7] for values in inodes.values() if values[1] == 1)
            assert size == snapshot.total_bytes


@pytest.mark.parametrize(
    "deleted",
    [(), ("s5",), ("s6", "s5"), ("s3", "s4"), ("s2", "s5"), ("s1", "s2"), ("s4", "s6", "s1")],
)
def test_a_directory_that_is_away_for_a_while(workspace: Path, deleted: Sequence[str]) -> None:
    """It had the path between two others, with all in it, with a file that stayed and one that came."""
    store = Store(workspace)
    tree = store.tree()
    (tree / "before" / "sub").mkdir(parents=True)
    for name in ("before/always", "before/sub/deep", "stays"):
        (tree / name).write_bytes(name.encode())
    os.link(tree / "before" / "always", tree / "link")
    store.take("s1")
    (tree / "before" / "until").write_bytes(b"until")
    store.take("s2")
    (tree / "before").rename(tree / "away")
    (tree / "away" / "until").unlink()
    (tree / "away" / "between").write_bytes(b"between")
    store.take("s3")
    (tree / "away" / "sub" / "deep").write_bytes(b"changed")
    (tree / "away" / "between").rename(tree / "saved")
    store.take("s4")
    (tree / "away").rename(tree / "after")
    (tree / "after" / "new").write_bytes(b"new")
    store.take("s5")
    (tree / "after" / "sub").rename(tree / "sub")
    store.take("s6")
    before = views(store)
    result = purged(store, b"away")
    assert result.snapshots == ("s3", "s4")
    assert {alias.path for alias in result.also_known} == {
        b"before",
        b"after",
        b"link",
        b"saved",
        b"sub",
    }
    wanted = {name: without(entries, [b"away"]) for name, entries in before.items()}
    check(store, wanted)
    for name in deleted:
        store.delete(name)
        del wanted[name]
        check(store, wanted)
    store.take("s7")
    check(store, {**wanted, "s7": views(store)["s7"]})
    store.delete(*wanted)
    check(store, {"s7": views(store)["s7"]})


def mutate(tree: Path, rng: random.Random) -> None:
    """A few changes among three names: most of them are renames, also of directories into others."""
    for _ in range(rng.randrange(1, 5)):
        folders = [tree, *sorted(path for path in tree.rglob("*") if path.is_dir())]
        files = sorted(path for path in tree.rglob("*") if not path.is_dir())
        folder, moving = rng.choice(folders), rng.choice([*folders, *files])
        name = folder / rng.choice("abc")
        free = not name.exists()
        match rng.randrange(9):
            case 0 | 1 if free:
                name.mkdir()
            case 2 | 3 if not name.is_dir():
                name.write_bytes(rng.randbytes(rng.choice((0, 5, 300))))
            case 4 | 5 | 6 if free and moving != tree and moving not in (folder, *folder.parents):
                moving.rename(name)
            case 7 if free and files:
                os.link(rng.choice(files), name)
            case 8 if moving != tree and rng.random() < 0.5:
                shutil.rmtree(moving) if moving.is_dir() else moving.unlink()


@pytest.mark.parametrize("seed", range(4))
def test_random_histories(workspace: Path, seed: int) -> None:
    rng = random.Random(seed)
    store = Store(workspace)
    tree = store.tree()
    for step in range(12):
        mutate(tree, rng)
        store.take(f"n{step}")
    wanted = views(store)
    for turn in range(3):
        paths = sorted({path for entries in wanted.values() for path, *_ in entries if path})
        if not paths:
            break
        chosen = rng.sample(paths, min(len(paths), rng.choice((1, 2))))
        result = purged(store, *chosen)
        left = {name: without(entries, chosen) for name, entries in wanted.items()}
        assert result.snapshots == tuple(name for name in wanted if left[name] != wanted[name])
        wanted = left
        check(store, wanted)
        tables = store.tables()
        store.lose_catalog()
        rebuild_catalog(store.key, lock_wait_s=0, progress=RecordingProgress())
        again = store.tables()
        differ = {name for name in tables if tables[name] != again[name]}
        assert differ <= {"META", "COUNTER"}
        victim = rng.choice(list(wanted))
        store.delete(victim)
        del wanted[victim]
        mutate(tree, rng)
        store.take(f"m{turn}")
        wanted[f"m{turn}"] = views(store)[f"m{turn}"]
        check(store, wanted)
    store.delete(*wanted)
    with store.open(write=False) as repository:
        for table in ("inode", "inode_diff", "dirent", "dirent_diff", "block", "pack"):
            assert repository.catalog.execute(f"SELECT * FROM {table}").fetchall() == [], table
