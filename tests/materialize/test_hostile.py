"""Targets that are set up to lead a restore astray, or to resist it."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from snapfs.fs.inodeflags import APPEND, IMMUTABLE, NODUMP, get_flags, set_flags
from snapfs.materialize import naming
from snapfs.materialize.wanted import Overwrite
from snapfs.progress import Problem
from tests.harness.require import need_root
from tests.harness.trees import assert_same, survey
from tests.materialize.conftest import Restorer

Stored = Callable[[Path], Restorer]


@pytest.fixture
def victim(workspace: Path) -> Path:
    """Something outside the target that must stay as it is."""
    path = workspace / "victim"
    (path / "sub").mkdir(parents=True)
    for name in ("file", "sub/file"):
        (path / name).write_text("precious")
    path.chmod(0o711)
    return path


def flags_of(path: Path) -> int:
    fd = os.open(path, os.O_RDONLY)
    try:
        return get_flags(fd)
    finally:
        os.close(fd)


def give_flags(path: Path, flags: int) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        set_flags(fd, flags)
    finally:
        os.close(fd)


@pytest.mark.parametrize(
    "terms", [(Overwrite.ALWAYS, False), (Overwrite.IF_CHANGED, True), (Overwrite.ALWAYS, True)]
)
def test_symlinks_in_the_target_are_replaced_not_followed(
    stored: Stored, tree: Path, target: Path, victim: Path, terms: tuple[Overwrite, bool]
) -> None:
    overwrite, delete = terms
    for name in ("dir/file", "dir/sub/file", "file", "deep/er/file"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("snapshot")
    restore = stored(tree)
    before = survey(victim)
    target.mkdir()
    (target / "dir").symlink_to(victim)
    (target / "file").symlink_to(victim / "file")
    (target / "deep").mkdir()
    (target / "deep/er").symlink_to("../../victim/sub")
    (target / "extra").symlink_to(victim)
    restore(target, overwrite=overwrite, delete=delete)
    assert survey(victim) == before
    assert not (target / "dir").is_symlink()
    assert os.path.lexists(target / "extra") == (not delete)
    (target / "extra").unlink(missing_ok=True)
    os.utime(target, ns=(0, tree.stat().st_mtime_ns))
    assert_same(survey(tree), survey(target))


def test_a_selection_behind_a_symlink(
    stored: Stored, tree: Path, target: Path, victim: Path
) -> None:
    (tree / "dir").mkdir()
    (tree / "dir/file").write_text("snapshot")
    restore = stored(tree)
    before = survey(victim)
    target.mkdir()
    (target / "dir").symlink_to(victim)
    restore(target, lambda: restore.stored.selected(b"dir/file"))
    assert survey(victim) == before
    assert (target / "dir/file").read_text() == "snapshot"
    assert not (target / "dir").is_symlink()


def test_a_file_linked_elsewhere_is_not_written_through(
    stored: Stored, tree: Path, target: Path, victim: Path
) -> None:
    for name in ("content", "mode", "equal"):
        (tree / name).write_text("precious" if name != "content" else "snapshot")
        (tree / name).chmod(0o600)
    restore = stored(tree)
    target.mkdir()
    for name in ("content", "mode", "equal"):
        shutil.copy2(tree / name if name != "content" else victim / "file", victim / name)
        os.link(victim / name, target / name)
    (victim / "mode").chmod(0o644)
    before = survey(victim)
    restore(target, overwrite=Overwrite.IF_CHANGED, delete=True)
    assert_same(survey(tree), survey(target), ignore=["links"])
    assert survey(victim) == before


@pytest.mark.parametrize("workers", [0, 2])
def test_directories_swapped_for_symlinks_all_the_time(
    stored: Stored, tree: Path, target: Path, victim: Path, workers: int
) -> None:
    for number in range(12):
        folder = tree / f"d{number}" / "e"
        folder.mkdir(parents=True)
        for index in range(50):
            (folder / f"f{index}").write_text("snapshot")
    restore = stored(tree)
    before = survey(victim)
    stop = threading.Event()

    def swap() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            here = target / f"d{number % 12}"
            with contextlib.suppress(OSError):
                here.rename(target / f"away{number}")
                here.symlink_to(victim)
                time.sleep(0.0005)
                here.unlink()
                (target / f"away{number}").rename(here)

    target.mkdir()
    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(6):
            restore(target, problems=[], dry=False, workers=workers, delete=False)
    finally:
        stop.set()
        thread.join()
    assert survey(victim) == before


def test_a_pipe_where_a_file_is_wanted(stored: Stored, tree: Path, target: Path) -> None:
    (tree / "f").write_text("snapshot")
    os.mkfifo(tree / "p")
    restore = stored(tree)
    target.mkdir()
    os.mkfifo(target / "f")
    (target / "p").write_text("a file")
    restore(target, overwrite=Overwrite.IF_CHANGED)
    assert_same(survey(tree), survey(target))


def test_a_running_program_is_replaced(stored: Stored, tree: Path, target: Path) -> None:
    shutil.copy("/bin/true", tree / "program")
    restore = stored(tree)
    target.mkdir()
    shutil.copy("/bin/sleep", target / "program")
    with subprocess.Popen([target / "program", "60"]) as running:
        restore(target)
        assert running.poll() is None
        running.kill()
    assert_same(survey(tree), survey(target))


@pytest.mark.parametrize("workers", [0, 2])
def test_flags_are_cleared_first_and_set_last(
    stored: Stored, tree: Path, target: Path, workers: int
) -> None:
    need_root()
    for name in ("d/changed", "d/same", "d/mended", "locked/f", "group/a", "group/b"):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text("snapshot")
    (tree / "group/b").unlink()
    os.link(tree / "group/a", tree / "group/b")
    for index in range(500 if workers else 0):
        (tree / "d" / str(index)).write_text("x")
    wanted = {
        "d/same": IMMUTABLE, "group/a": IMMUTABLE | NODUMP, "d/changed": APPEND,
        "locked": IMMUTABLE, "d": APPEND,
    }  # fmt: skip
    for name, flags in wanted.items():
        give_flags(tree / name, flags)
    restore = stored(tree)
    state = survey(tree)

    shutil.copytree(tree, target)
    (target / "group/b").unlink()
    (target / "group/b").write_text("apart")
    (target / "d/changed").write_text("other")
    (target / "gone").mkdir()
    (target / "gone/x").write_text("x")
    for name in (
        "d/changed", "d/same", "d/mended", "gone/x", "gone", "group/b", "group", "locked", "d", "",
    ):  # fmt: skip
        give_flags(target / name, IMMUTABLE)
    restore(target, overwrite=Overwrite.IF_CHANGED, delete=True, workers=workers)
    assert_same(state, survey(target))
    # Into a new place as well, and over itself.
    fresh = target.with_name("fresh")
    restore(fresh, workers=workers)
    assert_same(state, survey(fresh))
    result = restore(fresh, overwrite=Overwrite.IF_CHANGED, delete=True, workers=workers)
    assert result.overwritten == 0
    assert_same(state, survey(fresh))


@pytest.mark.parametrize("kind", ["acl", "setgid", "nodump"])
def test_nothing_is_inherited_from_the_target(
    stored: Stored, tree: Path, target: Path, kind: str
) -> None:
    need_root()
    (tree / "d/e").mkdir(parents=True)
    for name in ("f", "d/f", "d/e/f"):
        (tree / name).write_text("x")
    (tree / "l").symlink_to("f")
    os.mkfifo(tree / "p")
    restore = stored(tree)
    for existing in (True, False):
        target.mkdir()
        if existing:
            (target / "mine").touch()
        match kind:
            case "acl":
                command = ["setfacl", "-d", "-m", "u:1000:rwx,m::rwx", target]
                subprocess.run(command, check=True)
            case "setgid":
                os.chown(target, 0, 1234)
                target.chmod(0o2777)
            case _:
                give_flags(target, NODUMP)
        restore(target, delete=True)
        assert_same(survey(tree), survey(target))
        subprocess.run(["rm", "-rf", target], check=True)


def test_names_that_the_filesystem_takes_for_the_same(
    stored: Stored, tree: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No such filesystem is at hand: looking up is made to ignore case."""
    for name, text in (("README", "wanted"), ("both", "lower"), ("BOTH", "upper")):
        (tree / name).write_text(text)
    restore = stored(tree)
    target.mkdir()
    (target / "Readme").write_text("old")
    (target / "Both").write_text("old")
    real = os.stat

    def folded(path: object, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> object:
        if dir_fd is not None and isinstance(path, bytes):
            for name in map(os.fsencode, os.listdir(dir_fd)):
                if name.lower() == path.lower():
                    path = name
        return real(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "stat", folded)
    problems: list[Problem] = []
    restore(target, delete=True, problems=problems, dry=False)
    monkeypatch.undo()
    assert sorted(os.listdir(target)) == ["BOTH", "README"]
    assert (target / "README").read_text() == "wanted"
    assert (target / "BOTH").read_text() == "upper"
    assert [problem.path for problem in problems] == [b"both"]


def test_a_name_that_appears_meanwhile_is_not_overwritten(
    stored: Stored, tree: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "f").write_text("snapshot")
    restore = stored(tree)
    target.mkdir()
    (target / "other").touch()
    problems: list[Problem] = []
    real = naming.rename_to_free_name

    def late(old: bytes, new: bytes, dir_fd: int) -> None:
        (target / "f").write_text("theirs")
        real(old, new, dir_fd)

    monkeypatch.setattr(naming, "rename_to_free_name", late)
    result = restore(target, problems=problems, dry=False)
    assert (target / "f").read_text() == "theirs"
    assert [problem.path for problem in problems] == [b"f"]
    assert result.created == 0
    assert sorted(os.listdir(target)) == ["f", "other"]


def test_modes_of_closed_directories_are_put_back(stored: Stored, tree: Path, target: Path) -> None:
    need_root()
    for name in ("a/b/f", "c/f"):
        (tree / name).parent.mkdir(parents=True)
        (tree / name).write_text("x")
    for name in ("a/b", "a", "c"):
        (tree / name).chmod(0)
    restore = stored(tree)
    restore(target)
    assert_same(survey(tree), survey(target))
    restore(target)
    assert_same(survey(tree), survey(target))
    assert stat.S_IMODE((target / "a").stat().st_mode) == 0
