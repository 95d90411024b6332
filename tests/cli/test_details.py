"""Small promises of the command line that a trial found broken."""

from __future__ import annotations

import os
from pathlib import Path

from tests.harness.inprocess import InProcess
from tests.harness.output import names
from tests.harness.program import Program
from tests.harness.user import User


def test_a_plan_says_that_it_is_one(run: InProcess, tree: Path) -> None:
    run("create", tree, "--name", "one")
    done = run("restore", "one", "--in-place", "--dry-run", "--json", cwd=tree)
    assert done.json()["dry_run"] is True


def test_the_root_i_stand_in_for_another_host(run: InProcess, tree: Path) -> None:
    run("create", tree, "--name", "ours")
    run("create", "--host", "elsewhere", "--name", "theirs", cwd=tree)
    roots = {root["label"]: root["host"] for root in run("roots", "--json").json_lines()}
    assert sorted(roots) == ["tree", "tree-2"]
    assert roots["tree-2"] == "elsewhere"
    assert names(run("list", "tree", "--json")) == ["ours"]
    assert names(run("list", "tree-2", "--json")) == ["theirs"]


def test_verbose_names_the_repository_and_the_root(run: InProcess, tree: Path) -> None:
    run("create", tree)
    for words in (("create",), ("list",), ("show",), ("ls",), ("diff",)):
        told = run(*words, "-v", cwd=tree).errors
        assert f"repository: {run.repository}\n" in told, words
        assert "root: tree\n" in told, words


def test_names_in_errors_are_names(run: InProcess, tree: Path) -> None:
    run("create", tree, "--name", "one")
    for words in (("cat", b"one:odd/\xff\n"), ("ls", b"one:odd/\xff\n")):
        errors = run(*words, cwd=tree, ok=(1,)).err
        assert rb"has no 'odd/'$'\377\n'" in errors, errors


def test_a_set_id_bit_that_is_withheld_is_named(
    as_user: Program, user: User, snapfs: Program, workspace: Path
) -> None:
    tree = workspace / "own" / "tree"
    (tree / "tool").write_bytes(b"x")
    as_user.create(tree, "one")
    os.chown(tree / "tool", 0, user.gid)
    (tree / "tool").chmod(0o4755)
    as_user.create(tree, "two")
    done = as_user.restore("tree@two", workspace / "own" / "to", ok=(3,))
    assert "owner 0:" in done.errors and "mode 4755" in done.errors
    assert (workspace / "own" / "to" / "tool").stat().st_mode & 0o7777 == 0o755


def test_what_nobody_could_read_keeps_nobody_from_the_rest(
    as_user: Program, workspace: Path
) -> None:
    """Neither the snapshot nor the safety snapshot has it, and the restore does not touch it."""
    tree = workspace / "own" / "tree"
    closed = tree / "closed"
    closed.mkdir()
    (closed / "inside").write_bytes(b"untouched")
    (tree / "file").write_bytes(b"one")
    for path in (tree / "file", closed):
        os.chown(path, as_user.user.uid, as_user.user.gid)  # type: ignore[union-attr]
    closed.chmod(0)
    as_user.create(tree, "one", ok=(3,))
    (tree / "file").write_bytes(b"two")
    as_user("restore", "one", "--in-place", "--delete", "--yes", cwd=tree, ok=(3,))
    assert (tree / "file").read_bytes() == b"one"
    assert (closed / "inside").read_bytes() == b"untouched"
    # What the snapshot does not have at all would be deleted unseen: then nothing is done.
    other = tree / "other"
    other.mkdir(mode=0)
    os.chown(other, as_user.user.uid, as_user.user.gid)  # type: ignore[union-attr]
    (tree / "file").write_bytes(b"three")
    done = as_user("restore", "one", "--in-place", "--delete", "--yes", cwd=tree, ok=(1,))
    assert "is not complete (other" in done.errors
    assert (tree / "file").read_bytes() == b"three"
    as_user("restore", "one", "--in-place", "--yes", cwd=tree, ok=(0, 3))
    assert (tree / "file").read_bytes() == b"one"


def test_patterns_of_a_restore_that_match_nothing_are_named(
    run: InProcess, tree: Path, workspace: Path
) -> None:
    (tree / "a.txt").write_text("a")
    run("create", tree, "--name", "one")
    words = ("--include", "*.txt", "--include", "nothing", "--exclude", "*.o")
    done = run("restore", "one", "--to", workspace / "to", *words, cwd=tree)
    told = [line for line in done.errors.splitlines() if line.startswith("matched nothing")]
    assert told == ["matched nothing: --include nothing", "matched nothing: --exclude *.o"]
    assert (workspace / "to" / "a.txt").exists()


def test_the_first_words_are_said_once(run: InProcess, tree: Path, workspace: Path) -> None:
    (workspace / "other").mkdir()
    done = run("create", tree, workspace / "other")
    assert done.errors.count("The repository is") == 1
