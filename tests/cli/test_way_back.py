"""The way back from a restore in place: exact, no wider than what was restored, and told whatever happens."""

from __future__ import annotations

import shlex
import signal
import time
from pathlib import Path

import pytest

from tests.harness.filesystems import MIB, mounted
from tests.harness.inprocess import InProcess
from tests.harness.output import names
from tests.harness.program import Program
from tests.harness.trees import assert_same, survey


def undo(run: InProcess, line: str, tree: Path) -> None:
    words = shlex.split(line)
    assert words[:2] == ["snapfs", "-r"]
    run(*words[3:], "--yes", cwd=tree)


def test_what_came_back_goes_and_nothing_else(run: InProcess, tree: Path) -> None:
    (tree / "d").mkdir()
    (tree / "d" / "a").write_text("1")
    (tree / "d" / "b").write_text("1")
    run("create", tree, "--name", "one")
    (tree / "d" / "a").unlink()
    line = run("restore", "one", "d/a", "--in-place", "--yes", cwd=tree).lines[-1]
    assert (tree / "d" / "a").exists()
    (tree / "essay").write_text("an hour of work")
    (tree / "d" / "b").write_text("more")
    undo(run, line, tree)
    assert not (tree / "d" / "a").exists()
    assert (tree / "essay").exists()
    assert (tree / "d" / "b").read_text() == "more"


@pytest.mark.parametrize("before", ["nothing", "file", "link"])
def test_directories_made_on_the_way_go_as_well(run: InProcess, tree: Path, before: str) -> None:
    (tree / "d" / "deep" / "er").mkdir(parents=True)
    (tree / "d" / "deep" / "er" / "a").write_text("1")
    (tree / "d" / "deep" / "b").write_text("1")
    run("create", tree, "--name", "one")
    for path in sorted(tree.glob("d/**/*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (tree / "d").rmdir()
    if before == "file":
        (tree / "d").write_text("a file")
    elif before == "link":
        (tree / "d").symlink_to("elsewhere")
    (tree / "other").write_text("x")
    state = survey(tree)
    done = run(
        "restore", "one", "d/deep/er/a", "d/deep/b", "other", "--in-place", "--yes",
        cwd=tree, ok=(0, 1, 2),
    )  # fmt: skip
    assert done.code == 1, "one has no other"
    assert len(names(run("list", "--json", cwd=tree))) == 1, (
        "no safety snapshot for a mistyped path"
    )
    line = run("restore", "one", "d/deep/er/a", "d/deep/b", "--in-place", "--yes", cwd=tree).lines[
        -1
    ]
    assert (tree / "d" / "deep" / "er" / "a").exists()
    undo(run, line, tree)
    assert_same(state, survey(tree), ignore=("mtime",))


@pytest.mark.parametrize("path", ["p/a", "p"])
def test_names_elsewhere_are_linked_again(run: InProcess, tree: Path, path: str) -> None:
    for folder in ("p", "q"):
        (tree / folder).mkdir()
    (tree / "p" / "a").write_text("old")
    (tree / "p" / "c").hardlink_to(tree / "p" / "a")
    (tree / "q" / "b").hardlink_to(tree / "p" / "a")
    (tree / "q" / "apart").write_text("1")
    run("create", tree, "--name", "one")
    (tree / "p" / "a").write_text("new")
    state = survey(tree)
    line = run("restore", "one", path, "--in-place", "--yes", cwd=tree).lines[-1]
    assert (tree / "p" / "a").read_text() == "old"
    (tree / "q" / "apart").write_text("an hour of work")
    undo(run, line, tree)
    assert (tree / "q" / "apart").read_text() == "an hour of work"
    (tree / "q" / "apart").write_text("1")
    assert_same(state, survey(tree), ignore=("mtime",))


def test_a_path_that_the_snapshot_does_not_have(run: InProcess, tree: Path) -> None:
    (tree / "d").mkdir()
    (tree / "d" / "kept").write_text("1")
    run("create", tree, "--name", "one")
    (tree / "d" / "new").mkdir()
    (tree / "d" / "new" / "x").write_text("2")
    (tree / "d" / "other").write_text("3")
    words = ("restore", "one", "d/new", "--in-place", "--yes")
    assert "has no d/new" in run(*words, cwd=tree, ok=(1,)).errors
    plan = run(*words, "--delete", "--dry-run", cwd=tree)
    assert "delete 2" in plan.text
    assert "- d/new" in plan.text
    run(*words, "--delete", cwd=tree)
    assert sorted(path.name for path in (tree / "d").iterdir()) == ["kept", "other"]
    assert "has no d/new" in run(*words, "--delete", cwd=tree, ok=(1,)).errors
    (tree / "e").mkdir()
    run("restore", "one", "d/kept", "e", "--in-place", "--yes", "--delete", cwd=tree)
    assert not (tree / "e").exists()
    assert (tree / "d" / "other").exists()
    for more in (["--in-place"], ["--to", tree / "beside"]):
        words = ("restore", "one", "d/never", *more, "--delete", "--yes")
        assert "has no d/never" in run(*words, cwd=tree, ok=(1,)).errors


def test_nothing_outside_is_deleted_through_a_link(
    run: InProcess, workspace: Path, tree: Path
) -> None:
    (workspace / "outside").mkdir()
    (workspace / "outside" / "precious").write_text("x")
    (tree / "d").mkdir()
    run("create", tree, "--name", "one")
    (tree / "d").rmdir()
    (tree / "d").symlink_to(workspace / "outside")
    run("restore", "one", "d/precious", "--in-place", "--delete", "--yes", cwd=tree, ok=(0, 1, 3))
    assert (workspace / "outside" / "precious").exists()


def test_an_end_in_the_middle_tells_the_way_back(workspace: Path) -> None:
    """A full disk after the safety snapshot: its name and the command that goes back to it."""
    with mounted("ext4", workspace / "small", size=24 * MIB) as point:
        run = InProcess(workspace / "repository")
        (point / "large").write_bytes(b"x" * 8 * MIB)
        (point / "late").write_bytes(bytes(range(256)) * 4096 * 8)
        run("create", point, "--name", "one")
        (point / "late").unlink()
        (point / "other").write_bytes(bytes(range(1, 256)) * 4096 * 7)
        state = survey(point)
        done = run("restore", "one", "--in-place", "--yes", cwd=point, ok=(1,))
        assert "no space left" in done.errors
        safety = names(run("list", "--json", cwd=point))[-1]
        assert f"the state before is at@{safety}" in done.errors
        line = next(line for line in done.errors.splitlines() if "To go back" in line)
        undo(run, line.partition(": ")[2].partition(": ")[2] or line.partition(": ")[2], point)
        assert_same(state, survey(point), ignore=("mtime",))


def test_an_interrupted_restore_tells_the_way_on(snapfs: Program, tree: Path, target: Path) -> None:
    for number in range(40):
        (tree / f"file{number}").write_bytes(bytes([number]) * 4_000_000)
    snapfs.create(tree, "one")
    process = snapfs.start("restore", "one", "--to", target, cwd=tree)
    while not target.exists() or not any(target.iterdir()):
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    if process.returncode == 130:
        assert b"--overwrite if-changed" in errors
    snapfs("restore", "one", "--to", target, "--overwrite", "if-changed", cwd=tree)
    assert_same(survey(tree), survey(target))


@pytest.mark.parametrize("words", [["--to", ""], ["--in-place", "--include", "*.o", "--delete"]])
def test_refused(run: InProcess, tree: Path, words: list[str]) -> None:
    (tree / "f").write_text("x")
    run("create", tree, "--name", "one")
    run("restore", "one", *words, "--yes", cwd=tree, ok=(2,))
    assert len(names(run("list", "--json", cwd=tree))) == 1
