"""The programs that are compared, each behind the same few operations.

Every tool keeps its repository, cache and home below one folder of its own. Settings are those that
come nearest to what snapfs does: no encryption where it can be left out, each tool's own compression.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.process import Command, Timing, output, run, total
from benchmarks.trees import stored_bytes


class UnsupportedError(Exception):
    """The tool has no such operation."""


@dataclass
class Tool:
    """A tool with a fresh repository for ``tree`` in ``folder``; its snapshots are numbered from 0."""

    tree: Path
    folder: Path
    program: list[str]
    name = ""
    answers = False
    """whether it can be asked for all versions of a file, and for names in all snapshots"""
    taken: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "home").mkdir(parents=True)
        self.env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.folder / "home"),
            "LC_ALL": "C.UTF-8",
            **self.settings(),
        }
        self.initialise()

    @property
    def repository(self) -> Path:
        """Where everything is that the tool keeps for good."""
        return self.folder / "repository"

    def settings(self) -> dict[str, str]:
        """Environment variables of its own."""
        return {}

    def initialise(self) -> None:
        """Make an empty repository."""

    def create(self) -> Timing:
        """Take a snapshot of the tree."""
        timing = self._run(self.create_command(), cwd=self.tree)
        self.taken += 1
        return timing

    def create_command(self) -> Command:
        """How the next snapshot is taken, from within the tree."""
        raise UnsupportedError("create")

    def restore(self, number: int, target: Path) -> Timing:
        """Restore one snapshot into a directory that does not exist."""
        raise UnsupportedError(f"restore {number} to {target}")

    def diff(self, older: int, newer: int) -> Timing:
        """Compare two snapshots."""
        raise UnsupportedError(f"diff {older} {newer}")

    def ls(self, number: int, path: str) -> Timing:
        """List one directory of a snapshot."""
        raise UnsupportedError(f"ls {number} {path}")

    def history(self, path: str) -> Timing:
        """Say which snapshots have which version of a file."""
        raise UnsupportedError(f"history {path}")

    def find(self, pattern: str) -> Timing:
        """Find names in all snapshots."""
        raise UnsupportedError(f"find {pattern}")

    def delete(self, number: int) -> Timing:
        """Delete one of many snapshots and free its space."""
        raise UnsupportedError(f"delete {number}")

    def stored(self) -> int:
        """Bytes on disk of the repository."""
        return stored_bytes(self.repository)

    def _run(
        self, command: Command, *, cwd: Path | None = None, ok: Sequence[int] = (0,)
    ) -> Timing:
        os.sync()
        return run(command, env=self.env, cwd=cwd or self.folder, log=self.folder / "log", ok=ok)


class Snapfs(Tool):
    """This program."""

    name = "snapfs"
    answers = True

    def settings(self) -> dict[str, str]:
        return {"SNAPFS_REPO": str(self.repository)}

    def create_command(self) -> Command:
        return [*self.program, "create", self.tree, "--name", f"n{self.taken}"]

    def restore(self, number: int, target: Path) -> Timing:
        return self._run([*self.program, "restore", f"n{number}", "--to", target])

    def diff(self, older: int, newer: int) -> Timing:
        return self._run([*self.program, "diff", f"n{older}", f"n{newer}"])

    def ls(self, number: int, path: str) -> Timing:
        return self._run([*self.program, "ls", f"n{number}:{path}", "-l"])

    def history(self, path: str) -> Timing:
        return self._run([*self.program, "log", f":{path}"])

    def find(self, pattern: str) -> Timing:
        return self._run([*self.program, "find", pattern], ok=(0, 1))

    def delete(self, number: int) -> Timing:
        return self._run([*self.program, "delete", f"n{number}", "--yes"])

    def stored(self) -> int:
        reserve = self.repository / "reserve"
        kept = reserve.stat().st_blocks * 512 if reserve.exists() else 0
        return super().stored() - kept


class Restic(Tool):
    """restic, with the empty password that it needs, its cache on."""

    name = "restic"
    answers = True

    def settings(self) -> dict[str, str]:
        return {
            "RESTIC_REPOSITORY": str(self.repository),
            "RESTIC_PASSWORD": "benchmark",
            "RESTIC_CACHE_DIR": str(self.folder / "cache"),
        }

    def initialise(self) -> None:
        output([*self.program, "init"], env=self.env, cwd=self.folder)

    def create_command(self) -> Command:
        return [*self.program, "backup", "--quiet", "--tag", f"n{self.taken}", "."]

    def _id(self, number: int) -> str:
        found = json.loads(
            output(
                [*self.program, "snapshots", "--json", "--tag", f"n{number}"],
                env=self.env,
                cwd=self.folder,
            )
        )
        return str(found[0]["id"])

    def restore(self, number: int, target: Path) -> Timing:
        return self._run(
            [*self.program, "restore", "--quiet", self._id(number), "--target", target]
        )

    def diff(self, older: int, newer: int) -> Timing:
        return self._run([*self.program, "diff", self._id(older), self._id(newer)])

    def ls(self, number: int, path: str) -> Timing:
        return self._run([*self.program, "ls", "--long", self._id(number), f"/{path}"])

    def history(self, path: str) -> Timing:
        return self._run([*self.program, "find", "--long", f"/{path}"])

    def find(self, pattern: str) -> Timing:
        return self._run([*self.program, "find", "--long", pattern])

    def delete(self, number: int) -> Timing:
        return self._run([*self.program, "forget", "--quiet", "--prune", self._id(number)])


class Borg(Tool):
    """borg without encryption, with its default lz4."""

    name = "borg"
    answers = True

    def settings(self) -> dict[str, str]:
        return {
            "BORG_REPO": str(self.repository),
            "BORG_BASE_DIR": str(self.folder / "home"),
            "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes",
        }

    def initialise(self) -> None:
        output([*self.program, "init", "--encryption", "none"], env=self.env, cwd=self.folder)

    def create_command(self) -> Command:
        return [*self.program, "create", f"::n{self.taken}", "."]

    def restore(self, number: int, target: Path) -> Timing:
        target.mkdir()
        return self._run([*self.program, "extract", f"::n{number}"], cwd=target)

    def diff(self, older: int, newer: int) -> Timing:
        return self._run([*self.program, "diff", f"::n{older}", f"n{newer}"])

    def ls(self, number: int, path: str) -> Timing:
        return self._run([*self.program, "list", f"::n{number}", path])

    def history(self, path: str) -> Timing:
        return self._in_each(path)

    def find(self, pattern: str) -> Timing:
        return self._in_each("--pattern", f"+ sh:**/{pattern}", "--pattern", "- **")

    def _in_each(self, *words: str) -> Timing:
        """It searches one snapshot at a time."""
        return total(
            [
                self._run([*self.program, "list", f"::n{number}", *words])
                for number in range(self.taken)
            ]
        )

    def delete(self, number: int) -> Timing:
        return total(
            [
                self._run([*self.program, "delete", f"::n{number}"]),
                self._run([*self.program, "compact"]),
            ]
        )


class Rsync(Tool):
    """rsync --link-dest: whole trees, unchanged files hard-linked."""

    name = "rsync"

    def initialise(self) -> None:
        self.repository.mkdir()

    def create_command(self) -> Command:
        before = [f"--link-dest=../n{self.taken - 1}"] if self.taken else []
        return [
            *self.program,
            "-aHAX",
            *before,
            f"{self.tree}/",
            f"{self.repository}/n{self.taken}/",
        ]

    def restore(self, number: int, target: Path) -> Timing:
        return self._run([*self.program, "-aHAX", f"{self.repository}/n{number}/", f"{target}/"])

    def ls(self, number: int, path: str) -> Timing:
        return self._run(["ls", "-l", self.repository / f"n{number}" / path])

    def delete(self, number: int) -> Timing:
        return self._run(["rm", "-rf", self.repository / f"n{number}"])

    def stored(self) -> int:
        # Hard links count once.
        done = output(
            ["du", "-s", "--block-size=1", self.repository], env=self.env, cwd=self.folder
        )
        return int(done.split()[0])


class RdiffBackup(Tool):
    """rdiff-backup: a mirror and reverse deltas."""

    name = "rdiff-backup"

    def create_command(self) -> Command:
        return [*self.program, "backup", self.tree, self.repository]

    def create(self) -> Timing:
        # Its increments are named by whole seconds.
        output(["sleep", "1.1"], env=self.env, cwd=self.folder)
        return super().create()

    def restore(self, number: int, target: Path) -> Timing:
        back = f"{self.taken - 1 - number}B"
        return self._run(
            [
                *self.program,
                "restore",
                "--at",
                back,
                self.repository,
                target,
            ]
        )

    def ls(self, number: int, path: str) -> Timing:
        back = f"{self.taken - 1 - number}B"
        return self._run(
            [
                *self.program,
                "list",
                "files",
                "--at",
                back,
                self.repository / path,
            ]
        )


TOOLS: dict[str, type[Tool]] = {
    tool.name: tool for tool in (Snapfs, Restic, Borg, Rsync, RdiffBackup)
}


def find_program(name: str, peers: Path | None) -> list[str] | None:
    """How a tool is started: from the folder of peers, else from PATH; None if it is not there."""
    if name == "snapfs":
        script = Path(sys.executable).with_name("snapfs")
        return [str(script)] if script.exists() else [sys.executable, "-m", "snapfs"]
    if peers is not None and (peers / name).exists():
        return [str(peers / name)]
    found = shutil.which(name)
    return [found] if found else None
