"""Reverts of random changes, with random edits since, against the three-way rule for each path of full copies."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, Phase, given, settings

from tests.harness.inprocess import InProcess
from tests.harness.output import name_of
from tests.harness.trees import State, assert_same, survey
from tests.property.edits import EDITS, apply

PICK = st.integers(0, 1000)
LEAF = st.sampled_from(["a", "b", "c", "d"])
STEP = st.tuples(st.sampled_from(sorted(EDITS)), PICK, PICK, LEAF)

Reasons = dict[bytes, str]


def entry(state: State, path: bytes) -> dict[str, Any] | None:
    """What a restore reproduces of an entry, but for the time of a directory."""
    fact = state.facts.get(path)
    if fact is None or fact["type"] != "dir":
        return fact
    return {key: value for key, value in fact.items() if key != "mtime"}


def is_dir(state: State, path: bytes) -> bool:
    return path in state.facts and state.facts[path]["type"] == "dir"


def alike(one: State, two: State, path: bytes) -> bool:
    """Whether two states have the same at a path, links to names that both have included."""
    a, b = entry(one, path), entry(two, path)
    if a is None or b is None or a != b:
        return a is b
    both = one.facts.keys() & two.facts.keys()
    alone = frozenset([path])
    return one.groups.get(path, alone) & both == two.groups.get(path, alone) & both


def names(state: State, path: bytes) -> set[bytes]:
    """The paths of what a directory holds."""
    return {one for one in state.facts if one and one != path and one.rpartition(b"/")[0] == path}


def check(a: State, b: State, live: State, done: State, reasons: Reasons) -> None:
    """``done`` is what the rule makes of the three states, where ``reasons`` are the conflicts told."""
    in_conflict = False
    for path in sorted(a.facts.keys() | b.facts.keys() | live.facts.keys() | done.facts.keys()):
        moved_with = _lies_in_what_cannot_move_back(path, live, reasons)
        told = path in reasons or any(
            path.startswith(one + b"/") and not is_dir(live, one) for one in reasons
        )
        if alike(a, b, path) or alike(live, a, path):
            assert path not in reasons, f"{path!r}: nothing is to be undone"
            assert entry(done, path) == entry(live, path), f"{path!r} was touched"
        elif not alike(live, b, path):
            in_conflict = True
            assert told or moved_with, f"{path!r} is a conflict, and nothing says so"
            assert entry(done, path) == entry(live, path), (
                f"{path!r} is a conflict, and was touched"
            )
        elif told:
            assert entry(done, path) == entry(live, path), f"{path!r} is told as a conflict"
            why = reasons.get(path, "no_directory")
            assert why in ("holds", "moved", "linked", "no_directory"), (
                f"{path!r} is as it was: {why}"
            )
            assert why != "holds" or names(done, path), f"{path!r} holds nothing"
        elif not moved_with or entry(done, path) != entry(live, path):
            assert entry(done, path) == entry(a, path), f"{path!r} is not as it was"
            check_links(a, done, path, reasons)
    strangers = [path for path in live.facts if path not in b.facts and not is_dir(a, above(path))]
    edited = [path for path in b.facts if not alike(b, live, path)]
    assert not reasons or in_conflict or strangers or edited, f"nothing is in the way of {reasons}"
    check_times(a, b, live, done)


def check_links(a: State, done: State, path: bytes, reasons: Reasons) -> None:
    """What was made as it was is linked as it was, to names that are as they were too."""
    alone = frozenset([path])
    was, now = a.groups.get(path, alone), done.groups.get(path, alone)
    more = (now & a.facts.keys()) - was - reasons.keys()  # conflicts keep the links that they have
    assert not more, f"{path!r} is linked to {more}"
    fine = {one for one in was - alone if one not in reasons and entry(done, one) == entry(a, one)}
    assert not fine or now & fine, f"{path!r} is linked to none of {fine}"


def _lies_in_what_cannot_move_back(path: bytes, live: State, reasons: Reasons) -> bool:
    """Whether a directory that it lies in cannot move back, which is told of the directory alone."""
    parts = path.split(b"/")
    ways = (b"/".join(parts[:count]) for count in range(1, len(parts)))
    return any(reasons.get(way) == "moved" and is_dir(live, way) for way in ways)


def above(path: bytes) -> bytes:
    return path.rpartition(b"/")[0]


def check_times(a: State, b: State, live: State, done: State) -> None:
    """A directory has its old time if it holds the same names again, by the revert or all the time."""
    for path in (one for one in done.facts if is_dir(done, one) and is_dir(live, one)):
        touched = any(
            not (is_dir(live, one) and is_dir(done, one)) and not alike(live, done, one)
            for one in names(live, path) | names(done, path)
        )
        now = live.facts[path]["mtime"]
        as_changed = is_dir(b, path) and b.facts[path]["mtime"] == now
        expected = now
        if is_dir(a, path) and (touched or as_changed) and names(a, path) == names(done, path):
            expected = a.facts[path]["mtime"]
        assert done.facts[path]["mtime"] == expected, f"time of {path!r}"


def conflicts(lines: list[dict[str, Any]]) -> Reasons:
    return {name_of(line): line["why"] for line in lines if line["schema"] == "revert-conflict/1"}


@given(
    first=st.lists(STEP, min_size=4, max_size=16),
    change=st.lists(STEP, min_size=1, max_size=5),
    later=st.lists(STEP, max_size=3),
    turned=st.booleans(),
    taken=st.booleans(),
)
@settings(
    max_examples=int(os.environ.get("SNAPFS_REVERTS", "8")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)
def test_each_path_follows_the_rule(
    first: list[Any], change: list[Any], later: list[Any], turned: bool, taken: bool
) -> None:
    """``turned``: from the later snapshot to the earlier one; ``taken``: there is one of the live tree too."""
    base = Path(tempfile.mkdtemp(prefix="snapfs-revert-"))
    try:
        check_one(base, first, change, later, turned=turned, taken=taken)
    finally:
        shutil.rmtree(base)


def check_one(
    base: Path,
    first: list[Any],
    change: list[Any],
    later: list[Any],
    *,
    turned: bool,
    taken: bool,
) -> None:
    """One revert: what it says it would do, what it does, that it is done, and undone."""
    run, tree = InProcess(base / "repository"), base / "tree"
    tree.mkdir()
    states = []
    head = "head" if taken else None
    for name, steps in (("one", first), ("two", change), (head, later)):
        for step in steps:
            apply(tree, *step)
        states.append(survey(tree, flags=False))
        if name is not None:
            run("create", tree, "--name", name)
    a, b, live = states
    a, b = (b, a) if turned else (a, b)
    words = ("revert", "two..one" if turned else "one..two", "--json")
    planned = run(*words, "--dry-run", cwd=tree, ok=(0, 5)).json_lines()
    assert_same(live, survey(tree, flags=False))
    lines = run(*words, "--yes", cwd=tree, ok=(0, 5)).json_lines()
    done = survey(tree, flags=False)
    plan, result = planned[-1], lines[-1]
    try:
        check(a, b, live, done, conflicts(lines))
        assert conflicts(planned) == conflicts(lines)
        assert result["problems"] == plan["problems"] == 0
        for would, did in (
            ("create", "created"),
            ("overwrite", "overwritten"),
            ("delete", "deleted"),
        ):
            assert plan[would] == result[did], would
    except AssertionError as error:
        diff = run("diff", "one", "two", "--all", cwd=tree).text
        raise AssertionError(f"{error}\nchange:\n{diff}\ntold: {conflicts(lines)}") from None
    again = run(*words, "--yes", cwd=tree, ok=(0, 5)).json_lines()
    assert not again[-1]["applied"], again
    assert again[-1]["safety"] is None
    assert_same(done, survey(tree, flags=False))
    if result["undo"] is not None:
        undo = shlex.split(result["undo"])
        run(*undo[undo.index("restore") :], "--yes", cwd=tree)
    assert_same(live, survey(tree, flags=False))
