"""Digests computed anew after rows were changed by hand: `verify`, which computes all, finds nothing."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from snapfs.catalog.database import Catalog
from snapfs.repository.redigest import redigest, split
from tests.verify.repositories import Store, random_history

ODD_MTIME = 77


@pytest.fixture
def store(workspace: Path) -> Store:
    return Store(workspace)


@contextmanager
def writing(store: Store) -> Iterator[Catalog]:
    with store.open() as repository, repository.catalog.write() as catalog:
        yield catalog


def parents(catalog: Catalog, inodes: Iterable[int]) -> list[int]:
    """Directories that ever named them."""
    found: set[int] = set()
    for inode in inodes:
        for table in ("dirent", "dirent_diff"):
            query = f"SELECT parent_id FROM {table} WHERE inode_id = ?"
            found.update(parent for (parent,) in catalog.execute(query, (inode,)))
    return sorted(found)


def swapped(store: Store) -> None:
    """Directories that are above one another in turns, and one that is renamed with all in it."""
    tree = store.tree()
    (tree / "a" / "b" / "deep").mkdir(parents=True)
    (tree / "a" / "b" / "deep" / "file").write_bytes(b"always the same")
    (tree / "a" / "own").write_bytes(b"of a")
    store.take("s1")
    (tree / "a" / "b").rename(tree / "b")
    (tree / "a").rename(tree / "b" / "a")
    store.take("s2")
    (tree / "b" / "deep").rename(tree / "b" / "a" / "renamed")
    store.take("s3")
    (tree / "b").rename(tree / "c")
    store.take("s4")
    (tree / "c" / "a").rename(tree / "swap")
    (tree / "c").rename(tree / "swap" / "c")
    (tree / "swap").rename(tree / "a")
    store.take("s5")
    store.take("s6")


@pytest.mark.parametrize("deleted", [(), ("s2",), ("s1", "s4"), ("s6", "s5", "s3")])
def test_one_name_of_one_state(store: Store, deleted: tuple[str, ...]) -> None:
    """A name that goes from every old snapshot alone: directories above get rows they did not need."""
    swapped(store)
    if deleted:
        store.delete(*deleted)
    with store.open() as repository:
        chain = [one.id for one in store.snapshots(repository)]
    for at in chain[:-1]:
        with writing(store) as catalog:
            (parent,) = catalog.one(
                "SELECT parent_id FROM dirent WHERE name = CAST('file' AS BLOB)"
            )
            for edge in chain[max(0, chain.index(at) - 1) : chain.index(at) + 1]:
                split(catalog, parent, edge)
                catalog.execute(
                    "INSERT INTO dirent_diff SELECT parent_id, name, ?, inode_id FROM dirent"
                    " WHERE name = CAST('file' AS BLOB) ON CONFLICT DO NOTHING",
                    (edge,),
                )
            catalog.execute(
                "UPDATE dirent_diff SET inode_id = NULL WHERE parent_id = ? AND snapshot_id = ?"
                " AND name = CAST('file' AS BLOB)",
                (parent, at),
            )
        assert store.verify().findings
        with writing(store) as catalog:
            redigest(catalog, [parent])
        store.clean()


@pytest.mark.parametrize("seed", range(4))
def test_any_rows(store: Store, seed: int) -> None:
    """Some rows of a random history, current and old, and of both roots."""
    rng = random.Random(seed)
    random_history(store, rng, 14)
    with writing(store) as catalog:
        current = catalog.execute("SELECT id FROM inode").fetchall()
        old = catalog.execute("SELECT inode_id, snapshot_id FROM inode_diff").fetchall()
        changed = set()
        for (inode,) in rng.sample(current, min(6, len(current))):
            catalog.execute("UPDATE inode SET mtime_nsec = ? WHERE id = ?", (ODD_MTIME, inode))
            changed.add(inode)
        for inode, at in rng.sample(old, min(12, len(old))):
            catalog.execute(
                "UPDATE inode_diff SET mtime_nsec = ? WHERE inode_id = ? AND snapshot_id = ?",
                (ODD_MTIME, inode, at),
            )
            changed.add(inode)
    assert store.verify(data=False).findings
    with writing(store) as catalog:
        roots = [row[0] for row in catalog.execute("SELECT inode_id FROM root")]
        redigest(catalog, [*parents(catalog, changed), *roots])
    store.clean()
    before = store.tables()
    with writing(store) as catalog:
        redigest(
            catalog, [row[0] for row in catalog.execute("SELECT id FROM inode WHERE kind = 2")]
        )
    assert store.tables() == before, "what agrees is left as it is"
