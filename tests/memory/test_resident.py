"""Memory is bounded by the pipeline's depth, not by the tree: workers included."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.harness.filesystems import mounted
from tests.harness.program import Argument, Program
from tests.harness.require import need_root

MIB = 1 << 20
LIMIT = 300 * MIB


def children_of(parent: int) -> list[int]:
    """The process and all that descend from it."""
    found, todo = [], [parent]
    while todo:
        pid = todo.pop()
        found.append(pid)
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                todo += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
        except OSError:
            continue
    return found


def resident(pid: int) -> int:
    """Resident bytes of one process, its share of what it shares."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except (OSError, ProcessLookupError):
        pass
    return 0


def peak_resident(snapfs: Program, *words: Argument) -> int:
    """Run a command and return the largest sum of resident bytes that was seen."""
    process = snapfs.start(*words)
    peak = 0
    with ThreadPoolExecutor(1) as reader:
        # Its output is read meanwhile: a full pipe would stop it for ever.
        done = reader.submit(snapfs.finish, process, words)
        while not done.done():
            peak = max(peak, sum(map(resident, children_of(process.pid))))
            time.sleep(0.02)
        done.result()
    return peak


def make_files(tree: Path, count: int) -> None:
    """So many small files, all different, in one directory."""
    tree.mkdir()
    directory = os.open(tree, os.O_RDONLY)
    for number in range(count):
        fd = os.open(
            f"file-with-some-name-{number:08d}", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=directory
        )
        os.write(fd, b"%035d\n" % number)
        os.close(fd)
    os.close(directory)


@pytest.mark.timeout(600)
def test_growth_with_the_number_of_files(snapfs: Program, workspace: Path) -> None:
    """Five times the files, all in one directory, take little more."""
    small, large = 20_000, 100_000
    peaks: dict[str, list[int]] = {}
    with ExitStack() as stack:
        # So many files are made and removed in an instant there.
        root = os.geteuid() == 0
        place = stack.enter_context(mounted("tmpfs", workspace / "t")) if root else workspace
        for count in (small, large):
            tree = place / f"tree{count}"
            make_files(tree, count)
            for what, words in (
                ("create", ("create", tree, "--name", "s0")),
                ("again", ("create", tree, "--name", "s1")),
                ("restore", ("restore", f"{tree.name}@s0", "--to", place / f"target{count}")),
                ("ls", ("ls", f"{tree.name}@s0:")),
            ):
                peaks.setdefault(what, []).append(peak_resident(snapfs, *words))
    for what, (few, many) in peaks.items():
        # Up to here two caches of 40 MiB and a window of files still fill: no line to a million.
        assert many < LIMIT // 2 + few, (what, few >> 20, many >> 20)


@pytest.mark.timeout(600)
def test_a_directory_of_many_middling_files(snapfs: Program, workspace: Path) -> None:
    """Each is read as a whole, and held until it is stored beside its like."""
    need_root()
    with mounted("tmpfs", workspace / "t") as place:
        tree = place / "tree"
        tree.mkdir()
        for number in range(4200):
            (tree / f"f{number}").write_bytes(os.urandom(64) * (number % 4 * 1000))
        assert peak_resident(snapfs, "create", tree, "--name", "s0") < LIMIT * 2 // 3


@pytest.mark.timeout(600)
def test_one_large_file(snapfs: Program, workspace: Path) -> None:
    """A gibibyte of noise, and four of holes beside it."""
    tree = workspace / "tree"
    tree.mkdir()
    with (tree / "noise").open("wb") as file:
        for _ in range(64):
            file.write(os.urandom(16 * MIB))
    with (tree / "holes").open("wb") as file:
        file.truncate(4 << 30)
        file.seek(3 << 30)
        file.write(b"data")
    assert peak_resident(snapfs, "create", tree, "--name", "s0") < LIMIT
    assert peak_resident(snapfs, "restore", "s0", "--to", workspace / "target") < LIMIT
    assert peak_resident(snapfs, "verify", "--data") < LIMIT
