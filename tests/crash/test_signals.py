"""SIGINT, SIGTERM and SIGHUP at each named point: nothing half-visible, the usual code, no leftovers."""

from __future__ import annotations

import array
import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from snapfs.faults import POINTS
from tests.harness.history import History
from tests.harness.program import Argument, Program, Result
from tests.harness.trees import assert_same, survey, unlock_and_remove

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


LONG_STATEMENT = """
import os, sys
from snapfs import interruption
from snapfs.catalog.database import Catalog
from snapfs.cli.frame import signals
catalog = Catalog(os.fsencode(sys.argv[1]), write=True)
try:
    with signals.as_exceptions(last=True), signals.reaching(interruption.stop_all), catalog.write():
        catalog.set_meta("half", "visible")
        print("began", flush=True)
        catalog.execute(
            "INSERT INTO orphan WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"
            " SELECT n FROM c WHERE n < 0"
        )
except signals.Interrupted as interrupted:
    assert not catalog.in_transaction  # the context's own clean-up ran
    assert catalog.meta("half") is None
    with catalog.write():
        catalog.set_meta("after", "all")
    sys.exit(interrupted.exit_code)
"""


@pytest.mark.parametrize("which", CODES)
def test_one_endless_statement_is_interrupted(which: signal.Signals, past: History) -> None:
    """The handler could not run before the statement ends, and this one never does."""
    words = [sys.executable, "-c", LONG_STATEMENT, past.snapfs.repository / "catalog.db"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"began\n"
        time.sleep(0.1)
        process.send_signal(which)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, errors) == (CODES[which], b"")
    past.take("next")
    past.check(*past.listed())


def test_waiting_for_another_writer_is_interrupted(past: History) -> None:
    with closing(sqlite3.connect(past.snapfs.repository / "catalog.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        words = ("tag", "s0", "late")
        process = past.snapfs.start(*words, cwd=past.tree)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(2)
        process.send_signal(signal.SIGINT)
        done = past.snapfs.finish(process, words, ok=(130,), timeout_s=30)
        other.rollback()
    assert "late" not in past.snapfs("show", "s0", cwd=past.tree).text, str(done)
    past.snapfs(*words, cwd=past.tree)


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


@pytest.fixture(scope="module")
def much(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Snapshots of which every command has more to say than a pipe takes."""
    base = tmp_path_factory.mktemp("much")
    (base / "home").mkdir()
    snapfs = Program(base / "repository", base / "home")
    tree = base / "tree"
    for number in range(1500):
        below = tree / f"directory-{number % 40:02d}"
        below.mkdir(parents=True, exist_ok=True)
        (below / f"a-file-with-a-name-that-takes-room-{number:05d}").write_bytes(b"x%d" % number)
    (tree / "text").write_text("".join(f"line {number}\n" for number in range(20_000)))
    snapfs.create(tree, "one")
    for path in tree.glob("*/a-file*"):
        path.write_bytes(b"changed")
    (tree / "text").write_text("".join(f"Line {number}\n" for number in range(20_000)))
    snapfs.create(tree, "two")
    yield snapfs
    unlock_and_remove(base)


SAYING: list[tuple[str, ...]] = [
    ("ls", "tree@one:", "--recursive"),
    ("ls", "tree@one:", "--recursive", "-l"),
    ("ls", "tree@one:", "--recursive", "--json"),
    ("ls", "tree@.:", "--recursive"),
    ("diff", "tree@one", "tree@two"),
    ("diff", "tree@one", "tree@.", "--json"),
    ("diff", "tree@one", "tree@two", "--content", "text"),
    ("cat", "tree@one:text"),
]


def full(process: subprocess.Popen[bytes]) -> None:
    """Wait until what a command says fills its pipe: then it waits in the middle of its work."""
    assert process.stdout is not None
    waiting, before = array.array("i", [0]), -1
    deadline = time.monotonic() + 30
    while waiting[0] < 4096 or waiting[0] != before:
        assert time.monotonic() < deadline and process.poll() is None, "it said too little"
        before = waiting[0]
        time.sleep(0.2)
        fcntl.ioctl(process.stdout, termios.FIONREAD, waiting)


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("words", SAYING, ids=" ".join)
def test_a_command_is_interrupted_in_mid_sentence(
    words: tuple[str, ...], which: signal.Signals, much: Program
) -> None:
    process = much.start(*words, cwd=much.repository.parent / "tree")
    full(process)
    process.send_signal(which)
    done = much.finish(process, words, ok=(CODES[which],), timeout_s=30)
    assert done.err == b""


@pytest.mark.parametrize("words", SAYING, ids=" ".join)
def test_the_reader_goes_away_in_mid_sentence(words: tuple[str, ...], much: Program) -> None:
    process = much.start(*words, cwd=much.repository.parent / "tree")
    full(process)
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    done = much.finish(process, words, ok=(141,), timeout_s=30)
    assert done.err == b""
