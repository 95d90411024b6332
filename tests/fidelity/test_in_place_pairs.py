"""Case 37: restore one state over any other, every ordered pair of every case that changes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness.program import Program
from tests.harness.require import need_root
from tests.harness.trees import CHANGING, STEPS, assert_same, build, mutate, survey


def circuit(states: int) -> Iterator[int]:
    """A walk through the complete directed graph that takes every edge once, from 0 to 0."""
    unused = {here: [there for there in range(states) if there != here] for here in range(states)}
    stack, walk = [0], []
    while stack:
        if unused[stack[-1]]:
            stack.append(unused[stack[-1]].pop())
        else:
            walk.append(stack.pop())
    return reversed(walk)


def test_circuit_takes_every_pair() -> None:
    walk = list(circuit(6))
    assert len(set(itertools.pairwise(walk))) == len(walk) - 1 == 30


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs"])
def test_case_37_restore_one_state_over_any_other(
    kind: str, snapfs: Program, filesystem: Callable[[str], Path]
) -> None:
    need_root()
    tree = build(filesystem(kind) / "tree", *CHANGING)
    states = []
    for step in (0, *STEPS):
        if step:
            mutate(tree, step)
        states.append(survey(tree))
        snapfs.create(tree, f"s{step}")
    snapfs.restore_in_place("s0", "--delete", cwd=tree)
    assert_same(states[0], survey(tree))
    walk = list(circuit(len(states)))
    for here, there in itertools.pairwise(walk):
        snapfs.restore_in_place(f"s{there}", "--delete", cwd=tree)
        try:
            assert_same(states[there], survey(tree))
        except AssertionError as error:
            raise AssertionError(f"s{there} over s{here}: {error}") from None
    assert snapfs("diff", "s0", ".", cwd=tree).out == b""
