"""Fixtures of the tests of verify."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.verify.repositories import Store


@pytest.fixture
def store(workspace: Path) -> Store:
    """No repository yet."""
    return Store(workspace)


@pytest.fixture(scope="session")
def _history_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three snapshots, each with a pack of its own, that share, move, change and lose files.

    ``big`` is a file of many blocks, ``linked`` has two names, ``moved`` changes its directory,
    ``changed`` its bytes, ``gone`` is in the first only.
    """
    store = Store(tmp_path_factory.mktemp("history"))
    tree = store.tree()
    rng = random.Random(1)
    (tree / "a" / "deep").mkdir(parents=True)
    (tree / "a" / "deep" / "moved").write_bytes(rng.randbytes(50_000))
    (tree / "big").write_bytes(rng.randbytes(3_000_000))
    (tree / "linked").write_bytes(rng.randbytes(20_000))
    os.link(tree / "linked", tree / "a" / "linked-too")
    (tree / "changed").write_bytes(rng.randbytes(30_000))
    (tree / "gone").write_bytes(rng.randbytes(1_000))
    (tree / "link").symlink_to("target")
    os.setxattr(tree / "linked", "user.note", b"value")
    store.take("s0", tags=("first",))
    (tree / "a" / "deep").rename(tree / "b")
    (tree / "gone").unlink()
    (tree / "changed").write_bytes(rng.randbytes(30_001))
    store.take("s1")
    with (tree / "sparse").open("wb") as file:
        file.write(rng.randbytes(300_000))
        file.seek(1_000_000)
        file.write(rng.randbytes(10))
    (tree / "b" / "moved").chmod(0o600)
    store.take("s2")
    return store.base


@pytest.fixture
def history(_history_once: Path, workspace: Path) -> Iterator[Store]:
    """A fresh copy of that repository."""
    shutil.copytree(_history_once / "repository", workspace / "repository")
    yield Store(workspace)
