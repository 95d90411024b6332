"""A repository whose snapshots have packs of their own, so that damage has a known reach."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness.program import Program
from tests.harness.trees import State, assert_same, survey, unlock_and_remove


@dataclass(frozen=True)
class Stored:
    """``packs[i]`` is the pack that snapshot ``s{i}`` added; ``added[i]`` are the files whose bytes it holds."""

    snapfs: Program
    tree: Path
    scratch: Path
    states: tuple[State, ...]
    packs: tuple[Path, ...]
    added: tuple[tuple[str, ...], ...]

    def restore(self, number: int, ok: tuple[int, ...] = (0,)) -> tuple[State, str]:
        """The state that ``s{number}`` comes back in, and what was said on stderr."""
        target = self.scratch / "restored"
        done = self.snapfs.restore(f"s{number}", target, cwd=self.tree, ok=ok)
        state = survey(target)
        unlock_and_remove(target)
        return state, done.errors

    def check_all(self) -> None:
        """Every snapshot restores exactly."""
        for number, state in enumerate(self.states):
            assert_same(state, self.restore(number)[0])


@pytest.fixture(scope="session")
def _stored_once(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    base = tmp_path_factory.mktemp("damage")
    tree, home = base / "tree", base / "home"
    tree.mkdir()
    home.mkdir()
    snapfs = Program(repository=base / "repository", home=home)
    states, packs, added = [], [], []
    seen: set[Path] = set()
    for number in range(3):
        names = tuple(f"s{number}-f{index}" for index in range(5))
        for name in names:
            (tree / name).write_bytes(os.urandom(150_000))
        (tree / f"s{number}-empty").write_bytes(b"")
        states.append(survey(tree))
        snapfs.create(tree, f"s{number}")
        now = set((snapfs.repository / "packs").iterdir())
        (fresh,) = now - seen
        seen = now
        packs.append(fresh)
        added.append(names)
    return Stored(snapfs, tree, base, tuple(states), tuple(packs), tuple(added))


@pytest.fixture
def stored(_stored_once: Stored, workspace: Path) -> Stored:
    """A fresh copy of that repository: it holds no path of its own, so it can be copied."""
    copy = workspace / "repository"
    shutil.copytree(_stored_once.snapfs.repository, copy)
    copy.chmod(0o700)
    snapfs = Program(repository=copy, home=_stored_once.snapfs.home)
    return Stored(
        snapfs,
        _stored_once.tree,
        workspace,
        _stored_once.states,
        tuple(copy / "packs" / pack.name for pack in _stored_once.packs),
        _stored_once.added,
    )
