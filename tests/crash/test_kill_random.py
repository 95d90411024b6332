"""Case 50: SIGKILL at random moments; then at once the next command, which needs no unlocking."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.harness.history import History
from tests.harness.inprocess import InProcess
from tests.harness.program import Argument, Program
from tests.harness.trees import assert_same, survey

MOMENTS = 14


def kill_after(past: History, delay_s: float, *words: Argument) -> bool:
    """Kill the parent of a started command after so many seconds; False if it was done before."""
    with past.snapfs.start(*words, cwd=past.tree, stdout=subprocess.DEVNULL) as process:
        time.sleep(delay_s)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()
    return process.returncode == -signal.SIGKILL


def duration_s(past: History, *words: Argument) -> float:
    """How long the command takes as the process that will be killed."""
    begin = time.monotonic()
    past.snapfs.process(*words, cwd=past.tree)
    return time.monotonic() - begin


@pytest.mark.parametrize("seed", [1, 2])
def test_case_50_create_and_delete_are_killed_at_random(seed: int, past: History) -> None:
    rng = random.Random(seed)
    past.states["measured"] = past.change()
    whole_s = duration_s(past, "create", past.tree, "--name", "measured")
    expected = past.listed()
    for number in range(MOMENTS):
        name = f"n{number}"
        if number % 3 == 2:
            victim = rng.choice(expected[:-1])
            kill_after(past, rng.uniform(0.1, 1.0) * whole_s, "delete", victim, "--yes")
            assert past.listed() in (expected, [other for other in expected if other != victim])
        else:
            past.states[name] = past.change()
            finished = not kill_after(
                past, rng.uniform(0.1, 1.0) * whole_s, "create", past.tree, "--name", name
            )
            visible = past.listed()
            assert visible in (expected, [*expected, name])
            assert not finished or name in visible
        # A record that was durable may be finished by the next writer.
        past.take(f"after-{number}")
        now = past.listed()
        assert now[-1] == f"after-{number}"
        assert set(now) <= {*expected, name, f"after-{number}"}
        assert len(now) >= len(expected)
        expected = now
        past.check_one(rng.choice(expected))
        if len(expected) > 6:
            past.snapfs("delete", *expected[:3], "--yes", cwd=past.tree)
            expected = expected[3:]
    past.check(*expected)
    past.check_no_leftovers()


def test_case_50_restore_is_killed_at_random(past: History) -> None:
    rng = random.Random(3)
    past.snapfs.restore_in_place("s0", "--delete", cwd=past.tree)
    whole_s = duration_s(past, "restore", "s2", "--in-place", "--delete", "--yes", "--no-safety")
    for number in range(MOMENTS):
        name = f"s{number % 2}"
        kill_after(
            past,
            rng.uniform(0.2, 1.0) * whole_s,
            "restore",
            name,
            "--in-place",
            "--delete",
            "--yes",
            "--no-safety",
        )
        past.snapfs.restore_in_place("s2", "--delete", cwd=past.tree)
        assert_same(past.states["s2"], survey(past.tree))
    past.check("s0", "s1", "s2")


def test_case_50_a_first_create_with_walking_workers_is_killed_at_random(
    snapfs: Program, workspace: Path
) -> None:
    """A tree of more entries than one walk is worth; whatever a killed run left is no hindrance."""
    rng = random.Random(4)
    tree = workspace / "tree"
    for folder in range(60):
        (tree / f"d{folder}" / "deeper").mkdir(parents=True)
        for number in range(50):
            (tree / f"d{folder}" / f"f{number}").write_bytes(b"%d %d" % (folder, number) * 50)
            (tree / f"d{folder}" / "deeper" / f"g{number}").write_bytes(rng.randbytes(300))
        (tree / f"d{folder}" / "large").write_bytes(rng.randbytes(400_000))
    past = History(snapfs, tree, workspace)
    past.states["s"] = survey(tree)
    begin = time.monotonic()
    InProcess(workspace / "measured")("create", tree)
    whole_s = time.monotonic() - begin + 0.2
    for _ in range(MOMENTS):
        kill_after(past, rng.uniform(0.1, 1.0) * whole_s, "create", tree, "--name", "s")
    past.snapfs("create", tree, "--name", "s", cwd=tree, ok=(0, 2))
    past.check("s")
    past.check_no_leftovers()
