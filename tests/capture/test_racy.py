"""What changed so lately that its times cannot tell of another change is read again, whatever kind of file it is."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from snapfs.blocks.chunker import WHOLE_MAX
from snapfs.model.kinds import State
from tests.harness.filesystems import mounted
from tests.harness.inprocess import InProcess


def _small(path: Path, byte: bytes) -> None:
    path.write_bytes(byte * 100)


def _large(path: Path, byte: bytes) -> None:
    path.write_bytes(byte * (WHOLE_MAX + 100))


def _attributed(path: Path, byte: bytes) -> None:
    _small(path, byte)
    os.setxattr(path, "user.x", b"1")


def _sparse(path: Path, byte: bytes) -> None:
    with path.open("wb") as file:
        file.write(byte * 100)
        file.truncate(100_000)


KINDS = {"small": _small, "large": _large, "attributed": _attributed, "sparse": _sparse}


@pytest.mark.parametrize("write", KINDS.values(), ids=KINDS)
def test_a_change_within_the_same_second_is_seen(
    write: Callable[[Path, bytes], None], run: InProcess, workspace: Path
) -> None:
    """With inodes of 128 bytes times are whole seconds: size, mtime and ctime are as before."""
    with mounted("ext4-128", workspace / "place") as tree:
        file = tree / "file"
        for _ in range(10):
            time.sleep(1.01 - time.time() % 1)
            write(file, b"1")
            before = file.stat()
            run("create", tree, "--name", "one", "--nested")
            write(file, b"2")
            after = file.stat()
            if before.st_ctime_ns == after.st_ctime_ns:
                break
            run("delete", "one", "--root", "at", "--yes")
        else:
            pytest.fail("no two writes in one second")
        assert before.st_size == after.st_size
        with closing(sqlite3.connect(run.repository / "catalog.db")) as catalog:
            states = catalog.execute("SELECT state FROM inode WHERE kind = 1").fetchall()
        assert states == [(State.RACY,)]
        run("create", tree, "--name", "two")
        for name, byte in (("one", b"1"), ("two", b"2")):
            run("restore", f"at@{name}", "--to", workspace / name)
            assert (workspace / name / "file").read_bytes()[:100] == byte * 100
