"""Random histories: `log` and `find` against what each snapshot lists, and against each diff."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.harness.inprocess import InProcess
from tests.harness.output import entries, name_of
from tests.property.edits import EDITS, apply

SHOWN = ("kind", "mode", "uid", "gid", "size", "mtime", "target", "rdev", "unread")
Lines = list[dict[str, Any]]


class Known:
    """Everything that the other commands say of a chain."""

    def __init__(self, run: InProcess, tree: Path) -> None:
        self.run = run
        self.names = [line["name"] for line in run("list", "--json", cwd=tree).json_lines()]
        self.listed = [entries(run("ls", name, "-R", "--json", cwd=tree)) for name in self.names]
        self.tree = tree
        self.diffs: list[dict[bytes, dict[str, Any]]] = []
        for one, two in zip(self.names, self.names[1:], strict=False):
            lines = run("diff", one, two, "--all", "--json", cwd=tree).json_lines()
            self.diffs.append({name_of(line): line for line in lines})

    @property
    def paths(self) -> set[bytes]:
        return {path for listed in self.listed for path in listed}

    def positions(self, line: dict[str, Any]) -> range:
        first, last = (self.names.index(line[key].partition("@")[2]) for key in ("first", "last"))
        return range(first, last + 1)

    def came_from(self, path: bytes, at: int) -> bytes | None:
        """By the diff of the snapshot before: what moved to ``path``, itself or with what is above it."""
        lines = self.diffs[at - 1]
        above = path
        while above:
            line = lines.get(above)
            if line is not None and line["letter"] == "R":
                return name_of(line, "old_path") + path[len(above) :]
            if line is not None and line["letter"] == "+":
                return None
            above = above.rpartition(b"/")[0]
        return None


def check_find(known: Known) -> None:
    """Every name of every snapshot once, as it was, and as few ranges as can be."""
    found: dict[tuple[bytes, int], dict[str, Any]] = {}
    last: dict[bytes, tuple[int, tuple[Any, ...]]] = {}
    for line in known.run("find", "*", "--json", cwd=known.tree).json_lines():
        path, positions = name_of(line), known.positions(line)
        for at in positions:
            assert (path, at) not in found, f"told twice: {path!r}"
            found[path, at] = line
        state = tuple(
            line[key] for key in (*SHOWN, "digest") if (line["kind"], key) != ("dir", "mtime")
        )
        before = last.get(path)
        assert before is None or before != (positions[0] - 1, state), f"one range in two: {line}"
        last[path] = positions[-1], state
        assert line["newest"] == (positions[-1] == len(known.names) - 1)
    assert set(found) == {(path, at) for at, there in enumerate(known.listed) for path in there}
    for (path, at), line in found.items():
        listed = known.listed[at][path]
        for key in SHOWN:
            if (listed["kind"], key) != ("dir", "mtime"):
                assert line[key] == listed[key], (path, key)


def check_log(known: Known, path: bytes) -> None:
    """The versions of a path cover what has it, and came about as the diffs say."""
    lines = known.run("log", b":" + path, "--json", "--all", cwd=known.tree).json_lines()
    here = [line for line in lines if name_of(line) == path]
    there: dict[int, dict[str, Any]] = {}
    for line in here:
        for at in known.positions(line):
            assert at not in there, f"told twice: {line}"
            there[at] = line
    for at, listed in enumerate(known.listed):
        entry = there[at]["entry"] if at in there else None
        if path not in listed:
            assert entry is None
            continue
        assert entry is not None, f"{path!r} is in {known.names[at]}"
        for key in SHOWN:
            assert entry[key] == listed[path][key], (path, key)
    for line in here:
        at = known.positions(line)[0]
        if line["letter"] == "-":
            assert path in known.listed[at - 1]
        elif at and path in known.listed[at - 1]:
            said = known.diffs[at - 1].get(path, {"what": []})
            what = [word for word in said["what"] if word != "links"]
            kept = line["what"]
            if line["entry"]["kind"] == "dir" and what[:1] != ["type"]:
                kept = [word for word in kept if word != "content"]
            assert kept == what, (line, said)
        elif at:
            old = known.came_from(path, at)
            assert (line["letter"] == "R") == (old is not None), (line, old)
            if old is not None:
                assert name_of(line, "old_path") == old


@pytest.mark.parametrize("seed", range(3))
def test_random_histories(seed: int, run: InProcess, tree: Path) -> None:
    choose = random.Random(seed)
    for number in range(6):
        for _ in range(choose.randint(1, 7)):
            leaf = choose.choice("abcd")
            name = choose.choice(sorted(EDITS))
            apply(tree, name, choose.randrange(1000), choose.randrange(1000), leaf)
        run("create", tree, "--name", f"s{number}")
    check_all(Known(run, tree))
    run("delete", *choose.sample([f"s{number}" for number in range(6)], 2), "--yes", cwd=tree)
    check_all(Known(run, tree))


def check_all(known: Known) -> None:
    check_find(known)
    for path in sorted(known.paths):
        check_log(known, path)
