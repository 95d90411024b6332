"""``entries`` and ``changes`` say of every snapshot what ls and diff say, whatever happened and was deleted."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, example, given, settings

from tests.harness.inprocess import InProcess
from tests.harness.output import entries, name_of, snapshots
from tests.property.edits import EDITS, apply

PICK = st.integers(0, 1000)
STEPS = st.lists(
    st.tuples(st.sampled_from(sorted(EDITS)), PICK, PICK, st.sampled_from("abcd")), max_size=10
)
HISTORY = st.lists(st.tuples(STEPS, st.lists(PICK, max_size=2)), min_size=2, max_size=6)

RANGE = {"first", "last", "latest", "first_id", "last_id"}
SHOWN = ("kind", "mode", "uid", "gid", "size", "target", "unread")
STATE = (*SHOWN, "mtime_s", "mtime_nsec", "content", "flags", "xattrs", "rdev")

Row = dict[str, Any]


def rows_of(run: InProcess, query: str, *options: str) -> list[Row]:
    return run("sql", "--json", "--limit", "0", *options, query).json_lines()


def by_snapshot(run: InProcess) -> dict[tuple[str, int], dict[bytes, Row]]:
    """What ``entries`` has for each root and snapshot."""
    chains = defaultdict(list)
    for one in rows_of(run, "SELECT root, id, name FROM snapshots ORDER BY id"):
        chains[one["root"]].append(one)
    found: dict[tuple[str, int], dict[bytes, Row]] = {
        (root, one["id"]): {} for root, chain in chains.items() for one in chain
    }
    everything = rows_of(run, "SELECT * FROM entries")
    for row in everything:
        ids = [one["id"] for one in chains[row["root"]]]
        names = {one["id"]: one["name"] for one in chains[row["root"]]}
        assert (names[row["first_id"]], names[row["last_id"]]) == (row["first"], row["last"])
        assert row["latest"] == (row["last_id"] == ids[-1])
        path = name_of(row)
        assert name_of(row, "name") == path.rpartition(b"/")[2]
        for at in ids[ids.index(row["first_id"]) : ids.index(row["last_id"]) + 1]:
            view = found[row["root"], at]
            assert path not in view, f"{path!r} twice in {at}: {row} {view[path]}"
            view[path] = row
    for one, two in itertools.combinations(everything, 2):
        if {key: one[key] for key in one.keys() - RANGE} == {
            key: two[key] for key in two.keys() - RANGE
        }:
            ids = [snapshot["id"] for snapshot in chains[one["root"]]]
            places = sorted(
                (ids.index(row["first_id"]), ids.index(row["last_id"])) for row in (one, two)
            )
            assert places[0][1] + 1 < places[1][0], f"one version in two rows: {one} {two}"
    return found


def check(run: InProcess) -> None:
    views = by_snapshot(run)
    named = {one["id"]: one["reference"] for one in snapshots(run("list", "--all", "--json"))}
    for (_, at), view in views.items():
        listed = entries(run("ls", f"{named[at]}:", "--recursive", "--json"))
        assert listed.keys() == view.keys() - {b""}
        assert view[b""]["kind"] == "dir"
        for path, line in listed.items():
            row = view[path]
            for key in SHOWN:
                told = row.get(f"{key}_b64", row[key])
                assert told == line.get(f"{key}_b64", line[key]), (path, key)
            assert (
                row["mtime"] + "Z"
                == line["mtime"].replace("T", " ").partition(".")[0].rstrip("Z") + "Z"
            )
    check_conditions(run)
    told = defaultdict(set)
    for row in rows_of(run, "SELECT * FROM changes"):
        key = row["root"], row["previous_id"], row["snapshot_id"]
        line = row["letter"], name_of(row), frozenset((row["what"] or "").split(",")) - {""}
        assert line not in told[key]
        told[key].add(line)
    for one, two in itertools.pairwise(sorted(views)):
        if one[0] == two[0]:
            check_changes(told.pop((*one, two[1]), set()), views[one], views[two])
            check_diff(
                run,
                told_of=rows_of(
                    run, f"SELECT letter, path, what FROM changes WHERE snapshot_id = {two[1]}"
                ),
                one=named[one[1]],
                two=named[two[1]],
            )
    assert not told


def check_conditions(run: InProcess) -> None:
    """What is looked up by an index is what is found by looking at all."""
    for view, keys in (
        ("entries", ("dir", "name", "path", "inode", "content", "parent", "latest", "first", "last_id")),
        ("changes", ("dir", "name", "path", "snapshot", "snapshot_id", "letter")),
    ):  # fmt: skip
        everything = rows_of(run, f"SELECT * FROM {view}")
        texts = []
        for key in keys if everything else ():
            value = everything[len(everything) // 2][key]
            if value is not None and f"{key}_b64" not in everything[len(everything) // 2]:
                texts.append((key, value, f"{key} = {value!r}"))
        for key, value, text in texts:
            found = rows_of(run, f"SELECT * FROM {view} WHERE {text}")
            expected = [row for row in everything if row[key] == value and f"{key}_b64" not in row]
            assert sorted(map(repr, found)) == sorted(map(repr, expected)), text


def check_changes(
    told: set[tuple[str, bytes, frozenset[str]]], old: dict[bytes, Row], new: dict[bytes, Row]
) -> None:
    """By the rows of both snapshots."""
    expected = {("+", path) for path in new.keys() - old.keys()}
    expected |= {("-", path) for path in old.keys() - new.keys()}
    for path in old.keys() & new.keys():
        if any(old[path][key] != new[path][key] for key in STATE):
            expected.add(("M", path))
    assert {line[:2] for line in told} == expected
    assert all(bool(what) == (letter == "M") for letter, _, what in told)


def check_diff(run: InProcess, told_of: list[Row], one: str, two: str) -> None:
    """By diff, where it reports no rename and no other links."""
    lines = run("diff", one, two, "--all", "--json").json_lines()
    if any(line["letter"] == "R" or "links" in line["what"] for line in lines):
        return
    told = {
        (row["letter"], name_of(row), frozenset((row["what"] or "").split(",")) - {""})
        for row in told_of
    }
    assert told == {(line["letter"], name_of(line), frozenset(line["what"])) for line in lines}


@settings(
    max_examples=int(os.environ.get("SNAPFS_QUERIES", "4")), deadline=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(history=HISTORY)
@example(
    # A directory takes another's path with a file of it, there and back, and the time between goes.
    history=[
        ([("make_directory", 0, 0, "a"), ("make_directory", 0, 0, "b"), ("write", 1, 9, "c")], []),
        ([("move", 1, 2, "c"), ("move_directory", 0, 0, "d"), ("move_directory", 0, 0, "a")], []),
        ([("move_directory", 0, 0, "b"), ("move", 1, 2, "c")], [1]),
        ([("swap", 0, 1, "a"), ("hard_link", 1, 0, "d")], []),
    ]
)
def test_a_history(history: list[tuple[list[tuple[str, int, int, str]], list[int]]]) -> None:
    base = Path(tempfile.mkdtemp(prefix="snapfs-query-"))
    try:
        run = InProcess(base / "repository")
        tree = base / "tree"
        tree.mkdir()
        (tree / os.fsdecode(b"n\xff")).write_bytes(b"x")
        for number, (steps, deleted) in enumerate(history):
            for step in steps:
                apply(tree, *step)
            run("create", tree, "--name", f"n{number}")
            for pick in deleted:
                there = snapshots(run("list", "--all", "--json"))
                run("delete", there[pick % len(there)]["reference"], "--yes")
                if len(there) == 1:
                    break
        check(run)
    finally:
        shutil.rmtree(base)
