"""The points themselves: unarmed they do nothing, armed they act at the N-th time."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from snapfs import faults

CODE = """
import sys
from snapfs import faults
if sys.argv[1]:
    faults.arm(sys.argv[1])
for _ in range(3):
    faults.point("pack.renamed")
    print("x", flush=True)
"""


@pytest.mark.parametrize(
    ("spec", "printed", "code"),
    [
        ("", 3, 0),
        ("pack.renamed", 0, -signal.SIGKILL),
        ("kill@pack.renamed:2", 1, -signal.SIGKILL),
        ("pack.renamed:4", 3, 0),
        ("create.locked", 3, 0),
    ],
)
def test_arm(spec: str, printed: int, code: int) -> None:
    done = subprocess.run([sys.executable, "-c", CODE, spec], capture_output=True, check=False)
    assert (done.stdout.count(b"x"), done.returncode) == (printed, code), done.stderr


@pytest.mark.parametrize("spec", ["nowhere", "", "burn@pack.renamed", "pack.renamed:x"])
def test_arm_refuses_what_it_does_not_know(spec: str) -> None:
    with pytest.raises(ValueError):
        faults.arm(spec)


def test_points_are_named_after_what_they_belong_to() -> None:
    assert len(set(faults.POINTS)) == len(faults.POINTS)
    prefixes = {name.split(".")[0] for name in faults.POINTS}
    assert prefixes == {
        "create", "delete", "restore", "revert", "purge", "pack", "journal", "rebuild", "repair",
    }  # fmt: skip
