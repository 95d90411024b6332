"""What moves on a terminal: it never touches a result, tells totals, and goes on within a large file."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

from snapfs.blocks.chunker import WHOLE_MAX
from snapfs.capture.held import NullSink
from snapfs.capture.reader import FileReader
from snapfs.create import CreateOptions, create
from snapfs.model.snapshot import NewRoot
from snapfs.model.toread import ToRead
from snapfs.progress import NullProgress
from snapfs.repository.make import make_repository
from snapfs.restore import RestoreOptions, restore
from tests.harness.program import PROGRAM, Program
from tests.harness.terminal import read_to_end


def on_terminal(snapfs: Program, *words: str | Path, cwd: Path) -> str:
    """Both streams of a command on one terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, *words],
        env=snapfs.environment(), cwd=cwd, stdin=follower, stdout=follower, stderr=follower,
    )  # fmt: skip
    os.close(follower)
    shown = read_to_end(leader)
    process.wait(60)
    os.close(leader)
    return shown.decode()


def test_a_result_does_not_stand_behind_it(snapfs: Program, tree: Path) -> None:
    (tree / "file").write_bytes(b"one")
    snapfs.create(tree, "one")
    (tree / "file").write_bytes(b"other")
    for words in (("diff",), ("diff", "--stat"), ("diff", "--content")):
        shown = on_terminal(snapfs, *words, cwd=tree)
        before, _, line = shown.partition("\r\n")[0].rpartition("\r")
        assert "scanning" in before, repr(shown)
        assert line.startswith("\x1b[K"), repr(shown)


def test_a_large_file_is_told_of_while_it_is_read(tree: Path) -> None:
    size = 3 * WHOLE_MAX + 1
    for name, length in (("large", size), ("small", 1000)):
        (tree / name).write_bytes(os.urandom(length))
    files = []
    for seq, name in enumerate(("large", "small")):
        st = (tree / name).stat()
        files.append(
            ToRead(seq, b"", name.encode(), st.st_size, *divmod(st.st_mtime_ns, 10**9),
                   *divmod(st.st_ctime_ns, 10**9), st.st_dev, st.st_ino, 1, 0)
        )  # fmt: skip
    told: list[int] = []
    fd = os.open(tree, os.O_RDONLY)
    try:
        read = FileReader(fd, NullSink(), None, told.append).read(files)
    finally:
        os.close(fd)
    assert (read.read_bytes, read.told_bytes, sum(told)) == (size + 1000, size, size)


class Phases(NullProgress):
    """Remembers totals and sums by phase."""

    def __init__(self) -> None:
        self.totals: dict[str, tuple[int | None, int | None]] = {}
        self.done: dict[str, int] = {}
        self.name = ""

    def phase(
        self, name: str, *, entries: int | None = None, total_bytes: int | None = None
    ) -> None:
        self.name = name
        self.totals[name] = entries, total_bytes

    def advance(self, *, entries: int = 0, read_bytes: int = 0) -> None:
        self.done[self.name] = self.done.get(self.name, 0) + read_bytes


def test_totals_are_known_and_reached(tree: Path, workspace: Path) -> None:
    for number in range(5):
        (tree / f"f{number}").write_bytes(os.urandom(WHOLE_MAX * number + 10))
    size = sum(path.stat().st_size for path in tree.iterdir())
    with make_repository(os.fsencode(workspace / "repository")) as repository:
        taking = Phases()
        made = create(
            repository, NewRoot(os.fsencode(tree), "host"), CreateOptions(), progress=taking
        )
        assert made.snapshot is not None
        assert taking.done["storing"] + taking.done["scanning"] == size
        giving = Phases()
        options = RestoreOptions(to=os.fsencode(workspace / "to"))
        restore(repository, made.root, made.snapshot, options, progress=giving)
        assert giving.totals["restoring"] == (6, size)
        assert giving.done["restoring"] == size


class Foretelling(Phases):
    foretells = True


def test_totals_of_a_part_are_counted_if_they_are_shown(tree: Path, workspace: Path) -> None:
    for name in ("part", "rest"):
        (tree / name / "sub").mkdir(parents=True)
        for number in range(4):
            (tree / name / "sub" / f"f{number}").write_bytes(os.urandom(100 * number))
    with make_repository(os.fsencode(workspace / "repository")) as repository:
        made = create(
            repository, NewRoot(os.fsencode(tree), "host"), CreateOptions(), progress=NullProgress()
        )
        assert made.snapshot is not None
        for number, paths in enumerate(([b"part"], [b"part", b"rest/sub/f3"])):
            giving = Foretelling()
            to = os.fsencode(workspace / f"to{number}")
            options = RestoreOptions(to=to, paths=tuple(paths))
            restore(repository, made.root, made.snapshot, options, progress=giving)
            entries, size = (5, 600) if number == 0 else (9, 900)
            assert giving.totals["restoring"] == (entries, size)
            assert giving.done["restoring"] == size
