"""A purge that is killed: before it counts nothing has happened, afterwards the next writer finishes it."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from snapfs.faults import POINTS
from tests.harness.inprocess import InProcess
from tests.harness.program import Program
from tests.harness.trees import State, assert_same, survey, unlock_and_remove
from tests.purge.traces import traces

MARKER = b"qZkilledZq"
BEHIND_THE_COMMIT = (
    "purge.committed",
    "journal.record-started:2",  # of the dump
    "purge.journal-restarted",
    "delete.pack-removed",
    "purge.packs-removed",
    "purge.wiped",
)
POINTS_OF_PURGE = (
    *(name for name in POINTS if name.startswith("purge.")),
    "pack.written",
    "pack.renamed",
    "journal.record-started",
    "journal.record-started:2",
    "delete.pack-removed",
)


States = dict[str, State]


@pytest.fixture(scope="module")
def _once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, States]:
    """A tree, a repository in which the marker is in packs beside others, and what each snapshot is."""
    base = tmp_path_factory.mktemp("killed")
    tree = base / "tree"
    run = InProcess(base / "repository")
    (tree / "with" / "deep").mkdir(parents=True)
    states = {}
    for turn in range(3):
        (tree / "with" / "deep" / MARKER.decode()).write_bytes(MARKER + b" %d" % turn)
        (tree / "with" / "kept").write_bytes(os.urandom(20_000))
        (tree / f"new-{turn}").write_bytes(os.urandom(1000))
        words = ("--name", f"s{turn}", "-m", f"with {MARKER.decode()}")
        run("create", tree, *words, cwd=tree)
        states[f"s{turn}"] = survey(tree)
    return base, states


class Killed:
    """A copy of it, the program with it, and what each snapshot is to be."""

    def __init__(self, base: Path, states: States, workspace: Path) -> None:
        self.tree = base / "tree"
        self.scratch = workspace / "restored"
        shutil.copytree(base / "repository", workspace / "repository")
        home = workspace / "home"
        home.mkdir()
        self.run = InProcess(workspace / "repository")
        self.program = Program(workspace / "repository", home)
        self.whole = dict(states)

    def kill_at(self, point: str) -> None:
        words = ("purge", "with/deep", "--yes")
        env = {"SNAPFS_CRASH_AT": point}
        done = self.program(*words, cwd=self.tree, env=env, ok=None)
        assert done.code == -signal.SIGKILL, f"{point} was not reached\n{done}"

    def restored(self, name: str) -> State:
        self.run("restore", f"tree@{name}", "--to", self.scratch)
        state = survey(self.scratch)
        unlock_and_remove(self.scratch)
        return state

    def check(self, *, purged: bool) -> None:
        for name, state in self.whole.items():
            wanted = state.without([b"with/deep"]) if purged else state
            assert_same(wanted, self.restored(name))


@pytest.fixture
def killed(_once: tuple[Path, States], workspace: Path) -> Killed:
    return Killed(*_once, workspace)


@pytest.mark.parametrize("point", POINTS_OF_PURGE)
def test_it_is_done_again(point: str, killed: Killed) -> None:
    killed.kill_at(point)
    happened = point in BEHIND_THE_COMMIT
    if point in ("purge.packs-durable", "purge.journal-durable", "purge.committed"):
        killed.check(purged=happened)
    said = killed.run("verify", "--data").errors
    assert ("a purge is not finished" in said) == happened
    again = killed.run("purge", "with/deep", "--yes", cwd=killed.tree)
    # With the record there and not the commit, the same holds: it is finished first.
    finished = happened or point in ("purge.journal-durable", "purge.committing")
    assert ("an earlier purge was not finished" in again.errors) == finished
    nothing = killed.run("purge", "with/deep", "--yes", cwd=killed.tree, ok=(1,))
    assert "no snapshot of tree has with/deep" in nothing.errors
    killed.check(purged=True)
    assert traces(killed.run.repository, MARKER) == set()
    assert "not finished" not in killed.run("verify", "--data").errors
    assert not list(killed.run.repository.rglob("tmp-*"))


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ("purge.committed", ("create", "--name", "next", "--exclude", "deep")),
        ("purge.committing", ("create", "--name", "next", "--exclude", "deep")),
        ("purge.journal-restarted", ("delete", "s1", "--yes")),
    ],
)
def test_another_command_finishes_it(point: str, words: tuple[str, ...], killed: Killed) -> None:
    killed.kill_at(point)
    killed.run(*words, cwd=killed.tree)
    assert traces(killed.run.repository, MARKER) == set()
    if words[0] == "delete":
        del killed.whole["s1"]
    killed.check(purged=True)
    killed.run("verify", "--data")


@pytest.mark.parametrize(
    ("point", "lost"),
    [
        ("purge.packs-durable", True),
        (
            "purge.committing",
            False,
        ),  # runs are taken over from the old one, which has the name still
        ("purge.packs-removed", True),
    ],
)
def test_the_catalog_is_made_again(point: str, lost: bool, killed: Killed) -> None:
    """From the journal as it was left: the record counts if it is whole."""
    killed.kill_at(point)
    for name in ("catalog.db", "catalog.db-wal", "catalog.db-shm") if lost else ():
        (killed.run.repository / name).unlink(missing_ok=True)
    killed.run("rebuild-catalog")
    killed.check(purged=point != "purge.packs-durable")
    killed.run("verify", "--data")
    killed.run("purge", "with/deep", "--deleted", "--yes", cwd=killed.tree)
    assert traces(killed.run.repository, MARKER) == set()


def test_ctrl_c_after_it_counts_says_what_is_left(killed: Killed) -> None:
    words = ("purge", "with/deep", "--yes")
    process = killed.program.start(
        *words, cwd=killed.tree, env={"SNAPFS_CRASH_AT": "stop@purge.committed"}
    )
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    done = killed.program.finish(process, words, ok=(130,))
    assert "run the purge again to finish it" in done.errors
    killed.run(*words, cwd=killed.tree)
    assert traces(killed.run.repository, MARKER) == set()
