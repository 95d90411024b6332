"""The entries of a live directory that count for a snapshot."""

from __future__ import annotations

import errno
import os
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from stat import S_IFMT

from snapfs.fs.matching import DirRules
from snapfs.fs.temporary import is_temporary
from snapfs.model.kinds import Kind

Listed = tuple[int, int]
"""Kind and inode number, as far as a directory's list tells."""

TEMPORARY_START = b".snapfs-tmp-"


def entries(
    fd: int,
    names: Sequence[bytes],
    rules: DirRules | None,
    skip: Collection[tuple[int, int]],
    *,
    trouble: Callable[[bytes, OSError, Listed | None], None],
    skipped: Callable[[], None],
    spare: Callable[[bytes], bool] | None = None,
) -> Iterator[tuple[bytes, os.stat_result]]:
    """Those that no rule leaves out, with their stat; what vanishes meanwhile is passed over.

    ``trouble`` is told of those that cannot be examined, and what the list tells of them.
    ``skip`` are (dev, ino) of directories that are never captured: ``skipped`` is told of one.
    ``spare`` keeps a name that is left out for a marker or its size.
    """
    lstat = os.lstat
    plain = is_plain(names)
    listed: dict[bytes, Listed] | None = None
    for name in names:
        try:
            st = lstat(name, dir_fd=fd)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:  # in a list of paths: nothing is called so
                continue
            if listed is None:
                listed = _listed(fd)
            found = listed.get(name)
            is_dir = found is not None and found[0] == Kind.DIR
            if not is_temporary(name) and not _left_out(name, is_dir, 0, rules, spare):
                trouble(name, error, found)
            continue
        if not plain and name.startswith(TEMPORARY_START) and is_temporary(name):
            continue
        if rules is not None:
            is_dir = S_IFMT(st.st_mode) == 0o040000
            is_file = S_IFMT(st.st_mode) == 0o100000
            size = st.st_size if is_file else 0
            if _left_out(name, is_dir, size, rules, spare):
                rules.see_left_out(name, is_dir, size)
                continue
        if st.st_mode & 0o170000 == 0o040000 and (st.st_dev, st.st_ino) in skip:
            skipped()
            continue
        yield name, st


def _left_out(
    name: bytes,
    is_dir: bool,
    size: int,
    rules: DirRules | None,
    spare: Callable[[bytes], bool] | None,
) -> bool:
    """Whether a rule leaves out a name, and nobody wants it all the same."""
    if rules is None or not rules.excluded(name, is_dir, size):
        return False
    return spare is None or not rules.only_now(name, is_dir, size) or not spare(name)


def _listed(fd: int) -> dict[bytes, Listed]:
    """What the list tells of each name."""
    found: dict[bytes, Listed] = {}
    with suppress(OSError), os.scandir(fd) as names:
        for entry in names:
            found[os.fsencode(entry.name)] = int(_kind(entry)), entry.inode()
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
