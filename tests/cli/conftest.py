"""A place to run commands in: a home, a tree with three snapshots, a runner within this process."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from snapfs.cli.main import main


@dataclass(frozen=True)
class Ran:
    """How a command line ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.removesuffix("\n").split("\n") if self.out else []

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.lines]


@dataclass(frozen=True)
class Shell:
    """Runs command lines in this process; ``home`` and ``tree`` are directories."""

    home: Path
    tree: Path
    capfd: pytest.CaptureFixture[bytes]

    def __call__(self, *words: str | Path, code: int = 0) -> Ran:
        self.capfd.readouterr()
        got = main([os.fspath(word) for word in words])
        out, err = (part.decode("utf-8", "surrogateescape") for part in self.capfd.readouterr())
        assert "internal error" not in err, err
        assert got == code, (words, got, out, err)
        return Ran(got, out, err)


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Iterator[Shell]:
    """An empty home and an empty tree, which is the working directory."""
    for name in [name for name in os.environ if name.startswith(("SNAPFS_", "XDG_"))]:
        monkeypatch.delenv(name)
    place = Path(os.path.realpath(tmp_path))
    for folder in ("home", "photos"):
        (place / folder).mkdir()
    monkeypatch.setenv("HOME", str(place / "home"))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.chdir(place / "photos")
    yield Shell(place / "home", place / "photos", capfdbinary)


@pytest.fixture
def past(shell: Shell) -> Shell:
    """Snapshots s1 to s3 of a small tree, of the first three days of June 2026, an hour after noon."""
    tree = shell.tree
    (tree / "sub").mkdir()
    (tree / "sub/two words").write_text("two\n")
    (tree / "a").write_text("one\n")
    (tree / "link").symlink_to("a")
    shell("create", tree, "--name", "s1", "--time", "2026-06-01T13:00Z", "-m", "first")
    (tree / "a").write_text("one\nmore\n")
    (tree / "b").write_bytes(b"\xff" * 3000)
    shell("create", "--name", "s2", "--time", "2026-06-02T13:00Z", "--tag", "x", "--tag", "w")
    (tree / "sub/two words").unlink()
    os.rename(b"b", b"n\xff\n")
    shell("create", "--name", "s3", "--time", "2026-06-03T13:00Z")
    return shell
