"""The time left of a first snapshot: what it will go through is counted beside it, by the same rules."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from snapfs.capture import forecast, survey
from snapfs.capture.forecast import Forecast
from snapfs.capture.seen import ScanOptions
from snapfs.capture.staging import FLUSH_ROWS
from snapfs.create import CreateOptions, create
from snapfs.fs.rules import RuleLine, Rules
from snapfs.model.snapshot import NewRoot
from snapfs.progress import NullProgress
from snapfs.repository.make import make_repository
from tests.harness.filesystems import bound, mounted
from tests.harness.require import need_root

RULES = Rules(patterns=(RuleLine(b"*.log", "--exclude"),), caches=True)


def wait_until(there: Callable[[], bool]) -> None:
    """At most 30 s."""
    for _ in range(3000):
        if there():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come")


def counted(tree: Path, options: ScanOptions, rules: Rules = RULES) -> tuple[int, int] | None:
    fd = os.open(tree, os.O_RDONLY)
    try:
        found = Forecast(fd, rules, options)
        wait_until(lambda: found.totals is not None)
        found.close()
    finally:
        os.close(fd)
    return found.totals


class Foretold(NullProgress):
    """Remembers what is told of the phases."""

    foretells = True

    def __init__(self) -> None:
        self.name = ""
        self.totals: dict[str, tuple[int | None, int | None]] = {}
        self.steps: dict[str, list[int]] = {}

    def phase(
        self, name: str, *, entries: int | None = None, total_bytes: int | None = None
    ) -> None:
        self.name = name
        self.totals[name] = entries, total_bytes

    def expect(self, *, entries: int, total_bytes: int) -> None:
        self.totals[self.name] = entries, total_bytes

    def advance(self, *, entries: int = 0, read_bytes: int = 0) -> None:
        self.steps.setdefault(self.name, []).append(entries)


def test_what_is_left_out_does_not_count(tree: Path) -> None:
    (tree / "sub" / "cache").mkdir(parents=True)
    (tree / "sub" / "cache" / "CACHEDIR.TAG").write_bytes(
        b"Signature: 8a477f597d28d172789f06886806bc55"
    )
    (tree / "sub" / "cache" / "big").write_bytes(bytes(5000))
    (tree / "sub" / "no.log").write_bytes(bytes(300))
    (tree / "sub" / "file").write_bytes(bytes(70))
    os.link(tree / "sub" / "file", tree / "again")
    (tree / "link").symlink_to("sub")
    (tree / ".snapfsignore").write_text("/ignored\n")
    (tree / "ignored").mkdir()
    (tree / "ignored" / "x").write_bytes(bytes(20_000))
    # The root, sub, cache and its tag, file twice, link, the rules themselves.
    assert counted(tree, ScanOptions()) == (8, 70 + 43 + 9)


def test_other_filesystems_count_only_if_they_are_captured(tree: Path, workspace: Path) -> None:
    need_root()
    (tree / "mount").mkdir()
    (tree / "file").write_bytes(bytes(10))
    with mounted("tmpfs", workspace / "other") as other, bound(other, tree / "mount"):
        (other / "far").write_bytes(bytes(1000))
        assert counted(tree, ScanOptions(), Rules()) == (4, 1010)
        assert counted(tree, ScanOptions(one_file_system=True), Rules()) == (3, 10)


def test_it_ends_when_it_is_told_to(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        (tree / f"d{number}").mkdir()
    going_on = forecast._Count._go_on
    steps = 0

    def slowly(self: forecast._Count) -> None:
        nonlocal steps
        steps += 1
        time.sleep(0.05)
        going_on(self)

    monkeypatch.setattr(forecast._Count, "_go_on", slowly)
    before = len(os.listdir("/proc/self/fd"))
    fd = os.open(tree, os.O_RDONLY)
    found = Forecast(fd, Rules(), ScanOptions())
    found.close()
    os.close(fd)
    wait_until(lambda: len(os.listdir("/proc/self/fd")) == before)
    assert found.totals is None
    assert steps < 50


def test_totals_and_steps_of_a_first_snapshot(
    tree: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One directory of many names: it is told of while somebody is in it; all comes to the count."""
    monkeypatch.setattr(survey, "SURVEYED_ENTRIES", -1)
    names = 3 * FLUSH_ROWS + 5
    for number in range(names):
        (tree / f"{number}").write_bytes(b"%d" % number)
    size = sum(len(b"%d" % number) for number in range(names))
    seen = Foretold()
    make = Forecast.__init__

    def patient(self: Forecast, root_fd: int, rules: Rules, options: ScanOptions) -> None:
        make(self, root_fd, rules, options)
        wait_until(lambda: self.totals is not None)

    monkeypatch.setattr(Forecast, "__init__", patient)
    root = NewRoot(os.fsencode(tree), "host")
    with make_repository(os.fsencode(workspace / "repository")) as repository:
        made = create(repository, root, CreateOptions(), progress=seen)
        assert seen.totals["scanning and storing"] == (names + 1, size)
        steps = seen.steps["scanning and storing"]
        assert sum(steps) == names + 1
        assert steps.count(FLUSH_ROWS) == 3, steps
        create(repository, made.root, CreateOptions(), progress=seen)
        assert seen.totals["scanning"] == (names + 1, None)
