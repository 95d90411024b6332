"""A repository that cannot be written, and a journal that cannot be read: one line with the way out."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.program import Argument, Program, Result
from tests.harness.trees import survey
from tests.harness.user import User

READING: tuple[tuple[Argument, ...], ...] = (
    ("list",), ("show", "s1"), ("ls", "s1:", "-l"), ("cat", "s1:f"), ("diff", "s1", "s2"), ("diff",),
    ("restore", "s1", "--in-place", "--dry-run"), ("info",), ("runs",), ("roots",),
    ("verify", "--data"), (), ("list", "--json"), ("usage",), ("usage", "s1"), ("usage", "--by-path"),
    ("delete", "s1", "--dry-run"),
)  # fmt: skip
WRITING: tuple[tuple[Argument, ...], ...] = (
    ("create",), ("create", "--dry-run"), ("pin", "s1"), ("unpin", "s1"), ("tag", "s1", "t"),
    ("untag", "s1", "t"), ("rename", "s1", "x"), ("delete", "s1", "-y"), ("roots", "rename", "tree", "x"),
    ("roots", "move", "tree", "/"), ("roots", "remove", "tree", "-y"),
    ("restore", "s1", "--in-place", "-y"), ("rebuild-catalog",),
)  # fmt: skip


def check(program: Program, tree: Path, said: str) -> Result:
    """Reading works, writing tells in one line and changes nothing; what the last one told."""
    before = survey(tree)
    for words in READING:
        program(*words, cwd=tree)
    program("restore", "s1", "--to", tree.parent / f"to-{os.urandom(4).hex()}", cwd=tree)
    for words in WRITING:
        done = program(*words, cwd=tree, ok=(1,))
        assert done.out == b""
        assert done.errors.count("\n") == 1, str(done)
        assert said in done.errors, str(done)
        assert "what only reads goes on working" in done.errors
    assert survey(tree) == before
    return done


def two_snapshots(program: Program, tree: Path) -> None:
    owner = tree.stat()
    for name in ("s1", "s2"):
        (tree / "f").write_text(name)
        os.chown(tree / "f", owner.st_uid, owner.st_gid)
        program.create(tree, name)


def test_on_a_read_only_mount(
    snapfs: Program, tree: Path, small_filesystem: Callable[..., Path]
) -> None:
    place = small_filesystem("ext4", 64 << 20)
    program = Program(place / "repository", snapfs.home)
    two_snapshots(program, tree)
    subprocess.run(["mount", "-o", "remount,ro", place], check=True)
    check(program, tree, "is on a filesystem that is mounted read-only")
    other = Program(place / "other", snapfs.home)
    done = other.create(tree, ok=(1,))
    assert "Read-only file system" in done.errors
    assert "another place with -r PATH" in done.errors
    subprocess.run(["mount", "-o", "remount,rw", place], check=True)
    program.create(tree, "s3")


def test_write_protected(as_user: Program, user: User) -> None:
    tree = as_user.home.parent / "tree"
    two_snapshots(as_user, tree)
    subprocess.run(["chmod", "-R", "a-w", as_user.repository], check=True)
    done = check(as_user, tree, "is write-protected")
    way_out = re.search("`([^`]*)`", done.errors)
    assert way_out is not None
    subprocess.run(shlex.split(way_out[1]), check=True)
    as_user.create(tree, "s3")


@pytest.mark.parametrize("at", [0, 3, 30, 60])
@pytest.mark.parametrize("cut", [False, True])
def test_the_way_out_of_a_damaged_journal(at: int, cut: bool, snapfs: Program, tree: Path) -> None:
    two_snapshots(snapfs, tree)
    journal = max((snapfs.repository / "journal").iterdir())
    data = bytearray(journal.read_bytes())
    data[at] ^= 0xFF
    journal.write_bytes(bytes(data[:at] if cut else data))
    snapfs("usage", "s1", cwd=tree)
    failures = []
    for words in (("tag", "s1", "t"), ("create",), ("delete", "s1", "-y")):
        done = snapfs(*words, cwd=tree, ok=(0, 1))
        if done.code:
            failures.append(done.errors)
            assert journal.name in done.errors
            assert "run snapfs repair" in done.errors, str(done)
    assert failures or at >= 48, "a damaged header stops who would write"
    if failures:
        snapfs("repair", "--yes", ok=(0, 3))
    snapfs("create", "--name", "s3", cwd=tree)
    snapfs.verify()
