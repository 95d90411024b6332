"""Repositories made by the operations themselves, with random histories, and all that their catalogs say."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from snapfs.catalog import compiled as sql
from snapfs.catalog import view
from snapfs.catalog.places import places
from snapfs.catalog.streams import each_child
from snapfs.create import CreateOptions, create
from snapfs.delete import DeleteOptions, delete, remove_root
from snapfs.model.snapshot import NewRoot, Snapshot
from snapfs.progress import RecordingProgress
from snapfs.repository.dump import DUMPED
from snapfs.repository.edits import (
    move_root,
    pin_snapshots,
    rename_root,
    rename_snapshot,
    tag_snapshot,
)
from snapfs.repository.make import make_repository
from snapfs.repository.opened import Repository, repository_at
from snapfs.tree.state import walk
from snapfs.verify import VerifyOptions, VerifyResult, verify
from tests.harness.loosely import loosely

COMMAND = (b"snapfs", b"test")
Tables = dict[str, list[tuple[Any, ...]]]


@dataclass
class Store:
    """A repository and the trees it has snapshots of."""

    base: Path
    path: Path = field(init=False)

    def __post_init__(self) -> None:
        self.path = self.base / "repository"

    @property
    def key(self) -> bytes:
        return os.fsencode(self.path)

    def open(self, *, write: bool = True) -> Repository:
        if write and not repository_at(self.key):
            return make_repository(self.key, lock_wait_s=0, command_line=COMMAND)
        return Repository(self.key, write=write, lock_wait_s=0, command_line=COMMAND)

    def tree(self, name: str = "tree") -> Path:
        path = self.base / name
        path.mkdir(exist_ok=True)
        return path

    def take(self, name: str, tree: Path | None = None, **options: Any) -> Snapshot:
        """A snapshot of a tree without problems."""
        path = os.fsencode(tree or self.tree())
        with self.open() as repository:
            known = {root.path: root for root in repository.roots()}
            root = known.get(path) or NewRoot(path, "host")
            progress = RecordingProgress()
            result = create(
                repository, root, CreateOptions(name=name, **options), progress=progress
            )
            assert not progress.problems
        assert result.snapshot is not None
        return result.snapshot

    def delete(self, *names: str) -> None:
        with self.open() as repository:
            chosen = [snapshot for snapshot in self.snapshots(repository) if snapshot.name in names]
            assert len(chosen) == len(names)
            delete(repository, chosen, DeleteOptions(), progress=RecordingProgress())

    @staticmethod
    def snapshots(repository: Repository) -> list[Snapshot]:
        return [one for root in repository.roots() for one in repository.snapshots(root.id)]

    def verify(self, *, data: bool = True, sample: float | None = None) -> VerifyResult:
        """What verify finds; its notes are in ``notes``."""
        progress = RecordingProgress()
        with self.open(write=False) as repository:
            result = verify(
                repository,
                VerifyOptions(data=data and sample is None, sample=sample),
                progress=progress,
            )
        self.notes = progress.notes
        return result

    def clean(self) -> None:
        """Nothing is wrong and nothing is unusual."""
        result = self.verify()
        assert result.findings == ()
        assert result.damaged == ()
        assert result.problems == 0
        assert self.notes == []

    def tables(self) -> Tables:
        """Every row of the catalog but those about runs."""
        with self.open(write=False) as repository:
            found = {
                table: repository.catalog.execute(getattr(sql, f"DUMP_{table}")).fetchall()
                for table in (*DUMPED, "COUNTER", "META")
                if table != "RUN"
            }
        found["COUNTER"] = [row for row in found["COUNTER"] if row[0] != "run"]
        return found

    def views(self) -> dict[str, list[Any]]:
        """What a restore would reproduce of each snapshot: every path with its values and blocks."""
        found: dict[str, list[Any]] = {}
        with self.open(write=False) as repository, repository.catalog.read() as catalog:
            for root in repository.roots():
                row = catalog.one(sql.ROOT_INODE, {"root": root.id})
                for snapshot in repository.snapshots(root.id):
                    top = view.inode(catalog, row[0], snapshot.id)
                    assert top is not None
                    entries = [
                        (b"", top),
                        *walk(partial(each_child, catalog, at=snapshot.id), top.inode, b""),
                    ]
                    found[snapshot.name] = [
                        (path, entry[1:13], list(places(catalog, entry.content)))
                        for path, entry in entries
                    ]
        return found

    def packs(self) -> set[str]:
        return set(os.listdir(self.path / "packs"))

    def edit(self, statement: str, *params: object) -> None:
        """Change the catalog behind everybody's back; some row must be meant."""
        with loosely(self.path / "catalog.db", "inode") as database:
            assert database.execute(statement, params).rowcount > 0, statement

    def lose_catalog(self) -> None:
        for name in ("catalog.db", "catalog.db-wal", "catalog.db-shm"):
            (self.path / name).unlink(missing_ok=True)


def mutate(tree: Path, rng: random.Random) -> None:
    """A few random changes: files, sparse files, links, directories, moves, removals, modes."""
    folders = [tree]
    files: list[Path] = []
    for path in sorted(tree.rglob("*")):
        (folders if path.is_dir() and not path.is_symlink() else files).append(path)
    for _ in range(rng.randrange(1, 9)):
        folder = rng.choice(folders)
        if not folder.is_dir():
            continue
        name = folder / f"{rng.choice('abc')}{rng.randrange(25)}"
        victim = rng.choice(files) if files else name
        moving = rng.choice(folders)
        match rng.randrange(10):
            case 0 | 1 | 2 if not name.exists() or name.is_file():
                name.write_bytes(rng.randbytes(rng.choice((0, 7, 3000, 70_000))))
            case 3 if not os.path.lexists(name):
                name.mkdir()
                folders.append(name)
            case 4:
                victim.unlink(missing_ok=True)
            case 5 if moving != tree and moving not in (folder, *folder.parents):
                if moving.is_dir() and not os.path.lexists(name):
                    moving.rename(name)
            case 6 if os.path.lexists(victim) and not os.path.lexists(name):
                os.link(victim, name, follow_symlinks=False)
            case 7 if not os.path.lexists(name):
                name.symlink_to("x" * rng.randrange(1, 9))
            case 8 if moving != tree and moving.is_dir() and rng.random() < 0.4:
                shutil.rmtree(moving)
            case 9 if not name.is_dir():
                with name.open("wb") as file:
                    file.write(rng.randbytes(300_000))
                    file.seek(2_000_000)
                    file.write(rng.randbytes(400_000))
                name.chmod(rng.choice((0o644, 0o600)))


def random_history(store: Store, rng: random.Random, steps: int) -> None:
    """Creates of two roots, deletes of any sets, renames, tags, pins, roots that move and go."""
    trees = [store.tree("one"), store.tree("two")]
    for step in range(steps):
        for tree in trees:
            mutate(tree, rng)
        tags = ("x",) if rng.random() < 0.3 else ()
        store.take(f"n{step}", rng.choice(trees), tags=tags, message=f"step {step}")
        with store.open() as repository:
            snapshots = store.snapshots(repository)
            some = rng.choice(snapshots)
            root = rng.choice(repository.roots())
            match rng.randrange(10):
                case 0 | 1 | 2 | 3:
                    chosen = rng.sample(snapshots, min(len(snapshots), rng.randrange(1, 4)))
                    loose = [one for one in chosen if not one.pinned]
                    delete(repository, loose, DeleteOptions(), progress=RecordingProgress())
                case 4:
                    rename_snapshot(repository, some, name=f"r{step}", message="m\u00e9")
                case 5:
                    tag_snapshot(repository, some, add=(f"t{step}",), remove=("x",))
                case 6:
                    pin_snapshots(repository, (some,), pinned=rng.random() < 0.5)
                case 7:
                    rename_root(repository, root, f"label-{step}")
                case 8:
                    moved = move_root(repository, root, b"/elsewhere", "other")
                    move_root(repository, moved, root.path or b"", "host")
                case 9 if step > 3 and not any(one.pinned for one in repository.snapshots(root.id)):
                    remove_root(
                        repository, root, options=DeleteOptions(), progress=RecordingProgress()
                    )
