"""A restore target that somebody works against: nothing outside of it is ever touched."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.program import Program
from tests.harness.require import need_root
from tests.harness.trees import assert_same, survey


@pytest.fixture
def victim(workspace: Path) -> Path:
    """A directory elsewhere, with names that the snapshot has as well."""
    path = workspace / "victim"
    for folder in ("", "d0", "d1", "sub"):
        (path / folder).mkdir(exist_ok=True, parents=True)
        for number in range(20):
            (path / folder / f"f{number}").write_bytes(b"victim")
    os.utime(path, ns=(5, 5))
    return path


@pytest.fixture
def source(snapfs: Program, tree: Path) -> Path:
    """A snapshot s0 of directories d0..d9, with files and a directory ``sub`` each."""
    for folder in range(10):
        (tree / f"d{folder}" / "sub").mkdir(parents=True)
        for number in range(40):
            (tree / f"d{folder}" / f"f{number}").write_bytes(b"from the snapshot %d" % number)
            (tree / f"d{folder}" / "sub" / f"f{number}").write_bytes(b"deeper %d" % number)
    snapfs.create(tree, "s0")
    return tree


@contextlib.contextmanager
def swapping(names: list[Path], victim: Path) -> Iterator[None]:
    """Each of these directories turns into a symlink to the victim and back, all the time."""
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            for path in names:
                aside = path.with_name(path.name + ".aside")
                with contextlib.suppress(OSError):
                    path.rename(aside)
                    path.symlink_to(victim)
                with contextlib.suppress(OSError):
                    path.unlink()
                with contextlib.suppress(OSError):
                    aside.rename(path)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("mode", ["to", "in-place"])
def test_directories_swapped_for_symlinks_while_restoring(
    mode: str, snapfs: Program, source: Path, victim: Path, workspace: Path
) -> None:
    untouched = survey(victim)
    target = source if mode == "in-place" else workspace / "target"
    target.mkdir(exist_ok=True)
    for folder in range(10):
        (target / f"d{folder}" / "sub").mkdir(parents=True, exist_ok=True)
        for path in (target / f"d{folder}").glob("f*"):
            path.write_bytes(b"changed")
    names = [target / "d1", target / "d4" / "sub", target / "d7"]
    for _ in range(4):
        with swapping(names, victim):
            if mode == "in-place":
                snapfs.process.restore_in_place("s0", "--delete", ok=(0, 1, 3))
            else:
                snapfs.process(
                    "restore",
                    "s0",
                    "--to",
                    target,
                    "--overwrite",
                    "always",
                    "--delete",
                    "--yes",
                    ok=(0, 1, 3),
                )
        assert_same(untouched, survey(victim))
        for path in target.rglob("*.aside"):
            if path.is_symlink():
                path.unlink()


def test_hard_linked_target_files_are_replaced(
    snapfs: Program, source: Path, workspace: Path
) -> None:
    """A file of the target that is hard-linked elsewhere is not written through."""
    elsewhere = workspace / "elsewhere"
    elsewhere.write_bytes(b"mine, linked into the target")
    target = workspace / "target"
    (target / "d0").mkdir(parents=True)
    os.link(elsewhere, target / "d0" / "f0")
    before = elsewhere.stat()
    snapfs("restore", "s0", "--to", target, "--overwrite", "always")
    assert elsewhere.read_bytes() == b"mine, linked into the target"
    assert (elsewhere.stat().st_mode, elsewhere.stat().st_mtime_ns) == (
        before.st_mode,
        before.st_mtime_ns,
    )
    assert elsewhere.stat().st_nlink == 1
    assert (target / "d0" / "f0").read_bytes() == b"from the snapshot 0"


def test_a_root_that_became_a_symlink(snapfs: Program, source: Path, victim: Path) -> None:
    """The root's own last component is a symlink now: nothing behind it is written or deleted."""
    untouched = survey(victim)
    moved = source.with_name("moved")
    source.rename(moved)
    source.symlink_to(victim)
    snapfs("restore", f"{moved.name}@s0", "--in-place", "--delete", "--yes", ok=None)
    snapfs("restore", "s0", "--in-place", "--delete", "--yes", ok=(0, 1, 2, 3))
    assert_same(untouched, survey(victim))


def test_an_ordinary_user_is_given_nothing_on_the_way(
    snapfs: Program, source: Path, workspace: Path
) -> None:
    """Until a file has its owner, nobody else can read it: no moment with a wider mode than the final one."""
    need_root()
    for path in source.rglob("f*"):
        path.chmod(0o600)
    snapfs.create(source, "s1")
    target = workspace / "target"
    process = snapfs.start("restore", "s1", "--to", target)
    seen: set[int] = set()
    while process.poll() is None:
        for path in workspace.glob("target/**/*"):
            with contextlib.suppress(OSError):
                if path.is_file():
                    seen.add(path.lstat().st_mode & 0o077)
    snapfs.finish(process)
    assert seen <= {0}
