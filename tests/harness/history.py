"""A repository with a history whose every state is known, and the checks after a crash."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from tests.harness.inprocess import InProcess
from tests.harness.output import names
from tests.harness.program import Program
from tests.harness.trees import State, assert_same, survey, unlock_and_remove


@dataclass
class History:
    """``states`` of every snapshot that was ever announced or may be there, by name.

    What is only looked up afterwards is looked up within this process: a third of the time.
    """

    snapfs: Program
    tree: Path
    scratch: Path
    states: dict[str, State] = field(default_factory=dict)
    turn: int = 0

    def change(self) -> State:
        """Change the tree: some bytes, a new file, a removal, a move, a mode; the state it has now."""
        self.turn += 1
        turn = self.turn
        (self.tree / "changing").write_bytes(os.urandom(300_000))
        (self.tree / f"new-{turn}").write_bytes(os.urandom(2000))
        (self.tree / f"new-{turn - 3}").unlink(missing_ok=True)
        folder = next(self.tree.glob("moving-*"))
        folder.rename(self.tree / f"moving-{turn}")
        (self.tree / "small" / f"f{turn % 20:03d}").write_bytes(b"turn %d" % turn)
        (self.tree / "mode").chmod(0o600 + turn % 8)
        return survey(self.tree)

    def take(self, name: str) -> None:
        """Change, then a snapshot that succeeds."""
        state = self.change()
        self.snapfs.create(self.tree, name)
        self.states[name] = state

    @property
    def referee(self) -> InProcess:
        """The commands without processes of their own."""
        return InProcess(self.snapfs.repository)

    def listed(self) -> list[str]:
        """Names of all snapshots, in order."""
        return names(self.referee("list", "--json", cwd=self.tree))

    def check(self, *names: str, verify: bool = True) -> None:
        """Exactly these are there, each restores exactly, and every byte of the repository is right."""
        assert self.listed() == list(names)
        for name in names:
            self.check_one(name)
        if verify:
            self.referee("verify", "--data", cwd=self.tree)

    def check_one(self, name: str) -> None:
        """One snapshot restores exactly."""
        target = self.scratch / f"check-{name}"
        self.referee("restore", name, "--to", target, cwd=self.tree)
        assert_same(self.states[name], survey(target))
        unlock_and_remove(target)

    def check_no_leftovers(self) -> None:
        """No temporary file of a run that is over is left in the repository."""
        left = [
            path
            for path in self.snapfs.repository.rglob("*")
            if path.name.startswith("tmp-") or path.name.endswith(".tmp")
        ]
        assert not left, left
