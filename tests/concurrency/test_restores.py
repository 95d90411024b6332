"""Restores of one root at once, and what the processes of one that was killed may still do."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

import pytest

from snapfs.blocks.reader import BlockReader
from snapfs.fs.patterns import split_lines
from snapfs.fs.rules import RuleLine, Rules
from snapfs.inplace.protect import Protection
from snapfs.materialize.attributes import KEEP
from snapfs.materialize.dirtable import TOP, DirCache, DirTable
from snapfs.materialize.filewriter import REPLACES, FileJob, FileWriter
from snapfs.model.extents import ExtentKind
from snapfs.repository import locks
from snapfs.storage.files import FileBackend
from tests.harness.inprocess import InProcess


def test_only_one_restores_a_root_in_place(workspace: Path, tree: Path) -> None:
    run = InProcess(workspace / "repository")
    (tree / "a").write_text("one")
    run("create", tree, "--name", "one")
    (tree / "a").write_text("two")
    words = ("restore", "one", "--in-place", "--yes", "--no-safety")
    with (run.repository / "locks" / "restore-1").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run(*words, "--lock-wait", "0s", cwd=tree, ok=(11,))
        assert "another snapfs is at work on root tree" in done.errors
        assert (tree / "a").read_text() == "two"
        run("restore", "one", "--to", workspace / "beside", cwd=tree)
        run("create", tree)
    run(*words, cwd=tree)
    assert (tree / "a").read_text() == "one"


class Orphaned(Exception):
    """As the end of a worker nobody waits for."""


def test_a_worker_without_a_parent_gives_no_file_its_name(workspace: Path, tree: Path) -> None:
    (tree / "a").write_text("of the next command")
    left = [1]  # the check before the batch

    def check() -> None:
        if not left:
            raise Orphaned
        left.pop()

    hole = (int(ExtentKind.HOLE), 8192, b"", "", 0, 0, 0)
    job = FileJob(TOP, b"a", 0o644, KEEP, KEEP, 0, b"", 0, 8192, REPLACES, (hole,))
    top = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    (workspace / "packs").mkdir()
    with FileBackend(workspace) as backend:
        writer = FileWriter(
            DirCache(top, DirTable(), 16), BlockReader(backend), b"", sparse=False, check_stop=check
        )
        with pytest.raises(Orphaned):
            writer.write([job])
    assert (tree / "a").read_text() == "of the next command"
    assert os.listdir(tree) == ["a"]


def test_rules_on_the_way_down_are_made_once(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory of many levels is deleted in a time that follows their number."""
    rules = Rules(patterns=tuple(RuleLine(line, "test") for line in split_lines(b"*.o\n")))
    kept = Protection(rules, os.fsencode(tree), b"", lambda _: False, lambda _: False)
    entered = []
    enter = kept._matcher.enter
    monkeypatch.setattr(kept._matcher, "enter", lambda *args: entered.append(args) or enter(*args))
    parts: tuple[bytes, ...] = ()
    for _ in range(60):
        assert not kept(parts, b"d", True)
        assert kept(parts, b"x.o", False)
        parts = (*parts, b"d")
    assert len(entered) == 59
    for depth in range(59, 0, -1):  # back up, as a removal goes
        assert not kept(parts[:depth], b"d", True)
    assert len(entered) == 59
    assert not kept((b"d", b"other"), b"d", True)
    assert len(entered) == 60


@pytest.mark.parametrize(
    "words",
    [
        ("cat", "one:a"),
        ("restore", "one", "--to", "../beside"),
        ("restore", "one", "--in-place", "--yes", "--no-safety"),
        ("diff", "one", "."),
        ("revert", "one..two", "--dry-run"),
        ("revert", "one..two", "--yes"),
    ],
    ids=lambda words: " ".join(words[:3]),
)
def test_readers_wait_for_a_purge_no_longer_than_they_are_told(
    workspace: Path, tree: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "GRACE_S", 0.0)
    run = InProcess(workspace / "repository")
    (tree / "a").write_text("one")
    run("create", tree, "--name", "one")
    (tree / "a").write_text("two")
    run("create", tree, "--name", "two")
    with (run.repository / "locks" / "gc").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run(*words, "--lock-wait", "0s", cwd=tree, ok=(11,))
    assert "another snapfs is at work on" in done.errors
    assert "--lock-wait" in done.errors
    assert (tree / "a").read_text() == "two"
    assert run("list", "--json", cwd=tree).text.count('"name"') == 2


@pytest.mark.parametrize("words", [("cat", "one:a"), ("create", "--name", "two")])
def test_what_is_over_in_moments_is_waited_for(
    run: InProcess, tree: Path, words: tuple[str, ...]
) -> None:
    """A delete that collects is no reason for a nightly create, or for a cat in a script, to fail."""
    (tree / "a").write_text("one")
    run("create", tree, "--name", "one")
    lock = os.open(run.repository / "locks" / "gc", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    collected = threading.Timer(0.3, os.close, (lock,))
    collected.start()
    run(*words, cwd=tree)
    collected.join()
