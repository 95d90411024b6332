"""Snapshots while names of hard-linked files come, go and become other files: each is whole, and the next
one, of a directory at rest, is exact.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from pathlib import Path

import pytest

from tests.harness.program import Program
from tests.harness.trees import assert_same, survey, unlock_and_remove

FILES = 700


class Restless:
    """A tree of linked files, and somebody who changes it."""

    def __init__(self, tree: Path, rng: random.Random) -> None:
        self.rng = rng
        self.folders = [tree / f"d{number}" for number in range(20)]
        self.names: list[Path] = []
        self.turn = 0
        for folder in self.folders:
            folder.mkdir()
        for number in range(FILES):
            name = rng.choice(self.folders) / f"f{number}"
            name.write_bytes(b"%d " % number * rng.randrange(1, 200))
            self.names.append(name)
            for link in range(rng.randrange(3)):
                other = rng.choice(self.folders) / f"l{number}-{link}"
                os.link(name, other)
                self.names.append(other)

    def one(self) -> None:
        """Whatever may happen to a name."""
        self.turn += 1
        name, what = self.rng.choice(self.names), self.rng.randrange(6)
        new = self.rng.choice(self.folders) / f"n{self.turn}"
        with contextlib.suppress(OSError):
            if what == 0:
                name.unlink()
            elif what == 1:
                new.write_bytes(b"%d" % self.turn * 50)
                new.rename(name)
            elif what == 2:
                os.link(name, new, follow_symlinks=False)
                self.names.append(new)
            elif what == 3:
                name.rename(new)
                self.names.append(new)
            elif what == 4:
                with name.open("ab") as file:
                    file.write(b"more")
            else:
                name.unlink()
                name.symlink_to("q")

    def during(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self.one()
            if self.turn % 4 == 0:
                time.sleep(0.0005)


@pytest.mark.parametrize("seed", [1, 2])
def test_every_snapshot_is_whole(seed: int, snapfs: Program, workspace: Path, tree: Path) -> None:
    restless = Restless(tree, random.Random(seed))
    for turn in range(3):
        for _ in range(FILES // 3 if turn else 0):
            restless.one()
        stop = threading.Event()
        changing = threading.Thread(target=restless.during, args=(stop,))
        changing.start()
        try:
            snapfs.process("create", tree, "--name", f"moving-{turn}", ok=(0, 3))
        finally:
            stop.set()
            changing.join()
        snapfs.verify()
        snapfs("create", tree, "--name", f"still-{turn}")
        target = workspace / f"target-{turn}"
        snapfs("restore", f"tree@still-{turn}", "--to", target)
        assert_same(survey(tree), survey(target))
        unlock_and_remove(target)
        snapfs.verify()
    snapfs("rebuild-catalog")
    snapfs.verify()
