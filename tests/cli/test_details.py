"""Small promises of the command line that a trial found broken."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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
    assert "would not be complete (other" in done.errors
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
    tried = run("restore", "one", "--in-place", "--dry-run", *words, cwd=tree)
    assert [line for line in tried.errors.splitlines() if line in told] == told


def test_a_target_that_is_a_symlink_to_nothing(run: InProcess, tree: Path, workspace: Path) -> None:
    run("create", tree, "--name", "one")
    (workspace / "to").symlink_to("nothing")
    done = run("restore", "one", "--to", workspace / "to", cwd=tree, ok=(1,))
    assert done.errors.endswith("to: it is a symlink to what is not there\n")


def test_numbers_that_the_root_has_not(run: InProcess, tree: Path, workspace: Path) -> None:
    other = workspace / "other"
    other.mkdir()
    for name in ("one", "two"):
        run("create", tree, "--name", name)
        assert names(run("list", "tree", "--json"))[-1] == name
        run("create", other, "--name", name)
    assert "its numbers lie between 1 and 3" in run("show", "99", cwd=tree, ok=(1,)).errors


def test_an_empty_word_is_no_path(run: InProcess, tree: Path) -> None:
    run("create", tree, "--name", "one")
    assert "that is root" not in run("ls", "", cwd=tree, ok=(2,)).errors


def test_the_first_words_are_said_once(run: InProcess, tree: Path, workspace: Path) -> None:
    (workspace / "other").mkdir()
    done = run("create", tree, workspace / "other")
    assert done.errors.count("The repository is") == 1


def test_diff_of_a_path_in_a_directory_that_moved(run: InProcess, tree: Path) -> None:
    (tree / "d" / "deep").mkdir(parents=True)
    (tree / "d" / "deep" / "f").write_text("1")
    (tree / "apart").write_text("1")
    run("create", tree, "--name", "m1")
    (tree / "d").rename(tree / "D")
    run("create", tree, "--name", "m2")
    for path in ("d", "D", "d/deep/f", "D/deep/f", "D/deep"):
        told = run("diff", "m1", "m2", "--exit-code", "--", path, cwd=tree, ok=(1,))
        assert told.lines == ["R\td -> D"], path
    assert run("diff", "m1", "m2", "apart", "--exit-code", cwd=tree).out == b""


def test_diff_of_a_path_that_is_gone(run: InProcess, tree: Path) -> None:
    (tree / "gone").write_text("1")
    (tree / "kept").write_text("1")
    run("create", tree, "--name", "m1")
    (tree / "gone").unlink()
    for words in (("gone",), ("m1", "gone"), ("m1", ".", "gone")):
        assert run("diff", *words, cwd=tree).lines == ["-\tgone"], words
    run("create", tree, "--name", "m2")
    for words in (("m1", "gone"), ("m1", "m2", "gone"), ("m1..m2", "gone")):
        assert run("diff", *words, cwd=tree).lines == ["-\tgone"], words
    assert "no snapshot none" in run("diff", "m1", "none", cwd=tree, ok=(1,)).errors


def test_bytes_of_a_file_with_two_names_count_once(run: InProcess, tree: Path) -> None:
    (tree / "a").write_bytes(b"x" * 1000)
    (tree / "b").hardlink_to(tree / "a")
    plan = run("create", tree, "--dry-run", "--json").json()
    made = run("create", tree, "--json").json()
    assert plan["total_bytes"] == made["total_bytes"] == 1000
    for words in (("--dry-run",), ("--skip-if-unchanged",)):
        assert run("create", tree, *words, "--json").json()["total_bytes"] == 1000, words


def test_a_plan_with_a_conflict_ends_as_the_run_would(
    run: InProcess, tree: Path, target: Path
) -> None:
    (tree / "a").write_text("1")
    run("create", tree, "--name", "one")
    (target / "a" / "inside").mkdir(parents=True)
    words = ("restore", "one", "--to", target, "--overwrite", "always")
    plan = run(*words, "--dry-run", "--json", cwd=tree, ok=(3,)).json()
    assert plan["problems"] == 1
    done = run(*words, cwd=tree, ok=(3,))
    assert "1 problem" in done.errors and "nothing to do" not in done.errors


@pytest.mark.parametrize("policy", ["never", "if-newer"])
def test_what_belongs_below_a_file_that_stays_is_missed_aloud(
    policy: str, run: InProcess, tree: Path, target: Path
) -> None:
    (tree / "d").mkdir()
    (tree / "d" / "x").write_text("1")
    run("create", tree, "--name", "one")
    target.mkdir(exist_ok=True)
    (target / "d").write_text("mine, and newer")
    done = run("restore", "one", "--to", target, "--overwrite", policy, cwd=tree, ok=(3,))
    assert "! d: is left alone and no directory" in done.errors
    assert (target / "d").read_text() == "mine, and newer"


def test_missing_packs_are_told_however_quiet(run: InProcess, tree: Path) -> None:
    (tree / "a").write_text("1")
    run("create", tree)
    for pack in (run.repository / "packs").iterdir():
        pack.unlink()
    assert "missing or cut off" in run("create", tree, "--quiet", ok=(3,)).errors


def test_a_host_that_a_label_does_not_have(run: InProcess, tree: Path) -> None:
    run("create", tree)
    assert (
        "--host: tree is the root of host"
        in run("create", "tree", "--host", "elsewhere", cwd=tree.parent.parent, ok=(2,)).errors
    )


def test_a_pattern_that_can_match_nothing_is_told(run: InProcess, tree: Path) -> None:
    (tree / "[bad").write_text("1")
    run("create", tree, "--name", "one")
    done = run("create", tree, "--exclude", "[bad")
    assert "[bad" in done.errors and "matched nothing" in done.errors


def test_show_lists_the_first_problems(as_user: Program, workspace: Path) -> None:
    tree = workspace / "own" / "tree"
    for number in range(25):
        path = tree / f"f{number:02}"
        path.write_text("x")
        path.chmod(0)
    as_user("create", tree, "--name", "one", ok=(3,))
    shown = as_user("show", "one", cwd=tree).lines
    problems = [line for line in shown if line.startswith("problem")]
    assert [line.split()[1] for line in problems[:20]] == [f"f{number:02}:" for number in range(20)]
    assert [" ".join(line.split()[1:]) for line in problems[20:]] == [
        "and 5 more problems; --verbose lists all"
    ]
    assert "f24" in as_user("show", "one", "--verbose", cwd=tree).text
    assert len(as_user("show", "one", "--json", cwd=tree).json()["problems"]) == 25
