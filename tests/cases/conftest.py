"""Fixtures of the case tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.program import Program
from tests.harness.trees import State, assert_same, build, mutate, survey


@pytest.fixture
def round_trip(snapfs: Program, workspace: Path) -> Callable[..., Path]:
    """``round_trip(case)`` builds a case of torture.py, takes ``s0``, restores it elsewhere and compares.

    Returns the source; the restored tree is ``workspace / "restored"``.
    """

    def run(case: str, *, scale: float = 0.05) -> Path:
        source = build(workspace / "source", case, scale=scale)
        state = survey(source)
        snapfs.create(source, "s0")
        snapfs.restore("s0", workspace / "restored")
        assert_same(state, survey(workspace / "restored"))
        return source / case

    return run


@pytest.fixture
def history(snapfs: Program, workspace: Path) -> Callable[[str], list[State]]:
    """``history(case)`` takes s0..s5 of a changing case and restores and compares each afterwards.

    The source is ``workspace / "source" / case``; the states are those of its parent.
    """

    def run(case: str) -> list[State]:
        source = build(workspace / "source", case)
        states = []
        for step in range(6):
            if step:
                mutate(source, step)
            states.append(survey(source))
            snapfs.create(source, f"s{step}")
        for step, state in enumerate(states):
            restored = workspace / f"restored-{step}"
            snapfs.restore(f"s{step}", restored)
            assert_same(state, survey(restored))
        return states

    return run
