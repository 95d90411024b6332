"""The naive model's own judgement: a right diff passes, a wrong one does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.harness.trees import State, survey
from tests.property.naive import check_diff

Told = list[tuple[str, bytes, bytes | None, frozenset[str]]]

RIGHT: Told = [
    ("+", b"new", None, frozenset()),
    ("-", b"gone", None, frozenset()),
    ("M", b"", None, frozenset({"mtime"})),
    ("M", b"changed", None, frozenset({"content", "mtime"})),
    ("R", b"moved", b"dir", frozenset()),
    ("M", b"moved/x", None, frozenset({"mode"})),
]


@pytest.fixture
def states(tree: Path) -> tuple[State, State]:
    for name in ("gone", "changed", "same"):
        (tree / name).write_bytes(name.encode())
    (tree / "dir").mkdir()
    (tree / "dir" / "x").write_bytes(b"x")
    before = survey(tree)
    (tree / "gone").unlink()
    (tree / "changed").write_bytes(b"other")
    os.utime(tree / "changed", ns=(5, 5))
    (tree / "new").write_bytes(b"new")
    (tree / "dir").rename(tree / "moved")
    (tree / "moved" / "x").chmod(0o700)
    os.utime(tree, ns=(5, 5))
    return before, survey(tree)


def test_a_right_diff_passes(states: tuple[State, State]) -> None:
    check_diff(RIGHT, *states)


@pytest.mark.parametrize("left_out", range(len(RIGHT)))
def test_a_missing_line_is_found(left_out: int, states: tuple[State, State]) -> None:
    with pytest.raises(AssertionError):
        check_diff(RIGHT[:left_out] + RIGHT[left_out + 1 :], *states)


@pytest.mark.parametrize(
    "line",
    [
        ("M", b"same", None, frozenset({"content"})),
        ("-", b"same", None, frozenset()),
        ("+", b"same", None, frozenset()),
        ("R", b"new", b"gone", frozenset()),
        ("-", b"dir/x", None, frozenset()),
        ("+", b"nowhere", None, frozenset()),
    ],
)
def test_a_line_too_many_is_found(
    line: tuple[str, bytes, bytes | None, frozenset[str]], states: tuple[State, State]
) -> None:
    with pytest.raises(AssertionError):
        check_diff([*RIGHT, line], *states)
