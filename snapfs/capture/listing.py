"""The entries of a live directory that count for a snapshot."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from stat import S_IFMT

from snapfs.fs.matching import DirRules
from snapfs.fs.temporary import is_temporary

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
    for name in names:
        try:
            st = lstat(name, dir_fd=fd)
        except FileNotFoundError:
            continue
        except OSError as error:
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


def is_plain(names: Sequence[bytes]) -> bool:
    """Whether none of sorted names could be a temporary file of a restore."""
    at = bisect_left(names, TEMPORARY_START)
    return at == len(names) or not names[at].startswith(TEMPORARY_START)
