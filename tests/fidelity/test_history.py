"""torture.py's whole tree through five changes: every snapshot comes back as its source was."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.program import Program
from tests.harness.require import need_root
from tests.harness.trees import STEPS, State, assert_same, build, mutate, survey, unlock_and_remove
from tests.harness.user import User

FILESYSTEMS = ("ext4", "ext4-128", "xfs", "btrfs", "tmpfs")


def take_history(snapfs: Program, tree: Path, **more: bool) -> list[State]:
    """Snapshots s0..s5 of a tree that changes; the state of each."""
    states = []
    for step in (0, *STEPS):
        if step:
            mutate(tree, step)
        states.append(survey(tree))
        snapfs.create(tree, f"s{step}", **more)
    return states


@pytest.mark.parametrize("kind", FILESYSTEMS)
def test_every_snapshot_comes_back(
    kind: str, snapfs: Program, filesystem: Callable[[str], Path]
) -> None:
    """As root, on each filesystem, into an empty directory: no difference at all."""
    place = filesystem(kind)
    tree = build(place / "tree", scale=1.0 if kind == "ext4" else 0.02)
    states = take_history(snapfs, tree)
    for step, state in enumerate(states):
        target = place / "target"
        snapfs.restore(f"s{step}", target)
        restored = survey(target)
        assert_same(state, restored)
        # Holes are holes again: filesystems allocate a little differently from one write to the next.
        assert restored.allocated <= state.allocated * 1.05 + (1 << 20)
        unlock_and_remove(target)
    snapfs.verify()


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs"])
def test_in_place_from_any_snapshot_to_any_other(
    kind: str, snapfs: Program, filesystem: Callable[[str], Path]
) -> None:
    """The whole tree, back and forth between states, deleting what is not wanted."""
    need_root()
    place = filesystem(kind)
    tree = build(place / "tree", scale=0.01)
    states = take_history(snapfs, tree)
    for step in (0, 5, 2, 4, 1, 3, 5):
        snapfs.restore_in_place(f"s{step}", "--delete", cwd=tree)
        assert_same(states[step], survey(tree))
    diff = snapfs("diff", "s5", ".", cwd=tree)
    assert diff.out == b"", str(diff)


def unreadable(state: State, user: User) -> set[bytes]:
    """Entries whose content or children this user, owning all of them, may not read."""
    found = set()
    for path, fact in state.facts.items():
        needed = {"file": 0o400, "dir": 0o500}.get(fact["type"], 0)
        if fact.get("mode", 0) & needed != needed:
            found.add(path)
    return found


def test_ordinary_user(as_user: Program, user: User) -> None:
    """Within what the user may do: what is unreadable is named and left out, all else comes back."""
    tree = as_user.home.parent / "own-tree"
    tree.mkdir()
    os.chown(tree, user.uid, user.gid)
    build(tree, scale=0.02, user=user)
    states: list[State] = []
    for step in (0, *STEPS):
        if step:
            mutate(tree, step, user=user)
        states.append(survey(tree))
        taken = as_user.create(tree, f"s{step}", "--verbose", ok=(3,))
        assert "f0000" in taken.errors, str(taken)
    for step, state in enumerate(states):
        target = as_user.home.parent / f"target-{step}"
        as_user.restore(f"s{step}", target, ok=(3,))
        hidden = unreadable(state, user)
        assert_same(state.without(hidden), survey(target).without(hidden))
    as_user.verify()
