"""SIGINT, SIGTERM and SIGHUP at each named point: nothing half-visible, the usual code, no leftovers."""

from __future__ import annotations

import os
import signal

import pytest

from snapfs.faults import POINTS
from tests.harness.history import History
from tests.harness.program import Argument, Result
from tests.harness.trees import assert_same, survey

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


def interrupted_at(past: History, point: str, which: signal.Signals, *words: Argument) -> Result:
    """The command stops itself at ``point``, gets the signal there, and goes on."""
    process = past.snapfs.start(*words, cwd=past.tree, env={"SNAPFS_CRASH_AT": f"stop@{point}"})
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), f"{point} was not reached"
    process.send_signal(which)
    process.send_signal(signal.SIGCONT)
    return past.snapfs.finish(process, words, ok=None, timeout_s=30)


CREATE_POINTS = [name for name in POINTS if name.split(".")[0] in ("create", "journal")]


@pytest.mark.parametrize(
    ("point", "which"),
    [
        *((point, signal.SIGTERM) for point in CREATE_POINTS),
        ("create.walked", signal.SIGINT),
        ("create.packs-durable", signal.SIGHUP),
    ],
)
def test_create_is_interrupted(point: str, which: signal.Signals, past: History) -> None:
    past.states["cut"] = past.change()
    done = interrupted_at(past, point, which, "create", past.tree, "--name", "cut")
    visible = past.listed()
    assert done.code in (CODES[which], 0), str(done)
    if done.code == 0:
        assert visible[-1] == "cut", str(done)
    elif point not in ("create.journal-durable", "create.committing", "create.committed"):
        assert "cut" not in visible, str(done)
    past.check_no_leftovers()
    past.take("next")
    listed = past.listed()
    assert [name for name in listed if name != "cut"] == ["s0", "s1", "s2", "next"]
    past.check(*listed)


@pytest.mark.parametrize("point", [name for name in POINTS if name.split(".")[0] == "delete"])
def test_delete_is_interrupted(point: str, past: History) -> None:
    done = interrupted_at(past, point, signal.SIGTERM, "delete", "s0", "s1", "s2", "--yes")
    assert done.code in (143, 0), str(done)
    assert past.listed() in ([], ["s0", "s1", "s2"])
    past.take("next")
    past.check(*past.listed())
    past.check_no_leftovers()


@pytest.mark.parametrize("point", [name for name in POINTS if name.split(".")[0] == "restore"])
def test_restore_is_interrupted(point: str, past: History) -> None:
    past.change()
    done = interrupted_at(
        past, point, signal.SIGINT, "restore", "s0", "--in-place", "--delete", "--yes"
    )
    assert done.code in (130, 0), str(done)
    leftovers = [path for path in past.tree.rglob(".snapfs-*") if path.name != ".snapfsignore"]
    assert not leftovers, "an interrupted restore takes its temporary files with it"
    past.snapfs.restore_in_place("s0", "--delete", cwd=past.tree)
    assert_same(past.states["s0"], survey(past.tree))
