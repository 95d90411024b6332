"""The parts by themselves: directory numbers and descriptors, order of writing, owners, deletion."""

from __future__ import annotations

import ctypes
import errno
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from snapfs.fs import syscalls
from snapfs.fs.xattrs import ACCESS_ACL
from snapfs.materialize import ordering
from snapfs.materialize.dirtable import TOP, DirCache, DirTable
from snapfs.materialize.filewriter import FileJob
from snapfs.materialize.links import Links
from snapfs.materialize.ordering import SegmentOrder
from snapfs.materialize.owners import KEEP, OwnerRule
from snapfs.materialize.wanted import Overwrite
from snapfs.model.xattrs import pack_xattrs
from snapfs.progress import Problem
from tests.harness.trees import assert_same, survey
from tests.materialize.conftest import Restorer

Stored = Callable[[Path], Restorer]


@pytest.fixture
def top(workspace: Path) -> Iterator[int]:
    fd = os.open(workspace, os.O_RDONLY)
    yield fd
    os.close(fd)


def test_directories_have_numbers() -> None:
    table = DirTable()
    a = table.add(TOP, b"a")
    b = table.add(a, b"b\xff")
    c = table.add(TOP, b"c")
    assert (a, b, c, len(table)) == (1, 2, 3, 4)
    assert [table.path(number) for number in range(4)] == [b"", b"a", b"a/b\xff", b"c"]
    assert table.path(b, b"f") == b"a/b\xff/f"
    assert table.path(TOP, b"f") == b"f"
    assert table.parts(b) == (b"a", b"b\xff")
    other = DirTable()
    other.learn(table.since(1))
    other.learn(table.since(4))
    other.learn(DirTable().since(1))
    assert [other.path(number) for number in range(4)] == [b"", b"a", b"a/b\xff", b"c"]
    d = table.add(c, b"d")
    other.learn(table.since(d))
    assert other.path(d) == b"c/d"


def test_descriptors_of_many_directories(workspace: Path, top: int) -> None:
    table = DirTable()
    inodes = {}
    for index in range(300):
        number = table.add(TOP if index % 3 == 0 else len(table) - 1, b"d%d" % index)
        path = os.path.join(os.fsencode(workspace), table.path(number))
        os.mkdir(path)
        inodes[number] = os.stat(path).st_ino
    before = len(os.listdir("/proc/self/fd"))
    cache = DirCache(top, table, 1)
    numbers = list(inodes) * 3
    random.Random(1).shuffle(numbers)
    for number in numbers:
        assert os.fstat(cache.fd(number)).st_ino == inodes[number]
    assert len(os.listdir("/proc/self/fd")) <= before + 66
    cache.close()
    assert len(os.listdir("/proc/self/fd")) == before
    assert cache.fd(TOP) == top


def test_a_deep_chain_is_gone_through_in_little_time(
    workspace: Path, top: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    depth = 2000
    table = DirTable()
    fd = os.dup(top)
    for number in range(depth):
        table.add(number, b"d")
        os.mkdir(b"d", dir_fd=fd)
        below = os.open(b"d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    opened = 0
    real = os.open

    def count(*args: object, **kw: object) -> int:
        nonlocal opened
        opened += 1
        return real(*args, **kw)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", count)
    cache = DirCache(top, table, 64)
    for number in range(depth, 0, -1):
        cache.fd(number)
    assert opened < depth * 60
    cache.close()


def test_a_symlink_in_place_of_a_directory_is_not_opened(workspace: Path, top: int) -> None:
    table = DirTable()
    a = table.add(TOP, b"a")
    b = table.add(a, b"b")
    (workspace / "real/b").mkdir(parents=True)
    (workspace / "a").symlink_to("real")
    cache = DirCache(top, table, 64)
    with pytest.raises(NotADirectoryError):
        cache.fd(b)
    before = len(os.listdir("/proc/self/fd"))
    (workspace / "a").unlink()
    (workspace / "real").rename(workspace / "a")
    (workspace / "a/b").rename(workspace / "a/c")
    with pytest.raises(FileNotFoundError):
        cache.fd(b)
    cache.close()
    assert len(os.listdir("/proc/self/fd")) == before


def job(directory: int, pack: str, segment: int, offset: int, size: int) -> FileJob:
    name = b"%s-%d-%d" % (pack.encode(), segment, offset)
    place = (0, size, b"d" * 32, pack, segment, size, offset)
    return FileJob(directory, name, 0o644, 0, 0, 0, b"", 0, size, 3, (place,))


def test_a_segment_is_in_one_group_and_a_group_in_order_of_directories(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ordering, "_GROUP_RAW_BYTES", 1000)
    jobs = [
        job(random.Random(n).randrange(50), f"p{n % 2}", n % 20, 10 * n, 10) for n in range(400)
    ]
    order = SegmentOrder()
    order.add(jobs)
    groups = list(order.take_all())
    assert len(groups) > 1
    assert sorted(j for group in groups for j in group) == sorted(jobs)
    where: dict[tuple[str, int], set[int]] = {}
    for number, group in enumerate(groups):
        assert [j.directory for j in group] == sorted(j.directory for j in group)
        for j in group:
            where.setdefault((j.places[0][3], j.places[0][4]), set()).add(number)
    assert all(len(numbers) == 1 for numbers in where.values())
    order.close()


def test_a_segment_that_is_done_with_is_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of a first snapshot follow each other: each segment is given out once, soon after its last file."""
    monkeypatch.setattr(ordering, "_LOOK_FILES", 100)
    monkeypatch.setattr(ordering, "_IDLE_FILES", 50)
    order = SegmentOrder()
    given: list[tuple[str, int]] = []
    for window in range(10):
        jobs = [job(n, "p", 4 * window + n % 4, 1000 * n, 1000) for n in range(300)]
        for at in range(0, 300, 50):
            order.add(jobs[at : at + 50])
            if order.is_full:
                given += {(j.places[0][3], j.places[0][4]) for group in order.take() for j in group}
        assert len(given) == len(set(given)) == 4 * window
    given += {(j.places[0][3], j.places[0][4]) for group in order.take_all() for j in group}
    assert sorted(given) == [("p", segment) for segment in range(40)]
    order.close()


def test_owner_rules_by_number() -> None:
    rule = OwnerRule(uids={1: 2}, gids={})
    assert (rule.user(1), rule.user(3), rule.group(1)) == (2, 3, 1)
    assert (OwnerRule.nobody().user(1), OwnerRule.nobody().group(1)) == (KEEP, KEEP)
    assert OwnerRule().xattrs(b"anything") == b"anything"
    # A value that is no ACL is kept as it is.
    odd = pack_xattrs({ACCESS_ACL: b"\2\0\0\0xyz", b"user.x": b"1"})
    assert rule.xattrs(odd) == odd


def test_renaming_never_over_anything(
    workspace: Path, top: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refusing:
        def renameat2(self, *_args: object) -> int:
            ctypes.set_errno(errno.EINVAL)
            return -1

    for libc in (syscalls._libc, Refusing()):
        monkeypatch.setattr(syscalls, "_libc", libc)
        (workspace / "a").write_text("a")
        (workspace / "b").write_text("b")
        with pytest.raises(FileExistsError):
            syscalls.rename_to_free_name(b"a", b"b", top)
        syscalls.rename_to_free_name(b"a", b"c", top)
        assert (workspace / "b").read_text() == "b"
        assert (workspace / "c").read_text() == "a"
        (workspace / "c").unlink()
        with pytest.raises(FileNotFoundError):
            syscalls.rename_to_free_name(b"gone", b"c", top)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_large_file_that_is_damaged(
    stored: Stored, tree: Path, target: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr("snapfs.materialize.files.LARGE_BYTES", 1 << 20)
    monkeypatch.setattr("snapfs.materialize.largefile._PIECE_BYTES", 200_000)
    for name in ("middle", "short", "unknown", "good", "replaced"):
        (tree / name).write_bytes(os.urandom(2_000_000))
    restore = stored(tree)
    extents = restore.stored.extents
    contents = {name: restore.stored.entry(name.encode()).content for name in os.listdir(tree)}
    del restore.stored.where[extents[contents["middle"]][15][2]]
    del restore.stored.where[extents[contents["replaced"]][15][2]]
    extents[contents["short"]].pop()
    real = restore.stored.locate
    monkeypatch.setattr(
        restore.stored,
        "locate",
        lambda wanted: {k: v for k, v in real(wanted).items() if k != contents["unknown"]},
    )
    target.mkdir()
    (target / "replaced").write_text("old")
    problems: list[Problem] = []
    result = restore(target, problems=problems, workers=workers)
    assert sorted(problem.path for problem in problems) == [
        b"middle", b"replaced", b"short", b"unknown",
    ]  # fmt: skip
    assert sorted(os.listdir(target)) == ["good", "replaced"]
    assert (target / "replaced").read_text() == "old"
    assert (target / "good").read_bytes() == (tree / "good").read_bytes()
    assert (result.created, result.overwritten) == (1, 1)
    assert result.written_bytes == 2_000_000


def test_directories_that_go_away_meanwhile(
    stored: Stored, tree: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a/b/c/f", "d/f"):
        (tree / name).parent.mkdir(parents=True)
        (tree / name).write_text("x")
    restore = stored(tree)
    real = Links.complete

    def complete(links: Links) -> None:
        real(links)
        (target / "a/b").rename(target.with_name("away"))

    monkeypatch.setattr(Links, "complete", complete)
    problems: list[Problem] = []
    restore(target, problems=problems, dry=False)
    assert [problem.path for problem in problems] == [b"a/b"]
    assert (target / "d").stat().st_mtime_ns == (tree / "d").stat().st_mtime_ns
    monkeypatch.undo()
    restore(target, overwrite=Overwrite.IF_CHANGED)
    assert_same(survey(tree), survey(target))


def test_what_cannot_be_deleted_is_told(
    stored: Stored, tree: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    restore = stored(tree)
    (target / "a/b").mkdir(parents=True)
    for name in ("a/b/stuck", "a/x", "y"):
        (target / name).touch()
    real = os.unlink

    def unlink(path: bytes, *, dir_fd: int | None = None) -> None:
        if path == b"stuck":
            raise OSError(errno.EIO, "broken")
        real(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", unlink)
    problems: list[Problem] = []
    result = restore(target, delete=True, problems=problems, dry=False)
    monkeypatch.undo()
    assert [problem.path for problem in problems] == [b"a/b/stuck"]
    assert "not deleted" in problems[0].what
    assert result.deleted == 2
    assert (target / "a/b/stuck").exists()
