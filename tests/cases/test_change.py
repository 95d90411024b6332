"""Cases 28 to 36, and 62: what changes between two snapshots, and what diff says of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cases.test_content import packs_bytes
from tests.harness.inprocess import InProcess
from tests.harness.output import changes
from tests.harness.program import Program
from tests.harness.require import need_root
from tests.harness.trees import CHANGING, State, assert_same, build, mutate, survey

History = Callable[[str], list[State]]


def test_case_28_content_changes_while_size_and_time_stay(history: History) -> None:
    history("chg-silent")


def test_case_29_entries_that_change_type(
    snapfs: Program, workspace: Path, history: History
) -> None:
    states = history("chg-types")
    for step, (before, after) in enumerate(pairwise(states)):
        told = changes(snapfs("diff", f"s{step}", f"s{step + 1}", "--json"))
        typed = {path for letter, path, what in told if letter == "M" and "type" in what}
        assert typed == {
            path
            for path in before.facts.keys() & after.facts.keys()
            if before.facts[path]["type"] != after.facts[path]["type"]
        }
    assert "M\tchg-types/t1\ttype" in snapfs("diff", "s0..s1").lines


def test_case_30_two_names_trade_places(history: History) -> None:
    history("chg-swap")


def test_case_31_directories_move(snapfs: Program, workspace: Path) -> None:
    source = build(workspace / "source", "chg-move")
    for path in sorted((source / "chg-move" / "n" / "keep").iterdir()):
        path.write_bytes(os.urandom(20_000))
    states = [survey(source)]
    snapfs.create(source, "s0")
    stored = [packs_bytes(snapfs)]
    for step in range(1, 6):
        mutate(source, step)
        states.append(survey(source))
        snapfs.create(source, f"s{step}")
        stored.append(packs_bytes(snapfs))
    assert stored[-1] - stored[0] < 10_000, "a move stores nothing but what changed on the way"
    told = snapfs("diff", "s0", "s1").lines
    assert "R\tchg-move/m/a/b -> chg-move/n/b2" in told
    assert not any("b2/" in line for line in told), (
        "what hangs below a moved directory is no change"
    )
    for step, state in enumerate(states):
        snapfs.restore(f"s{step}", workspace / f"r{step}")
        assert_same(state, survey(workspace / f"r{step}"))


def test_case_32_hard_links_break_and_appear(history: History) -> None:
    history("chg-links")


def test_case_33_only_metadata_changes(snapfs: Program, workspace: Path, history: History) -> None:
    need_root()
    history("chg-meta")
    root = "chg-meta"
    expected: list[dict[str, str]] = [
        {"f": "mode", "d": "mode", "p": "mode"},
        dict.fromkeys("fdlp", "owner"),
        {"x": "xattr"},
        dict.fromkeys(("f", "l", "p", "d/in"), "mtime"),
        {"x": "acl", "d": "acl", "f": "capability"},
    ]
    for step, wanted in enumerate(expected):
        told = snapfs("diff", f"s{step}", f"s{step + 1}")
        found = {}
        for line in told.lines:
            letter, path, what = line.split("\t")
            assert letter == "M", str(told)
            found[path.removeprefix(root + "/")] = what
        # Words for owner and attributes are snapfs' own; each names its kind, and content is never named.
        assert found.keys() == wanted.keys(), str(told)
        assert not any("content" in what for what in found.values()), str(told)
        assert all("mode" in what for name, what in found.items() if wanted[name] == "mode"), str(
            told
        )
        assert all("mtime" in what for name, what in found.items() if wanted[name] == "mtime"), str(
            told
        )


def test_case_33_content_is_not_stored_again(snapfs: Program, workspace: Path) -> None:
    source = build(workspace / "source", "chg-meta")
    snapfs.create(source, "s0")
    before = packs_bytes(snapfs)
    for step in range(1, 6):
        mutate(source, step)
        snapfs.create(source, f"s{step}")
    assert packs_bytes(snapfs) == before


def test_case_34_files_grow_shrink_get_holes(history: History) -> None:
    history("chg-size")


def test_case_35_renames_that_change_only_case(history: History) -> None:
    history("chg-case")


def test_case_36_a_directory_becomes_a_symlink_and_comes_back(
    snapfs: Program, workspace: Path, history: History
) -> None:
    history("chg-dirlink")
    live = workspace / "source" / "chg-dirlink"
    assert (live / "real" / "x").read_bytes() == b"must not change"
    for step in (1, 0, 4, 2, 3, 5):
        snapfs.restore_in_place(f"s{step}", "--delete")
        assert (live / "real" / "x").read_bytes() == b"must not change"


@pytest.mark.parametrize("case", CHANGING)
def test_case_62_diff_names_what_compare_names(case: str, snapfs: Program, workspace: Path) -> None:
    source = build(workspace / "source", case)
    states = [survey(source)]
    run = InProcess(snapfs.repository)
    snapfs.create(source, "s0")
    for step in range(1, 6):
        mutate(source, step)
        states.append(survey(source))
        snapfs.create(source, f"s{step}")
    for (a, before), (b, after) in pairwise(enumerate(states)):
        told = changes(run("diff", f"s{a}", f"s{b}", "--json", "--all", ok=(0,)))
        moved = {path for letter, path, _ in told if letter == "R"}
        removed_or_moved = before.facts.keys() - after.facts.keys()
        appeared = after.facts.keys() - before.facts.keys()
        assert {
            path for letter, path, _ in told if letter == "+"
        } | moved <= appeared | after.facts.keys()
        assert {
            path for letter, path, _ in told if letter == "-"
        } <= removed_or_moved | before.facts.keys()
        modified = {path for letter, path, _ in told if letter == "M"}
        if not moved:
            assert {path for letter, path, _ in told if letter == "+"} == appeared
            assert {path for letter, path, _ in told if letter == "-"} == removed_or_moved
            both = before.facts.keys() & after.facts.keys()
            differing = {path for path in both if before.facts[path] != after.facts[path]}
            assert modified - differing <= set(before.groups) | set(after.groups), (
                "only links may add to it"
            )
            assert differing <= modified
        assert run("diff", f"s{a}", f"s{a}", "--exit-code").out == b""
        changed = run("diff", f"s{a}", f"s{b}", "--exit-code", ok=(0, 1))
        assert changed.code == (1 if changed.out else 0)
    limited = run("diff", "s0", "s5", "no-such-name", cwd=source, ok=None)
    assert limited.out == b""


def test_diff_content_is_a_unified_diff(snapfs: Program, tree: Path) -> None:
    (tree / "text").write_text("one\ntwo\nthree\n")
    (tree / "binary").write_bytes(bytes(range(256)))
    snapfs.create(tree, "s0")
    (tree / "text").write_text("one\n2\nthree\n")
    (tree / "binary").write_bytes(bytes(range(255, -1, -1)))
    told = snapfs("diff", "s0", ".", "--content", cwd=tree)
    assert "-two\n+2\n" in told.text


def test_diff_content_where_a_file_became_a_directory_and_the_reverse(
    snapfs: Program, tree: Path
) -> None:
    (tree / "config").write_text("one\n")
    (tree / "parts").mkdir()
    (tree / "parts" / "inner").write_text("old\n")
    snapfs.create(tree, "s0")
    (tree / "config").unlink()
    (tree / "config").mkdir()
    (tree / "config" / "new").write_text("two\n")
    (tree / "parts" / "inner").unlink()
    (tree / "parts").rmdir()
    (tree / "parts").write_text("whole\n")
    told = snapfs("diff", "s0", ".", "--content", cwd=tree).text
    assert "--- a/config\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n" in told
    assert "--- /dev/null\n+++ b/config/new\n@@ -0,0 +1 @@\n+two\n" in told
    assert "--- a/parts/inner\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n" in told
    assert "--- /dev/null\n+++ b/parts\n@@ -0,0 +1 @@\n+whole\n" in told
