"""What `usage` says of sets, snapshots and paths, against views that are walked, and against `delete`."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from snapfs.catalog import staying
from snapfs.catalog.database import Catalog
from snapfs.progress import NullProgress
from snapfs.repository.opened import Repository
from snapfs.usage import PathOptions, usage, usage_by_path, usage_of_set
from tests.harness.history import History
from tests.harness.inprocess import InProcess
from tests.property.edits import EDITS, apply
from tests.usage.naive import Key, Naive

STEPS = st.lists(
    st.tuples(
        st.sampled_from([*sorted(EDITS), "write", "write_large", "copy"]),
        st.integers(0, 1000),
        st.integers(0, 1000),
        st.sampled_from("abcd"),
    ),
    min_size=1,
    max_size=6,
)
TURNS = st.lists(st.tuples(st.sampled_from(["one", "two"]), STEPS), min_size=3, max_size=7)
CHOICES = st.lists(
    st.tuples(st.lists(st.booleans(), min_size=7, max_size=7), st.booleans()),
    min_size=2,
    max_size=3,
)


@given(first=STEPS, turns=TURNS, choices=CHOICES)
@settings(
    max_examples=int(os.environ.get("SNAPFS_USAGES", "10")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
def test_as_the_views_say_and_as_delete_does(
    first: list[tuple[str, int, int, str]],
    turns: list[tuple[str, list[tuple[str, int, int, str]]]],
    choices: list[tuple[list[bool], bool]],
) -> None:
    """Two roots with blocks in common; then sets go, one after the other, some while somebody reads."""
    base = Path(tempfile.mkdtemp(prefix="snapfs-usage-"))
    try:
        snapfs = InProcess(base / "repository")
        for root in ("one", "two"):
            (base / root).mkdir()
            for step in [*first, *turns[0][1]]:
                apply(base / root, *step)
        for number, (root, steps) in enumerate(turns):
            for step in steps:
                apply(base / root, *step)
            snapfs("create", base / root, "--name", f"n{number}")
        for picks, reading in choices:
            keys = _look(base / "repository")
            chosen = [key for key, pick in zip(keys, picks, strict=False) if pick]
            if chosen:
                _delete(snapfs, chosen, reading=reading)
        rest = _look(base / "repository")
        if rest:
            _delete(snapfs, rest, reading=False)
            assert not _sizes(snapfs.repository)
    finally:
        shutil.rmtree(base)


def _look(repository: Path) -> list[Key]:
    """Every snapshot, every path and some sets are as the views say; the snapshots there are."""
    with Repository(os.fsencode(repository), write=False) as opened:
        naive = Naive.of(opened)
        keys = sorted(naive.views)
        by_key = {
            (root.label, one.name): one
            for root in opened.roots()
            for one in opened.snapshots(root.id)
        }
        for chosen in (keys, keys[1:], keys[:-1], keys[::2], keys[1:2]):
            for most in (0, staying.MOST_MARKS):  # by what goes, and by what stays
                with mock.patch.object(staying, "MOST_MARKS", most):
                    snapshots = [by_key[key] for key in chosen]
                    found = usage_of_set(opened, snapshots, progress=NullProgress())
                assert (found.freed_bytes, found.reclaimable_bytes) == naive.gain(chosen), chosen
        for root in opened.roots():
            ours = [key for key in keys if key[0] == root.label]
            for one in usage(opened, root, progress=NullProgress()).snapshots:
                alone = naive.sole([(root.label, one.snapshot.name)])
                assert one.sole_stored_bytes == naive.bytes(alone)
            for chosen, depth in ((ours, 1), (ours[1:], 2), (ours[:1], 9)):
                told = usage_by_path(
                    opened, root, [by_key[key] for key in chosen], PathOptions(depth),
                    progress=NullProgress(),
                )  # fmt: skip
                lines = [(one.path, (one.stored_bytes, one.unique_bytes)) for one in told]
                if ours:
                    assert dict(lines) == naive.paths(root.label, chosen, depth)
                sizes = [stored for _, (stored, _) in lines]
                assert sizes == sorted(sizes, reverse=True)
    return keys


def _delete(snapfs: InProcess, chosen: list[Key], *, reading: bool) -> None:
    """`usage`, `delete -n` and `delete` say the same, and it is what happens; pins do not matter to the first."""
    words = [f"{root}@{name}" for root, name in chosen]
    snapfs("pin", words[0])
    asked = snapfs("usage", *words, "--json").json()
    assert asked["pinned"] == [chosen[0][1]]
    snapfs("unpin", words[0])
    before = _sizes(snapfs.repository)
    planned = snapfs("delete", *words, "--dry-run", "--json").json()
    with ExitStack() as stack:
        if reading:
            stack.enter_context(_reader(snapfs.repository))
        done = snapfs("delete", *words, "--yes", "--json").json()
    after = _sizes(snapfs.repository)
    for key in ("freed_bytes", "reclaimable_bytes"):
        assert asked[key] == planned[key]
    assert asked["packs"] == planned["packs_removed"]
    assert done["reclaimable_bytes"] == asked["reclaimable_bytes"]
    assert done["pending_bytes" if reading else "freed_bytes"] == asked["freed_bytes"]
    assert sum(before.values()) - sum(after.values()) == done["freed_bytes"]
    assert not asked["unfinished"]


def _sizes(repository: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in (repository / "packs").iterdir()}


@contextmanager
def _reader(repository: Path) -> Iterator[None]:
    """Somebody who decodes blocks, as far as a lock tells."""
    with (repository / "locks/gc").open("rb+") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def test_what_killed_runs_left_is_counted(past: History) -> None:
    """Packs whose rows are gone, and packs of a snapshot that never was, which the next delete cannot know."""
    packs = past.snapfs.repository / "packs"
    (past.tree / "only s3").write_bytes(os.urandom(50_000))
    past.take("s3")
    (past.tree / "only s3").unlink()
    past.take("s4")
    kill = {"SNAPFS_CRASH_AT": "create.packs-durable"}
    (past.tree / "never").write_bytes(os.urandom(70_000))
    assert past.snapfs("create", past.tree, env=kill, ok=None).code == -signal.SIGKILL
    kill = {"SNAPFS_CRASH_AT": "delete.rows-collected"}
    killed = past.snapfs("delete", "s3", "--yes", env=kill, cwd=past.tree, ok=None)
    assert killed.code == -signal.SIGKILL
    asked = past.referee("usage", "s1", "s4", "--json", cwd=past.tree).json()
    assert asked["freed_bytes"] > 50_000
    before = sum(path.stat().st_size for path in packs.iterdir())
    done = past.referee("delete", "s1", "s4", "--yes", "--json", cwd=past.tree).json()
    assert before - sum(path.stat().st_size for path in packs.iterdir()) == asked["freed_bytes"]
    for key in ("freed_bytes", "reclaimable_bytes"):
        assert done[key] == asked[key]


def test_a_change_under_way_is_told(past: History) -> None:
    """The journal knows a snapshot that the catalog does not: it may need what the set would free."""
    kill = {"SNAPFS_CRASH_AT": "create.journal-durable"}
    assert past.snapfs("create", past.tree, env=kill, ok=None).code == -signal.SIGKILL
    told = past.referee("usage", "latest", cwd=past.tree)
    assert "a run is at work or was killed" in told.errors
    assert past.referee("usage", "latest", "--json", cwd=past.tree).json()["unfinished"] is True
    past.referee("pin", "s0", cwd=past.tree)
    assert not past.referee("usage", "latest", cwd=past.tree).errors


def test_nothing_is_waited_for(past: History) -> None:
    """Writers hold every lock there is, and the catalog is being written: questions are answered."""
    locks = past.snapfs.repository / "locks"
    catalog = past.snapfs.repository / "catalog.db"
    with ExitStack() as stack:
        for path in locks.iterdir():
            fcntl.flock(stack.enter_context(path.open("rb+")), fcntl.LOCK_EX)
        writer = stack.enter_context(closing(sqlite3.connect(catalog, isolation_level=None)))
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM snapshot")
        for words in (("usage",), ("usage", "s1"), ("usage", "--by-path"), ("delete", "s1", "-n")):
            assert past.referee(*words, cwd=past.tree).out


def test_statements_do_not_follow_the_history(
    past: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many of twice the snapshots with twice the files."""
    real = Catalog.execute
    seen: list[str] = []

    def execute(self: Catalog, statement: str, params: Any = ()) -> sqlite3.Cursor:
        seen.append(statement)
        return real(self, statement, params)

    def counts(most: str) -> list[int]:
        found = []
        for words in (("usage",), ("usage", "s1"), ("usage", most), ("usage", "--by-path")):
            seen.clear()
            past.referee(*words, cwd=past.tree)
            found.append(len(seen))
        return found

    monkeypatch.setattr(Catalog, "execute", execute)
    before = counts("s0..s1")
    for number in range(3, 6):
        for copy in range(30):
            (past.tree / f"{number}-{copy}").write_bytes(os.urandom(100))
        past.change()
        past.referee("create", past.tree, "--name", f"s{number}")
    assert counts("s0..s4") == before
