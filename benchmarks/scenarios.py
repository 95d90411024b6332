"""What is measured. Tools take turns within each round, so that all meet the same machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import trees
from benchmarks.process import FailedError, Timing, run
from benchmarks.tools import Tool, UnsupportedError

SNAPSHOTS = 100
"""Of the scenario that asks for the history."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A tool that can be started."""

    name: str
    kind: type[Tool]
    program: list[str]


@dataclass
class Measured:
    """``timings[operation][tool]`` in order of the rounds; ``stored[operation][tool]`` in bytes."""

    title: str
    timings: dict[str, dict[str, list[Timing]]] = field(default_factory=dict)
    stored: dict[str, dict[str, list[int]]] = field(default_factory=dict)

    def add(self, operation: str, tool: str, timing: Timing) -> None:
        """One more run of an operation by a tool."""
        self.timings.setdefault(operation, {}).setdefault(tool, []).append(timing)

    def add_stored(self, operation: str, tool: str, size: int) -> None:
        """How much a tool's repository takes (or grew by) after an operation."""
        self.stored.setdefault(operation, {}).setdefault(tool, []).append(size)


@dataclass(frozen=True, slots=True)
class Plan:
    """Where to work, how often, with whom; ``scale`` makes trees M and the big file smaller."""

    work: Path
    peers: tuple[Peer, ...]
    rounds: int
    scale: float


Step = Callable[[Tool], Timing]


class _Round:
    """One round: every tool with a fresh repository; the order of tools turns from round to round."""

    def __init__(self, plan: Plan, measured: Measured, tree: Path, number: int) -> None:
        turn = number % len(plan.peers)
        order = plan.peers[turn:] + plan.peers[:turn]
        self._measured = measured
        self.tools = [
            peer.kind(tree, plan.work / "repositories" / peer.name, peer.program) for peer in order
        ]

    def measure(self, operation: str, step: Step) -> None:
        """The same operation by every tool, one after the other."""
        for tool in list(self.tools):
            os.sync()  # or whoever waits for the disk pays for what the one before it wrote
            try:
                timing = step(tool)
            except UnsupportedError:
                continue
            except FailedError as error:
                print(f"{tool.name}: {operation}: {error}", file=sys.stderr)
                self.tools.remove(tool)
                continue
            self._measured.add(operation, tool.name, timing)
            print(f"  {operation}: {tool.name} {timing.wall_s:.2f} s", file=sys.stderr, flush=True)

    def measure_stored(self, operation: str, less: dict[str, int] | None = None) -> dict[str, int]:
        """Bytes each repository takes now, or what it grew by since ``less``."""
        sizes = {tool.name: tool.stored() for tool in self.tools}
        for name, size in sizes.items():
            self._measured.add_stored(operation, name, size - (less or {}).get(name, 0))
        return sizes


def installations(plan: Plan, tree: Path) -> Measured:
    """Tree A: a copy of it goes through changes of 1 % while every tool keeps a history of it."""
    measured = Measured("Tree A: software installations")
    copy = plan.work / "tree-a"
    _remove(copy)
    subprocess.run(["cp", "-a", tree, copy], check=True)
    folder = _some_directory(copy)
    file = _some_file(copy, folder)
    # Nothing is removed before the end: ext4 does not give an inode again that was removed in the last
    # minutes, and looks at each of them whenever it makes a file. After a hundred thousand removals
    # `cp -a` took five times as long.
    restored = plan.work / "restored"
    for number in range(plan.rounds):
        turn = _Round(plan, measured, copy, number)
        _warm(copy)
        # What changed within the clock's grain of a snapshot is read again by the next: the copy was
        # made just now, which no real tree is.
        time.sleep(3)
        turn.measure("first snapshot", lambda tool: tool.create())
        turn.measure_stored("bytes after the first")
        turn.measure("nothing changed", lambda tool: tool.create())
        for step in range(4):
            trees.change_files(copy, seed=100 * number + step)
            _warm(copy)
            if step == 0:
                turn.measure("1 % of the files changed", lambda tool: tool.create())
                turn.measure_stored("bytes after three snapshots")
            else:
                for tool in turn.tools:
                    tool.create()
        place = restored / str(number)
        place.mkdir(parents=True)
        turn.measure("restore all", lambda tool, at=place: tool.restore(0, at / tool.name))
        turn.measure("diff of neighbours", lambda tool: tool.diff(1, 2))
        turn.measure("ls of one directory", lambda tool: tool.ls(1, folder))
        turn.measure("versions of one file in six", lambda tool: tool.history(file))
        turn.measure("names by a pattern in six", lambda tool: tool.find("test_*.py"))
        turn.measure("delete one of six", lambda tool: tool.delete(3))
    _remove(plan.work / "repositories")
    _remove(restored)
    _remove(copy)
    return measured


def history(plan: Plan, tree: Path) -> Measured:
    """Questions over many snapshots of tree A, each with 1 % changed."""
    measured = Measured(f"{SNAPSHOTS} snapshots, 1 % changed in each")
    copy = plan.work / "tree-history"
    _remove(copy)
    subprocess.run(["cp", "-a", tree, copy], check=True)
    file = _some_file(copy, _some_directory(copy))
    for number in range(plan.rounds):
        turn = _Round(plan, measured, copy, number)
        turn.tools = [tool for tool in turn.tools if tool.answers]
        for step in range(SNAPSHOTS):
            for tool in turn.tools:
                tool.create()
            trees.change_files(copy, seed=1000 * number + step)
        # Each twice: whoever keeps a cache has filled it the first time.
        for when in ("first", "again"):
            turn.measure(f"versions of one file, {when}", lambda tool: tool.history(file))
            turn.measure(f"names by a pattern, {when}", lambda tool: tool.find("test_*.py"))
    _remove(plan.work / "repositories")
    _remove(copy)
    return measured


def million(plan: Plan, tree: Path) -> Measured:
    """Tree M: very many small files."""
    measured = Measured("Tree M: small files")
    for number in range(plan.rounds):
        turn = _Round(plan, measured, tree, number)
        _warm(tree)
        turn.measure("first snapshot", lambda tool: tool.create())
        turn.measure_stored("bytes after the first")
        turn.measure("nothing changed", lambda tool: tool.create())
    _remove(plan.work / "repositories")
    return measured


def big_file(plan: Plan) -> Measured:
    """One file, then 1 % of its 4 KiB pages rewritten in place."""
    measured = Measured("One big file, 1 % of its 4 KiB pages rewritten")
    tree = plan.work / "big"
    for number in range(plan.rounds):
        _remove(tree)
        trees.big_file(tree, size=int((4 << 30) * plan.scale) >> 20 << 20)
        turn = _Round(plan, measured, tree, number)
        _warm(tree)
        turn.measure("first snapshot", lambda tool: tool.create())
        before = turn.measure_stored("bytes after the first")
        trees.rewrite_pages(tree, seed=number)
        turn.measure("after the rewrite", lambda tool: tool.create())
        turn.measure_stored("bytes added by the rewrite", less=before)
    _remove(tree)
    _remove(plan.work / "repositories")
    return measured


def limits(plan: Plan, tree: Path, title: str) -> Measured:
    """What the machine itself can do with a tree, by standard tools."""
    measured = Measured(f"Limits on {title}")
    copies = plan.work / "copied"
    copies.mkdir()
    commands = {
        "find -printf": ["bash", "-c", 'find "$1" -printf "%p %s %T@\\n" > /dev/null'],
        "tar | cat": ["bash", "-c", 'tar -cf - -C "$1" . | cat > /dev/null'],
        "tar | zstd -3 -T2": ["bash", "-c", 'tar -cf - -C "$1" . | zstd -q -3 -T2 > /dev/null'],
        "cp -a": ["bash", "-c", 'cp -a "$1" "$2"'],
        "cp -a, and on the disk": ["bash", "-c", 'cp -a "$1" "$2" && sync -f "$2"'],
    }
    for number in range(plan.rounds):
        _warm(tree)
        for which, (name, command) in enumerate(commands.items()):
            target = copies / f"{number}-{which}"
            try:
                timing = run(
                    [*command, "bash", tree, target],
                    env=os.environ,
                    cwd=plan.work,
                    log=plan.work / "limits.log",
                )
            except FailedError as error:
                print(error, file=sys.stderr)
                continue
            measured.add(name, "time", timing)
    _remove(copies)
    return measured


def _warm(tree: Path) -> None:
    """Bring the tree into the page cache, and let no tool pay for what another wrote."""
    subprocess.run(
        ["bash", "-c", 'tar -cf - -C "$1" . | cat > /dev/null', "bash", tree], check=True
    )
    os.sync()


def _some_directory(tree: Path) -> str:
    """A directory with many entries, relative to the tree."""
    best = max(os.walk(tree), key=lambda item: min(len(item[1]) + len(item[2]), 300))
    return os.path.relpath(best[0], tree)


def _some_file(tree: Path, folder: str) -> str:
    """A file in a directory or below it, relative to the tree."""
    above, _, names = next(item for item in os.walk(tree / folder) if item[2])
    return os.path.relpath(Path(above) / min(names), tree)


def _remove(path: Path) -> None:
    if os.path.lexists(path):
        subprocess.run(["rm", "-rf", path], check=True)
        assert not path.exists()
