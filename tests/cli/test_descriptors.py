"""A command that has ended holds nothing open: whoever runs many in one process never runs out."""

from __future__ import annotations

import os
from pathlib import Path

from tests.harness.inprocess import InProcess


def _open_files() -> list[str]:
    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:  # the listing's own
            continue
    return sorted(found)


def test_commands_give_back_what_they_open(workspace: Path, tree: Path, target: Path) -> None:
    for number in range(5):
        (tree / f"file{number}").write_text("x" * number)
    snapfs = InProcess(workspace / "repository")
    snapfs("create", tree)
    (tree / "file1").write_text("changed")
    before = _open_files()
    for words in (
        ["create"],
        ["diff", "1..2"],
        ["diff", "--content"],
        ["ls", "1:"],
        ["cat", "1:file1"],
        ["show"],
        ["restore", "1", "--to", target],
        ["restore", "1", "--to", target, "--overwrite", "always", "--delete", "--yes"],
        ["restore", "1", "--in-place", "--yes"],
        ["delete", "1", "--yes"],
        ["verify", "--data"],
        ["rebuild-catalog"],
    ):
        snapfs(*words, cwd=tree)
        assert _open_files() == before, words
