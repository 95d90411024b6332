"""Arguments that were not meant well."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.harness.inprocess import InProcess
from tests.harness.output import assert_terminal_safe
from tests.harness.program import Program

REFERENCES = [
    "", ":", "@", "s0:../..", "s0:/etc/passwd", "s0:..", "s0:dir/../../x", "s0~99999999999999999999", "s0~-1", "s0~x",
    "999999999999999999999999", "0", "-1", "latest~1~1", "../..@s0", "no@s0", "a@b@c", "2026-13-45", "2026-02-30T25:61",
    "99999999999y", "\x1b[2J", "s0\n", "s0:\x1b]0;x\x07", "s0:" + "x/" * 3000, "x" * 100_000, "latest:" + "\u202e",
]  # fmt: skip


def test_references_that_mean_nothing(snapfs: Program, tree: Path) -> None:
    (tree / "dir").mkdir()
    (tree / "dir" / "f").write_bytes(b"x")
    snapfs.create(tree, "s0")
    run = InProcess(snapfs.repository)
    for reference in REFERENCES:
        for command in ("ls", "cat", "show"):
            done = run(command, "--", reference, cwd=tree, ok=None)
            assert done.code in (0, 1, 2), str(done)
            assert_terminal_safe(done)
            if command == "cat":
                assert done.code != 0, str(done)
                assert b"root:" not in done.out
            if done.code:
                assert done.out == b""
                assert 1 <= len(done.errors.strip().splitlines()) <= 3, str(done)


@pytest.mark.parametrize("name", ["latest", "2026-01-01", "3d", "12", "a..b", "a b", "-x", ".x", "\u00e9", "", "a/b", "a:b", "a@b", "x" * 300])  # fmt: skip
def test_names_that_would_read_as_something_else(name: str, snapfs: Program, tree: Path) -> None:
    done = snapfs("create", tree, f"--name={name}", ok=(1, 2))
    assert_terminal_safe(done)
    assert not done.out
    snapfs.create(tree, "good")
    snapfs("rename", "good", "--", name, cwd=tree, ok=(1, 2))
    snapfs("show", "good", cwd=tree)


def test_tree_that_hides_modules(snapfs: Program, tree: Path) -> None:
    """A tree that holds Python modules of well-known names is data, wherever snapfs is started."""
    marker = tree / "executed"
    for name in (
        "snapfs",
        "json",
        "sqlite3",
        "typer",
        "blake3",
        "sitecustomize",
        "usercustomize",
        "xxhash",
    ):
        (tree / f"{name}.py").write_text(f"open({os.fspath(marker)!r}, 'w').write('x')\n")
    for number in range(30):
        (tree / f"data{number}").write_bytes(os.urandom(300_000))
    snapfs.create(tree, "s0", cwd=tree)
    snapfs("restore", "s0", "--to", tree.with_name("target"), cwd=tree)
    snapfs("diff", "s0", ".", cwd=tree)
    assert not marker.exists()
