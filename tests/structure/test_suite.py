"""The suite itself: every known case has its test, and the benchmarks still run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.harness.trees import build

TESTS = Path(__file__).resolve().parents[1]
CASES = {*range(1, 53), 55, 56, 57, 62}
"""Numbers of the cases from public reports that concern what snapfs does so far."""


def test_every_case_has_a_test_named_after_it() -> None:
    found = {
        int(number)
        for path in TESTS.rglob("test_*.py")
        for number in re.findall(r"^def test_case_(\d+)_", path.read_text(), re.MULTILINE)
    }
    assert found == CASES


def test_benchmarks_run(workspace: Path) -> None:
    tree = build(workspace / "tree", "sizes", "content", "big-dir", scale=0.02)
    done = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "benchmarks",
                "run",
                "--work",
                workspace / "work",
                "--tree-a",
                tree,
            ),
            *("--tools", "snapfs", "--rounds", "1", "--scale", "0.002"),
            *("--scenario", "a", "--scenario", "big"),
        ],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for operation in ("first snapshot", "nothing changed", "restore all", "delete one of six"):
        assert re.search(rf"^\| {operation} \| \d", done.stdout, re.MULTILINE), done.stderr
