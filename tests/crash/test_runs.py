"""The record of commands that changed something: also of those that were killed, on every root, with the outcome."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.harness.history import History
from tests.harness.inprocess import InProcess


def told(snapfs: InProcess, *words: str) -> list[dict[str, Any]]:
    return snapfs("runs", "--json", *words).json_lines()


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ("create.walked", ("create", "--name", "killed")),
        ("restore.planned", ("restore", "s0", "--in-place", "--yes")),
        ("delete.journal-durable", ("delete", "s1", "--yes")),
    ],
)
def test_a_killed_command_is_on_record(point: str, words: tuple[str, ...], past: History) -> None:
    past.change()
    before = len(told(past.referee))
    done = past.snapfs(*words, env={"SNAPFS_CRASH_AT": point}, cwd=past.tree, ok=None)
    assert done.code == -signal.SIGKILL
    (run,) = told(past.referee)[before:]
    assert words[0] in run["command"]
    assert (run["root"], run["exit"], run["finished"]) == ("tree", None, None)
    assert [one["id"] for one in told(past.referee, "--failed")] == [run["id"]]
    shown = past.referee("runs", "tree").text.splitlines()[-1]
    assert "was killed, or is at work still" in shown
    # The next one does not take its place.
    past.take("next")
    assert [one["exit"] for one in told(past.referee)[before:]] == [None, 0]


def test_a_command_on_several_roots_is_among_the_runs_of_each(
    run: InProcess, tree: Path, workspace: Path
) -> None:
    other = workspace / "other"
    other.mkdir()
    run("create", tree, other, "--name", "one")
    before = len(told(run))
    both = ("tree@one", "other@one")
    run("pin", *both)
    run("unpin", *both)
    run("delete", *both, "--yes")
    for label in ("tree", "other"):
        words = [one["command"].split()[2] for one in told(run, label)]
        assert words[-3:] == ["pin", "unpin", "delete"]
    assert [one["root"] for one in told(run)[before:]] == ["tree", "other"] * 3


def test_what_came_of_an_edit(run: InProcess, tree: Path, workspace: Path) -> None:
    run("create", tree, "--name", "one", "--tag", "a")
    run("create", tree, "--name", "two")
    before = len(told(run))
    run("rename", "one", "first", "-m", "text", cwd=tree)
    run("tag", "first", "b", "c", cwd=tree)
    run("untag", "first", "a", cwd=tree)
    run("pin", "first", "two", cwd=tree)
    run("roots", "rename", "tree", "wood")
    moved = workspace / "moved"
    tree.rename(moved)
    run("roots", "move", "wood", moved)
    assert [one["summary"] for one in told(run)[before:]] == [
        "one: is now first, has another message",
        "first: +b, +c",
        "first: -a",
        "first: pinned; two: pinned",
        f"is now wood at {tree}",
        f"is now wood at {moved}",
    ]
    # What changes nothing is no run.
    run("pin", "first", cwd=moved)
    run("untag", "first", "nothere", cwd=moved)
    assert len(told(run)) == before + 6
