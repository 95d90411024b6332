"""A first snapshot is read while the walk goes on, window by window: with windows of any size it is the
same snapshot.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from snapfs.capture import newdirectory, staging, store
from snapfs.capture.store import Intake
from snapfs.capture.window import Windows
from snapfs.catalog.commit import FILE_TYPES
from snapfs.stream.columns import decode_rows
from tests.harness.inprocess import InProcess
from tests.harness.output import entries
from tests.harness.require import need_root
from tests.harness.trees import assert_same, build, survey, unlock_and_remove


def small(
    monkeypatch: pytest.MonkeyPatch, windows: tuple[int, ...], under_way: int, rows: int
) -> None:
    """As if a small tree were a large one."""
    monkeypatch.setattr(store, "FIRST_WINDOWS", windows)
    monkeypatch.setattr(store, "WINDOWS_UNDER_WAY", under_way)
    monkeypatch.setattr(store, "BATCH_FILES", 7)
    monkeypatch.setattr(store, "INLINE_FILES", 0)
    monkeypatch.setattr(staging, "FLUSH_ROWS", rows)
    monkeypatch.setattr(newdirectory, "FLUSH_ROWS", rows)


def digest(snapfs: InProcess) -> bytes:
    """What the one snapshot holds, in 32 bytes."""
    with closing(sqlite3.connect(snapfs.repository / "catalog.db")) as db:
        ((found,),) = db.execute("SELECT tree_digest FROM snapshot").fetchall()
    return bytes(found)


def tables(snapfs: InProcess) -> dict[str, list[tuple[object, ...]]]:
    """All that the catalog says of files."""
    with closing(sqlite3.connect(snapfs.repository / "catalog.db")) as db:
        return {
            name: db.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall()
            for name in ("inode", "dirent", "inode_diff", "dirent_diff", "block", "content", "attr")
        }


@pytest.fixture(scope="module")
def built() -> Iterator[tuple[Path, bytes]]:
    """An awkward tree, and the digest of its snapshot taken as always."""
    need_root()
    base = Path(tempfile.mkdtemp(prefix="snapfs-windows-"))
    tree = base / "tree"
    build(tree, scale=0.01)
    plain = InProcess(base / "plain")
    plain("create", tree, "--name", "s")
    yield tree, digest(plain)
    unlock_and_remove(base)


@pytest.mark.parametrize(
    ("windows", "under_way", "rows"),
    [((5,), 100, 1), ((16, 64, 256), 2, 32), ((10,), 1, 8), ((1,), 1, 3), ((10_000,), 3, 8192)],
)
def test_same_snapshot(
    windows: tuple[int, ...],
    under_way: int,
    rows: int,
    workspace: Path,
    built: tuple[Path, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree, expected = built
    state = survey(tree)
    small(monkeypatch, windows, under_way, rows)
    other = InProcess(workspace / "other")
    other("create", tree, "--name", "s")
    assert digest(other) == expected
    other("restore", "tree@s", "--to", workspace / "back")
    assert_same(state, survey(workspace / "back"))
    assert "nothing changed" in other("create", tree, "--name", "again").errors
    other("verify", "--data")
    before = tables(other)
    (workspace / "other" / "catalog.db").unlink()
    other("rebuild-catalog")
    assert tables(other) == before


def test_two_roots_by_one_command(workspace: Path) -> None:
    """Nothing of the first is told of the second."""
    roots = [workspace / "one", workspace / "two"]
    for root in roots:
        root.mkdir()
        for number in range(30):
            (root / f"{root.name}{number}").write_bytes(b"%d" % number)
    snapfs = InProcess(workspace / "repository")
    snapfs("create", *roots)
    before = tables(snapfs)
    (workspace / "repository" / "catalog.db").unlink()
    snapfs("rebuild-catalog")
    assert tables(snapfs) == before
    snapfs("verify", "--data")


def test_what_happens_between_walk_and_reading(
    workspace: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is gone is not there, one that has changed is as it is now."""
    (tree / "d").mkdir()
    for number in range(100):
        (tree / "d" / f"f{number:03}").write_bytes(b"%d" % number)
    for path in (tree / "d").iterdir():
        os.utime(path, ns=(10**18, 10**18))
    small(monkeypatch, (10,), 3, 5)
    offer = Intake.offer
    calls = 0

    def meanwhile(intake: Intake, *args: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 1:
            (tree / "d" / "f003").unlink()
            (tree / "d" / "f050").unlink()
            (tree / "d" / "f051").write_bytes(b"longer than before")
        return offer(intake, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Intake, "offer", meanwhile)
    snapfs = InProcess(workspace / "repository")
    snapfs("create", tree, "--name", "s", ok=(0, 3))
    state = survey(tree)
    snapfs("restore", "tree@s", "--to", workspace / "back")
    assert_same(state, survey(workspace / "back"), ignore=("mtime",))
    names = entries(snapfs("ls", "tree@s:", "--recursive", "--json"))
    assert b"d/f003" not in names
    assert b"d/f050" not in names
    snapfs("verify", "--data")


def row(seq: int, nlink: int = 1) -> tuple[object, ...]:
    return (seq, -1, -1, b"f%d" % seq, -seq, 1, 3, 0, 0, 0, 0, 0, 1, seq, nlink)


def test_files_with_several_names_are_given_back() -> None:
    windows = Windows((2, 3), 2)
    left, window = windows.offer([row(2), row(3, nlink=2)], [(-1, b"d")])
    assert (left, window) == ([row(3, nlink=2)], None)
    left, first = windows.offer([row(4)], [])
    assert left == []
    assert first is not None
    assert [item.seq for item in first.files] == [2, 4]
    assert {item.directory for item in first.files} == {b"d"}
    assert windows.read_to() == 0
    _, second = windows.offer([row(5), row(6), row(7)], [])
    assert second is not None
    second.read([(b"x" * 32, seq) for seq in (6, 5, 7)])
    assert windows.read_to() == 0, "the first is not read yet"
    first.read([(None, 2), (b"y" * 32, 4)])
    assert windows.read_to() == 2, "nobody knows when the file with two names is read"
    ((rows, encoded),) = second.pieces()
    assert [found[0] for found in rows] == [5, 6, 7]
    assert [found[0] for found in decode_rows(FILE_TYPES, encoded)] == [5, 6, 7]
    ((rows, _),) = first.pieces()
    assert [found[9] for found in rows] == [None, b"y" * 32]


def test_what_comes_while_too_much_is_under_way_waits_in_order() -> None:
    windows = Windows((2,), 1)
    _, first = windows.offer([row(2), row(3)], [(-1, b"d")])
    assert first is not None
    assert windows.offer([row(4)], []) == ([], None)
    other = (5, -9, -9, b"g", -5, 1, 3, -1, 999_999_999, 0, 2**40, 0, 1, 2**62, 1)
    assert windows.offer([other, row(6)], [(-9, b"e")]) == ([], None), "6 is in d again"
    assert windows.full()
    assert windows.rest() is None
    first.read([(None, 2), (None, 3)])
    assert not windows.full()
    assert windows.read_to() == 3
    second = windows.rest()
    assert second is not None
    found = [(item.seq, item.directory, item.name) for item in second.files]
    assert found == [(4, b"d", b"f4"), (5, b"e", b"g"), (6, b"d", b"f6")]
    assert windows.rest() is None
    assert windows.read_to() == 3
    second.read([(None, 4), (None, 5), (None, 6)])
    assert windows.read_to() == 6
    ((rows, _),) = second.pieces()
    assert rows[1] == (*other[:9], None, *other[9:])
    assert windows.rest() is None
    assert not windows.full()


def test_copies_are_stored_once_whoever_reads_them(
    monkeypatch: pytest.MonkeyPatch, workspace: Path, tree: Path
) -> None:
    """Two workers read, and neither knows what the other has stored."""
    small(monkeypatch, (20,), 3, 10)
    for copy in range(4):
        folder = tree / f"copy-{copy}"
        folder.mkdir()
        for number in range(60):
            made = b"%d" % number * (600 + number)
            (folder / f"{'renamed-' * (copy % 2)}{number}").write_bytes(made)
        (folder / "large").write_bytes(bytes(range(256)) * 4096)
    snapfs = InProcess(workspace / "repository")
    snapfs("create", tree, "--name", "all")
    info = snapfs("info", "--json").json()
    with closing(sqlite3.connect(snapfs.repository / "catalog.db")) as db:
        (raw,) = db.execute("SELECT sum(raw) FROM segment").fetchone()
        (needed,) = db.execute("SELECT sum(length) FROM block").fetchone()
    assert raw == needed, info
