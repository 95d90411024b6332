"""The trees that are measured: real installations (A), a million small files (M), one big file.

Every builder is a no-op where the finished tree stands already, so that several runs share one.
All times are set into the past: a snapshot tool may reread what changed within the last minute.
"""

from __future__ import annotations

import os
import random
import shutil
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

OLD_S = 3 * 24 * 3600
"""Age given to the entries of built trees, in seconds."""

PAGE = 4096


def installations(
    target: Path, sources: list[Path], *, min_files: int = 50_000, min_bytes: int = 10**9
) -> None:
    """Tree A: copies of software installations below ``target``, at least as many as the bars ask for.

    Without ``sources`` the running interpreter's installation is copied as often as needed.
    """
    if target.is_dir():
        return
    work = target.with_name(target.name + ".part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    sources = sources or [Path(sysconfig.get_paths()["stdlib"]).parent.parent]
    turn = 0
    while True:
        for source in sources:
            name = source.name if turn == 0 else f"{source.name}-{turn}"
            shutil.copytree(source, work / name, symlinks=True, dirs_exist_ok=True)
        files, total = tree_size(work)
        if files >= min_files and total >= min_bytes:
            break
        turn += 1
    age(work)
    work.rename(target)


def million(target: Path, *, files: int = 1_000_000) -> None:
    """Tree M: ``files`` files of 36 bytes, all different, 100 to a directory, 100 directories to a parent."""
    if target.is_dir():
        return
    work = target.with_name(target.name + ".part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    old_ns = (int(time.time()) - OLD_S) * 10**9
    number = 0
    for outer in range(-(-files // 10_000)):
        parent = work / f"d{outer:03d}"
        parent.mkdir()
        for inner in range(100):
            if number >= files:
                break
            folder = parent / f"e{inner:02d}"
            folder.mkdir()
            directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            for _ in range(min(100, files - number)):
                fd = os.open(f"f{number:07d}", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=directory)
                os.write(fd, b"%035d\n" % number)
                os.utime(fd, ns=(old_ns, old_ns + number))
                os.close(fd)
                number += 1
            os.close(directory)
            os.utime(folder, ns=(old_ns, old_ns))
        os.utime(parent, ns=(old_ns, old_ns))
    os.utime(work, ns=(old_ns, old_ns))
    work.rename(target)


def big_file(target: Path, *, size: int = 4 << 30, seed: int = 1) -> None:
    """One file of ``size`` random bytes in the directory ``target``."""
    if target.is_dir():
        return
    work = target.with_name(target.name + ".part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    rng = random.Random(seed)
    with (work / "image").open("wb") as out:
        for _ in range(size >> 20):
            out.write(rng.randbytes(1 << 20))
    age(work)
    work.rename(target)


def rewrite_pages(target: Path, *, share: float = 0.01, seed: int = 2) -> int:
    """Rewrite a random ``share`` of the 4 KiB pages of the big file in place; their number."""
    rng = random.Random(seed)
    path = target / "image"
    pages = path.stat().st_size // PAGE
    chosen = sorted(rng.sample(range(pages), int(pages * share)))
    fd = os.open(path, os.O_WRONLY)
    try:
        for page in chosen:
            os.pwrite(fd, rng.randbytes(PAGE), page * PAGE)
    finally:
        os.close(fd)
    os.utime(path, ns=(old := _past_ns(), old))
    return len(chosen)


def change_files(target: Path, *, share: float = 0.01, seed: int = 3) -> int:
    """Change a random ``share`` of the regular files: half of them get bytes appended, others rewritten
    in place, a few removed and added, as an update of packages does; how many were changed.
    """
    rng = random.Random(seed)
    files = sorted(_files(target))
    chosen = rng.sample(files, max(1, int(len(files) * share)))
    old = _past_ns()
    for turn, path in enumerate(chosen):
        if turn % 20 == 19:
            path.rename(path.with_name(path.name + f".moved{seed}"))
            continue
        with path.open("r+b" if turn % 2 else "ab") as out:
            out.write(b"changed %d %d\n" % (seed, turn))
        os.utime(path, ns=(old, old + turn))
    return len(chosen)


def age(target: Path) -> None:
    """Give every entry of the tree that is younger an mtime of ``OLD_S`` ago."""
    old = _past_ns()
    for folder, names, files in os.walk(target, topdown=False):
        for name in [*files, *names]:
            path = Path(folder, name)
            if path.lstat().st_mtime_ns > old:
                os.utime(path, ns=(old, old), follow_symlinks=False)
    os.utime(target, ns=(old, old))


def tree_size(target: Path) -> tuple[int, int]:
    """Number and apparent bytes of the regular files below ``target``."""
    count = total = 0
    for path in _files(target):
        count += 1
        total += path.stat().st_size
    return count, total


def stored_bytes(target: Path) -> int:
    """What a repository takes on disk: allocated bytes of everything below ``target``."""
    total = 0
    for folder, names, files in os.walk(target):
        for name in [*names, *files]:
            total += Path(folder, name).lstat().st_blocks * 512
    return total


def _files(target: Path) -> Iterator[Path]:
    for folder, _, files in os.walk(target):
        for name in files:
            path = Path(folder, name)
            if not path.is_symlink() and path.is_file():
                yield path


def _past_ns() -> int:
    return (int(time.time()) - OLD_S) * 10**9
