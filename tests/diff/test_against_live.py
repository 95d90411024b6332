"""A directory held against its newest snapshot: bit rot is told from edits."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.filesystems import mounted
from tests.harness.inprocess import InProcess

pytestmark = pytest.mark.usefixtures("never_young")


class Disk:
    """A filesystem in a file, and what happens to bytes on it behind its back."""

    def __init__(self, folder: Path, tree: Path) -> None:
        self.tree = tree
        self._image = folder / "image"

    def rot(self, path: Path) -> None:
        """One bit of a file changes on the disk; its inode does not."""
        data = path.read_bytes()
        subprocess.run(["sync", "--file-system", path], check=True)
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        with self._image.open("r+b") as image:
            at = image.read().index(data[:4096])
            image.seek(at + 100)
            image.write(bytes([data[100] ^ 1]))
        before = path.stat()
        assert path.read_bytes() != data
        assert path.stat() == before


@pytest.fixture
def disk(workspace: Path) -> Iterator[Disk]:
    with mounted("ext4", workspace / "disk", size=8 << 20) as at:
        tree = at / "tree"
        tree.mkdir()
        yield Disk(workspace / "disk", tree)


def test_rot_and_edits(disk: Disk, run: InProcess) -> None:
    tree = disk.tree
    for name in ("good", "rotten", "edited", "moved", "rewritten", "left"):
        (tree / name).write_bytes(os.urandom(20_000))
    (tree / "large").write_bytes(os.urandom(600_000))
    (tree / "odd\n").write_bytes(os.urandom(5000))
    run("create", tree, "--name", "s0", "--exclude", "left")
    agreed = run("verify", "--against-live", cwd=tree)
    assert agreed.out == b""
    assert "agrees, byte for byte" in agreed.errors
    for name in ("rotten", "large", "odd\n"):
        disk.rot(tree / name)
    assert run("diff", cwd=tree).out == b"", "no time has moved"
    (tree / "edited").write_bytes(b"edited")
    (tree / "moved").rename(tree / "elsewhere")
    # Other bytes, and size and mtime as they were: an edit all the same, for its ctime has moved.
    st = (tree / "rewritten").stat()
    (tree / "rewritten").write_bytes(os.urandom(20_000))
    os.utime(tree / "rewritten", ns=(st.st_atime_ns, st.st_mtime_ns))

    done = run("verify", "--against-live", "tree", ok=(3,))
    assert done.lines == [
        "M\tedited\tcontent,mtime",
        "R\tmoved -> elsewhere",
        "B\tlarge\tcontent",
        "B\t'odd'$'\\n'\tcontent",
        "M\trewritten\tcontent",
        "B\trotten\tcontent",
    ]
    assert "tree@s0: 3 with bit rot, 2 modified, 1 renamed; read " in done.errors
    assert "snapfs -r" in done.errors
    objects = run("verify", "--against-live", "--json", cwd=tree, ok=(3,)).json_lines()
    assert [one["letter"] for one in objects[:-1]] == ["M", "R", "B", "B", "M", "B"]
    assert (objects[-1]["schema"], objects[-1]["rotten"]) == ("verify-live-sum/1", 3)

    # The snapshot has the good bytes, and the hint says how to get them.
    words = ("--in-place", "--overwrite", "always", "--yes")
    assert "--in-place --overwrite always" in done.errors
    run("restore", "s0", "rotten", "large", "odd\n", *words, cwd=tree)
    changed = run("verify", "--against-live", cwd=tree)
    assert not [line for line in changed.lines if line.startswith("B")]


def test_what_was_too_young_is_no_rot(
    tree: Path, run: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows whether it was written to once more in the moment in which it was recorded."""
    (tree / "young").write_bytes(b"one")
    with monkeypatch.context() as patch:
        for module in ("comparison", "newdirectory"):
            patch.setattr(f"snapfs.capture.{module}.RACY_MTIME_NS", 60 * 10**9)
        run("create", tree, "--name", "s0")
    found = run("verify", "--against-live", cwd=tree)
    assert found.out == b""


def test_words_that_make_no_sense(tree: Path, run: InProcess) -> None:
    (tree / "a").touch()
    run("create", tree, "--name", "s0")
    for words in (
        ("verify", "--against-live", "--data"),
        ("verify", "--against-live", "--sample", "5%"),
        ("verify", "tree"),
    ):
        assert "against-live" in run(*words, cwd=tree, ok=(2,)).errors
    assert "no root" in run("verify", "--against-live", "nope", ok=(1,)).errors
    tree.rename(tree.with_name("gone"))
    assert "cannot be opened" in run("verify", "--against-live", ok=(1,)).errors
    run("create", "--from-command", "echo 1", "--label", "app")
    stream = run("verify", "--against-live", "app", ok=(2,))
    assert "app is a stream without a directory" in stream.errors
