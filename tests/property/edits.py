"""What may happen to a live tree between two snapshots.

An edit is a function of a tree, two numbers that pick entries, and a name; it does nothing where it
has no meaning, so that any sequence is a valid history.
"""

from __future__ import annotations

import itertools
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

OLD_NS = 1_500_000_000 * 10**9
"""A time long ago: what carries it was not written a moment before the scan."""
_DEEPEST = 4

Edit = Callable[[Path, int, int, str], None]
EDITS: dict[str, Edit] = {}
_counter = itertools.count()


def edit(function: Edit) -> Edit:
    """Add to ``EDITS``."""
    EDITS[function.__name__] = function
    return function


def apply(tree: Path, name: str, one: int, two: int, leaf: str) -> None:
    """Do one edit."""
    EDITS[name](tree, one, two, leaf)


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _entry(tree: Path, pick: int, only: Callable[[Path], bool] = lambda path: True) -> Path | None:
    found = sorted(path for path in tree.rglob("*") if only(path))
    return found[pick % len(found)] if found else None


def _file(tree: Path, pick: int) -> Path | None:
    return _entry(tree, pick, lambda path: path.is_file() and not path.is_symlink())


def _directory(tree: Path, pick: int) -> Path:
    found = [tree, *sorted(filter(_is_directory, tree.rglob("*")))]
    return found[pick % len(found)]


def _clear(path: Path) -> None:
    if _is_directory(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


@edit
def write(tree: Path, one: int, two: int, name: str) -> None:
    """A new file, or other bytes in place; sometimes none."""
    path = _directory(tree, one) / name
    if _is_directory(path):
        return
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        path.unlink()
    path.write_bytes(b"%d." % next(_counter) * (two % 40))


@edit
def write_large(tree: Path, one: int, two: int, name: str) -> None:
    """A file of several blocks, or a few changed bytes in one."""
    path = _file(tree, one)
    if path is not None and path.stat().st_size > 300_000:
        with path.open("r+b") as file:
            file.seek(two % 300_000)
            file.write(b"changed %d" % next(_counter))
    else:
        path = _directory(tree, one) / name
        _clear(path)
        path.write_bytes(os.urandom(300_000 + two % 100_000))


@edit
def write_holes(tree: Path, one: int, two: int, name: str) -> None:
    """A file with a hole, or of holes alone."""
    path = _directory(tree, one) / name
    _clear(path)
    with path.open("wb") as file:
        file.truncate(200_000)
        if two % 3:
            file.seek(two % 190_000)
            file.write(b"%d" % next(_counter))


@edit
def copy(tree: Path, one: int, two: int, name: str) -> None:
    """The bytes of one file under another name."""
    old, new = _file(tree, one), _directory(tree, two) / name
    if old is None or new == old or new in old.parents:
        return
    data = old.read_bytes()
    _clear(new)
    new.write_bytes(data)


@edit
def replace_by_rename(tree: Path, one: int, two: int, name: str) -> None:
    """As editors save: another inode; time and size as before."""
    path = _file(tree, one)
    if path is None or not path.stat().st_size:
        return
    before = path.stat()
    new = path.with_name(".new")
    new.write_bytes(os.urandom(before.st_size))
    os.utime(new, ns=(before.st_mtime_ns, before.st_mtime_ns))
    new.rename(path)


@edit
def make_directory(tree: Path, one: int, two: int, name: str) -> None:
    """Also in place of something else."""
    path = _directory(tree, one) / name
    if _is_directory(path) or len(path.relative_to(tree).parts) > _DEEPEST:
        return
    _clear(path)
    path.mkdir()


@edit
def make_symlink(tree: Path, one: int, two: int, name: str) -> None:
    """Also in place of something else."""
    path = _directory(tree, one) / name
    _clear(path)
    path.symlink_to("abcd"[two % 4])


@edit
def make_pipe(tree: Path, one: int, two: int, name: str) -> None:
    """Also in place of something else."""
    path = _directory(tree, one) / name
    _clear(path)
    os.mkfifo(path)


@edit
def move(tree: Path, one: int, two: int, name: str) -> None:
    """Anything moves anywhere, over what is there."""
    old, parent = _entry(tree, one), _directory(tree, two)
    if old is None or old == parent or old in parent.parents:
        return
    new = parent / name
    if new == old or new in old.parents:
        return
    _clear(new)
    old.rename(new)


@edit
def move_directory(tree: Path, one: int, two: int, name: str) -> None:
    """A directory moves anywhere, with all below it."""
    old, parent = _entry(tree, one, _is_directory), _directory(tree, two)
    if old is None or old == parent or old in parent.parents:
        return
    new = parent / name
    if new == old or new in old.parents:
        return
    _clear(new)
    old.rename(new)


@edit
def swap(tree: Path, one: int, two: int, name: str) -> None:
    """Two names trade places."""
    a, b = _entry(tree, one), _entry(tree, two)
    if a is None or b is None or a == b or a in b.parents or b in a.parents:
        return
    aside = tree / ".aside"
    a.rename(aside)
    b.rename(a)
    aside.rename(b)


@edit
def hard_link(tree: Path, one: int, two: int, name: str) -> None:
    """Another name of a file, over what is there."""
    old, new = _file(tree, one), _directory(tree, two) / name
    if old is None or new == old or new in old.parents:
        return
    _clear(new)
    os.link(old, new)


@edit
def break_link(tree: Path, one: int, two: int, name: str) -> None:
    """A name gets an inode of its own, with the same bytes, mode and time."""
    path = _file(tree, one)
    if path is None:
        return
    new = path.with_name(".copy")
    shutil.copy2(path, new)
    new.rename(path)


@edit
def remove(tree: Path, one: int, two: int, name: str) -> None:
    """Anything goes away, with all below it."""
    path = _entry(tree, one)
    if path is not None:
        _clear(path)


@edit
def remove_and_make_again(tree: Path, one: int, two: int, name: str) -> None:
    """The same name and kind, often with the same inode number, and other bytes."""
    path = _file(tree, one)
    if path is not None:
        path.unlink()
        path.write_bytes(b"again %d" % next(_counter))


@edit
def change_mode(tree: Path, one: int, two: int, name: str) -> None:
    """Another mode, that alone."""
    path = _entry(tree, one)
    if path is not None and not path.is_symlink():
        path.chmod((0o600, 0o640, 0o755)[two % 3] | (0o100 if path.is_dir() else 0))


@edit
def change_time(tree: Path, one: int, two: int, name: str) -> None:
    """Another time, that alone."""
    path = _entry(tree, one)
    if path is not None:
        os.utime(path, ns=(OLD_NS, OLD_NS + two % 5), follow_symlinks=False)


@edit
def settle(tree: Path, one: int, two: int, name: str) -> None:
    """Everything gets old, and a moment passes: the next scan finds nothing racy and keeps fingerprints."""
    for path in [*tree.rglob("*"), tree]:
        if path.lstat().st_mtime_ns > OLD_NS + 10**9:
            os.utime(path, ns=(OLD_NS, OLD_NS + 7), follow_symlinks=False)
    time.sleep(0.02)
