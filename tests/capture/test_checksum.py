"""``--checksum`` reads every file, whatever its times say."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.harness.filesystems import MIB, mounted
from tests.harness.inprocess import InProcess

pytestmark = pytest.mark.usefixtures("never_young")


def test_everything_is_read(workspace: Path, tree: Path) -> None:
    for number in range(3):
        (tree / f"file{number}").write_bytes(os.urandom(100_000))
    os.link(tree / "file0", tree / "link")
    snapfs = InProcess(workspace / "repository")
    snapfs("create", tree)
    assert "read 0 B" in snapfs("create", tree).errors
    assert "read 293K" in snapfs("create", tree, "--checksum").errors
    (tree / "file1").rename(tree / "moved")
    assert "read 293K" in snapfs("create", tree, "--checksum").errors
    assert snapfs("diff", "4", ".", "--checksum", cwd=tree).out == b""


def test_rot_below_the_filesystem_is_found(workspace: Path) -> None:
    """Bytes that changed under equal stat fields: a snapshot passes them by, one with --checksum does not."""
    snapfs = InProcess(workspace / "repository")
    with mounted("ext4", workspace / "disk", size=64 * MIB) as point:
        data = os.urandom(50_000)
        (point / "file").write_bytes(data)
        snapfs("create", point, "--name", "before")
        subprocess.run(["umount", point], check=True)
        image = workspace / "disk" / "image"
        with image.open("r+b") as file:
            at = 0
            while (found := file.seek(0) or file.read().find(data[:4096], at)) >= 0:
                file.seek(found + 100)
                file.write(b"rot")
                at = found + 1
        subprocess.run(["mount", "-o", "loop", image, point], check=True)
        assert (point / "file").read_bytes() != data
        assert "nothing changed" in snapfs("create", point, "--name", "passed-by").errors
        assert snapfs("diff", "before", ".", cwd=point).out == b""
        told = snapfs("diff", "before", ".", "--checksum", cwd=point)
        assert told.lines == ["M\tfile\tcontent"]
        assert "1 changed" in snapfs("create", point, "--checksum", "--name", "rotten").errors
        assert snapfs("cat", "passed-by:file", cwd=point).out == data
        assert snapfs("cat", "rotten:file", cwd=point).out == (point / "file").read_bytes()
