"""Cases 7 to 12: symbolic and hard links."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.harness.output import entries
from tests.harness.program import Program
from tests.harness.trees import assert_same, survey


def test_case_07_symlinks_with_their_own_owner_and_time(
    snapfs: Program, workspace: Path, round_trip: Callable[..., Path]
) -> None:
    source = round_trip("symlinks")
    victim = workspace / "victim"
    victim.write_bytes(b"not mine")
    os.utime(victim, ns=(5, 5))
    before = victim.stat()
    os.symlink(victim, source / "outside")
    os.utime(source / "outside", ns=(7, 7), follow_symlinks=False)
    state = survey(source.parent)
    snapfs.create(source.parent, "s1")
    snapfs.restore("s1", workspace / "again")
    assert_same(state, survey(workspace / "again"))
    after = victim.stat()
    assert (after.st_mtime_ns, after.st_ctime_ns, after.st_uid) == (
        before.st_mtime_ns,
        before.st_ctime_ns,
        before.st_uid,
    )


def test_case_08_symlink_where_the_restore_expects_a_directory(
    snapfs: Program, workspace: Path, tree: Path
) -> None:
    (tree / "dir" / "sub").mkdir(parents=True)
    (tree / "dir" / "file").write_bytes(b"from the snapshot")
    (tree / "dir" / "sub" / "f").write_bytes(b"deep")
    snapfs.create(tree, "s0")
    wanted = survey(tree)

    victim = workspace / "victim"
    (victim / "sub").mkdir(parents=True)
    (victim / "keep").write_bytes(b"must not change")
    (victim / "file").write_bytes(b"nor this")
    (victim / "sub" / "keep").write_bytes(b"nor that")
    os.utime(victim, ns=(9, 9))
    untouched = survey(victim)

    for number, arguments in enumerate(
        (("s0",), ("s0:dir/file",), ("s0", "--delete"), ("s0", "dir/file", "dir/sub/f"))
    ):
        target = workspace / f"target-{number}"
        target.mkdir()
        os.symlink(victim, target / "dir")
        (target / "other").write_bytes(b"")
        done = snapfs(
            "restore",
            *arguments,
            "--to",
            target,
            "--overwrite",
            "always",
            "--yes",
            cwd=tree,
            ok=(0, 1, 3),
        )
        assert_same(untouched, survey(victim))
        if done.code == 0 and arguments[-1] == "--delete":
            assert_same(wanted, survey(target))

    live = tree / "dir"
    subprocess.run(["rm", "-rf", live], check=True)
    os.symlink(victim, live)
    snapfs.restore_in_place("s0", "--delete", cwd=tree)
    assert_same(untouched, survey(victim))
    assert_same(wanted, survey(tree))


def test_case_08_torture_tree(round_trip: Callable[..., Path]) -> None:
    round_trip("symlink-dirs")


def test_case_09_hard_link_groups(round_trip: Callable[..., Path], workspace: Path) -> None:
    source = round_trip("hardlinks")
    restored = workspace / "restored" / source.name
    assert os.path.samefile(restored / "m" / "first", restored / "z" / "deep" / "er" / "late")
    assert not os.path.samefile(restored / "pair1", restored / "pair2")
    assert not os.path.samefile(restored / "m" / "copy", restored / "a" / "copy")


def test_case_10_hard_links_of_empty_files(
    round_trip: Callable[..., Path], workspace: Path
) -> None:
    source = round_trip("hardlinks-empty")
    restored = workspace / "restored" / source.name
    assert os.path.samefile(restored / "e1", restored / "s" / "e1")
    assert not os.path.samefile(restored / "e3", restored / "s" / "e3")


def test_case_11_part_of_a_hard_link_group(snapfs: Program, workspace: Path, tree: Path) -> None:
    for name in ("a", "b"):
        (tree / name).mkdir()
    (tree / "a" / "x").write_bytes(b"shared")
    os.link(tree / "a" / "x", tree / "b" / "x")
    os.link(tree / "a" / "x", tree / "b" / "y")
    snapfs.create(tree, "whole")
    snapfs.create(tree, "part", "--exclude", "/a")
    for number, arguments in enumerate((("whole:b",), ("part:b",))):
        target = workspace / f"target-{number}"
        snapfs.restore(arguments[0], target)
        assert (target / "x").read_bytes() == b"shared"
        assert os.path.samefile(target / "x", target / "y")
        assert (target / "x").stat().st_nlink == 2
    snapfs("restore", "whole", "b/x", "b/y", "--to", workspace / "some", cwd=tree)
    assert os.path.samefile(workspace / "some" / "b" / "x", workspace / "some" / "b" / "y")
    assert snapfs("diff", "whole", ".", "b", cwd=tree).out == b""
    assert snapfs("diff", "part", ".", cwd=tree).out == b""


def test_case_12_same_source_twice_or_inside_the_other(
    snapfs: Program, workspace: Path, tree: Path
) -> None:
    (tree / "sub").mkdir()
    (tree / "one").write_bytes(b"linked")
    os.link(tree / "one", tree / "sub" / "two")
    snapfs("create", tree, tree, tree / ".", "--name", "twice")
    listed = snapfs("list", tree, "--json").json_lines()
    assert len(listed) == 1, "a root named twice is one snapshot"
    listed = entries(snapfs("ls", "twice:", "--recursive", "--json", cwd=tree))
    assert len(listed) == len({b"sub", b"one", b"sub/two"})
    refused = snapfs("create", tree, tree / "sub", "--name", "inside", ok=None)
    assert refused.code in (1, 2)
    assert "--nested" in refused.errors
    snapfs("create", tree, tree / "sub", "--name", "both", "--nested")
    for root in (tree, tree / "sub"):
        target = workspace / f"restored-{root.name}"
        snapfs.restore(f"{root}@both", target)
        assert_same(survey(root), survey(target), ignore=("links",))
    assert os.path.samefile(
        workspace / "restored-tree" / "one", workspace / "restored-tree" / "sub" / "two"
    )
