"""The entries of a live directory that count for a snapshot."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from stat import S_IFMT

from snapfs.fs.matching import DirRules
from snapfs.fs.temporary import is_temporary
from snapfs.model.kinds import Kind

TEMPORARY_START = b".snapfs-tmp-"


def entries(
    fd: int,
    names: Sequence[bytes],
    rules: DirRules | None,
    skip: Collection[tuple[int, int]],
    *,
    trouble: Callable[[bytes, OSError], None],
    skipped: Callable[[], None],
    spare: Callable[[bytes], bool] | None = None,
) -> Iterator[tuple[bytes, os.stat_result]]:
    """Those that no rule leaves out, with their stat; what vanishes meanwhile is passed over.

    ``skip`` are (dev, ino) of directories that are never captured: ``skipped`` is told of one.
    ``spare`` keeps a name that is left out for a marker or its size.
    """
    lstat = os.lstat
    plain = is_plain(names)
    unseen: dict[bytes, tuple[int, int]] | None = None
    for name in names:
        try:
            st = lstat(name, dir_fd=fd)
        except FileNotFoundError:
            continue
        except OSError as error:
            if unseen is None:
                unseen = kinds(fd, frozenset(names))
            is_dir = unseen.get(name, (0, 0))[0] == Kind.DIR
            if not is_temporary(name) and not _left_out(name, is_dir, rules, spare):
                trouble(name, error)
            continue
        if not plain and name.startswith(TEMPORARY_START) and is_temporary(name):
            continue
        if rules is not None:
            is_dir = S_IFMT(st.st_mode) == 0o040000
            is_file = S_IFMT(st.st_mode) == 0o100000
            size = st.st_size if is_file else 0
            if rules.excluded(name, is_dir, size) and not (
                spare is not None and rules.only_now(name, is_dir, size) and spare(name)
            ):
                rules.see_left_out(name, is_dir, size)
                continue
        if st.st_mode & 0o170000 == 0o040000 and (st.st_dev, st.st_ino) in skip:
            skipped()
            continue
        yield name, st


def _left_out(
    name: bytes, is_dir: bool, rules: DirRules | None, spare: Callable[[bytes], bool] | None
) -> bool:
    """Whether a rule leaves out a name of which no more than its kind is known."""
    if rules is None or not rules.excluded(name, is_dir):
        return False
    return spare is None or not rules.only_now(name, is_dir, 0) or not spare(name)


def kinds(fd: int, names: Collection[bytes]) -> dict[bytes, tuple[int, int]]:
    """Kind and inode number of names that can be listed and not examined, as far as the list tells."""
    found: dict[bytes, tuple[int, int]] = {}
    with suppress(OSError), os.scandir(fd) as listed:
        for entry in listed:
            name = os.fsencode(entry.name)
            if name in names:
                found[name] = int(_kind(entry)), entry.inode()
    return found


def _kind(entry: os.DirEntry[str]) -> Kind:
    try:
        if entry.is_dir(follow_symlinks=False):
            return Kind.DIR
    except OSError:  # the list does not tell: it would have to be examined
        return Kind.FILE
    return Kind.SYMLINK if entry.is_symlink() else Kind.FILE


def is_plain(names: Sequence[bytes]) -> bool:
    """Whether none of sorted names could be a temporary file of a restore."""
    at = bisect_left(names, TEMPORARY_START)
    return at == len(names) or not names[at].startswith(TEMPORARY_START)
