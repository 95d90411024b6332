"""Fingerprint of a directory: 64 bits that say whether any child could have changed.

It is xxh3 over the digest of the rules in force and, for each child that is not left out, by name,
the stat fields that decide (``snapfs-design.7``, CHANGE). Equal fingerprints mean that no child row is
loaded or compared. It guards speed, not integrity: nothing is ever restored because of it.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Collection, Sequence
from typing import NamedTuple

import xxhash

SLICE = 8192
"""Children that are hashed at once; part of the fingerprint, since names and numbers alternate."""
_MASK = (1 << 64) - 1
_DIR = 0o040000
_FILE = 0o100000
_FORMAT = 0o170000


class Fingerprint:
    """Collects the children of one directory, in byte order of name."""

    __slots__ = ("_hash", "_names", "_numbers")

    def __init__(self, rules_digest: bytes) -> None:
        self._hash = xxhash.xxh3_64(rules_digest)
        self._names: list[bytes] = []
        self._numbers: list[int] = []

    def add(self, name: bytes, st: os.stat_result) -> None:
        """Take the next child."""
        self._names.append(name)
        self._numbers += numbers(st)
        if len(self._names) == SLICE:
            self._drain()

    def add_slice(self, names: Sequence[bytes], fields: Sequence[int]) -> None:
        """Take the next children at once: ``SLICE`` of them, or the last that there are.

        ``fields`` are the `numbers` of each in turn.
        """
        self._names += names
        self._numbers += fields
        self._drain()

    def _drain(self) -> None:
        if not self._names:
            return
        # A NUL is in no name, and each has the same count of numbers: no two lists hash alike.
        self._hash.update(b"\0".join(self._names))
        self._hash.update(_pack(self._numbers))
        self._names.clear()
        self._numbers.clear()

    def value(self) -> int:
        """The fingerprint as a signed 64-bit integer."""
        self._drain()
        number = self._hash.intdigest()
        return number - (1 << 64) if number >= 1 << 63 else number


def numbers(st: os.stat_result) -> tuple[int, ...]:
    """The fields that decide. Size and link count of a directory follow from its names."""
    mode = st.st_mode
    fmt = mode & _FORMAT
    if fmt == _FILE:
        return (mode, st.st_uid, st.st_gid, st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino,
                st.st_nlink)  # fmt: skip
    if fmt == _DIR:
        return mode, st.st_uid, st.st_gid, 0, st.st_mtime_ns, st.st_ctime_ns, st.st_ino, 0
    return (mode, st.st_uid, st.st_gid, st.st_rdev, st.st_mtime_ns, st.st_ctime_ns, st.st_ino,
            st.st_nlink)  # fmt: skip


def _pack(values: list[int]) -> bytes:
    try:
        return struct.pack(f"<{len(values)}q", *values)
    except struct.error:  # times beyond 2262, inode numbers beyond 63 bits
        return struct.pack(f"<{len(values)}Q", *(value & _MASK for value in values))


class Glance(NamedTuple):
    """What one look at a directory gave. Sizes in bytes."""

    value: int
    """its fingerprint"""
    stats: list[os.stat_result] | None
    """of all names, in order; None where they are more than `SLICE`"""
    directories: list[tuple[bytes, os.stat_result]]
    entries: int
    files: int
    total_bytes: int


def glance(
    fd: int, names: Sequence[bytes], rules_digest: bytes, skip: Collection[tuple[int, int]]
) -> Glance | None:
    """Fingerprint a directory without rules, as fast as it goes.

    ``names`` are sorted. None if anything is out of the ordinary (an entry vanished, or is one of
    ``skip``): then it is to be looked at entry by entry.
    """
    mark = Fingerprint(rules_digest)
    small = len(names) <= SLICE
    stats: list[os.stat_result] = []
    directories: list[tuple[bytes, os.stat_result]] = []
    files = total = 0
    lstat = os.lstat
    for start in range(0, len(names), SLICE):
        part = names[start : start + SLICE]
        fields: list[int] = []
        try:
            for name in part:
                st = lstat(name, dir_fd=fd)
                stats.append(st)
                mode = st.st_mode
                fmt = mode & 0o170000
                if fmt == 0o100000:
                    files += 1
                    size = st.st_size
                    total += size
                    fields += (mode, st.st_uid, st.st_gid, size, st.st_mtime_ns, st.st_ctime_ns,
                               st.st_ino, st.st_nlink)  # fmt: skip
                else:
                    fields += numbers(st)
                    if fmt == 0o040000:
                        if (st.st_dev, st.st_ino) in skip:
                            return None
                        directories.append((name, st))
        except OSError:
            return None
        mark.add_slice(part, fields)
        if not small:
            stats.clear()
    kept = stats if small else None
    return Glance(mark.value(), kept, directories, len(names), files, total)
