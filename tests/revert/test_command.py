"""How `revert` is asked, and what it answers when it cannot do it."""

from __future__ import annotations

import fcntl
import shlex
import shutil
import signal
from pathlib import Path

import pytest

from tests.harness.inprocess import InProcess
from tests.harness.program import Program


@pytest.fixture
def two(run: InProcess, tree: Path) -> InProcess:
    """Snapshots one and two of a tree with one edit between, and one more since."""
    for name in ("a", "b"):
        (tree / name).write_text("one")
    run("create", tree, "--name", "one")
    for name in ("a", "b"):
        (tree / name).write_text("two")
    run("create", tree, "--name", "two")
    (tree / "b").write_text("three")
    return run


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["two"],
            "`snapfs revert tree@two~1..two` undoes what it changed, `snapfs restore tree@two",
        ),
        (["one"], "`snapfs restore tree@one --in-place --delete` goes back to it"),
        (["one..."], "`snapfs restore tree@one --in-place --delete` does"),
        (["...two"], "nothing happened since the directory as it is now"),
        (["one.."], "half a range"),
        (["what"], "write A..B"),
        (["one..two"], "add --yes"),
        (["one..two", "--json"], "add --yes"),
    ],
)
def test_refused(two: InProcess, tree: Path, words: list[str], said: str) -> None:
    errors = two("revert", *words, cwd=tree, ok=(2,)).errors
    assert said in errors.replace(f"-r {two.repository} ", "")
    assert (tree / "a").read_text() == "two"


def test_roots_that_are_not_there(two: InProcess, tree: Path) -> None:
    assert "nothing to do" in two("revert", "one..one", "--yes", cwd=tree).errors
    shutil.rmtree(tree)
    gone = two("revert", "tree@one..two", "--yes", ok=(1,))
    assert "cannot be opened" in gone.errors
    tree.mkdir()
    two("roots", "move", "tree", tree, "--host", "elsewhere")
    assert "of another host" in two("revert", "tree@one..two", "--yes", ok=(2,)).errors


def test_only_one_at_a_time(two: InProcess, tree: Path) -> None:
    with (two.repository / "locks" / "restore-1").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = two("revert", "one..two", "--yes", cwd=tree, ok=(11,))
        assert "another snapfs is at work on root tree" in done.errors
        two("revert", "one..two", "--dry-run", cwd=tree, ok=(5,))
    assert (tree / "a").read_text() == "two"


def test_json(two: InProcess, tree: Path) -> None:
    step, left, plan = two("revert", "one..two", "-n", "--json", cwd=tree, ok=(5,)).json_lines()
    assert step == {
        "schema": "revert-step/1", "letter": "M", "path": "a", "what": ["content", "mtime"],
    }  # fmt: skip
    assert left == {
        "schema": "revert-conflict/1", "letter": "C", "path": "b", "why": "changed",
        "reason": "content,mtime changed since two",
    }  # fmt: skip
    assert (plan["schema"], plan["first"], plan["last"]) == (
        "revert-plan/1",
        "tree@one",
        "tree@two",
    )
    assert (plan["create"], plan["overwrite"], plan["conflicts"], plan["dry_run"]) == (
        0,
        1,
        1,
        True,
    )
    again, result = two("revert", "one..two", "--yes", "--json", cwd=tree, ok=(5,)).json_lines()
    assert again == left
    assert (result["schema"], result["applied"], result["overwritten"]) == ("revert/1", True, 1)
    assert result["safety"]["tags"] == ["safety"]
    assert result["safety"]["message"] == "before revert of one..two"
    assert result["undo"].endswith("--in-place --delete")


def test_a_run_is_written_down(two: InProcess, tree: Path) -> None:
    two("revert", "one..two", "--yes", cwd=tree, ok=(5,))
    two("revert", "one..two", "--yes", cwd=tree, ok=(5,))  # changes nothing
    runs = [line for line in two("runs", "--json").json_lines() if "revert" in line["command"]]
    assert [(line["exit"], line["summary"]) for line in runs] == [
        (5, "one..two: 0 created, 1 overwritten, 0 deleted, 1 in conflict")
    ]


def test_a_path_from_the_root(two: InProcess, tree: Path) -> None:
    two("revert", "tree@one..two", ":a", "--yes", cwd=tree.parent)
    assert (tree / "a").read_text() == "one"
    assert (tree / "b").read_text() == "three"


def test_the_same_again_after_a_killed_run_is_not_another(snapfs: Program, tree: Path) -> None:
    """`latest` is the safety snapshot then: what changed up to it are later edits."""
    for name in ("x", "y"):
        (tree / name).write_text("one")
    snapfs.create(tree, "one")
    (tree / "x").write_text("two")
    snapfs.create(tree, "two")
    (tree / "y").write_text("later")
    words = ("revert", "latest~1..latest", "--yes")
    killed = snapfs(
        *words, cwd=tree, env={"SNAPFS_CRASH_AT": "kill@revert.planned"}, ok=(-signal.SIGKILL,)
    )
    goes_on = next(line for line in killed.errors.splitlines() if "or to go on: " in line)
    refused = snapfs(*words, cwd=tree, ok=(2,))
    assert "the safety snapshot of before revert of one..two" in refused.errors
    assert "revert tree@one..two` goes on with that" in refused.errors
    assert (tree / "y").read_text() == "later"
    again = shlex.split(goes_on.partition("go on: ")[2])
    snapfs(*again[again.index("revert") :], "--yes", cwd=tree)
    assert ((tree / "x").read_text(), (tree / "y").read_text()) == ("one", "later")
    snapfs(
        "revert",
        f"two..{snapfs('list', '--json', cwd=tree).json_lines()[2]['name']}",
        "-n",
        cwd=tree,
    )
