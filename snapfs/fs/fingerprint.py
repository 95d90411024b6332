"""Fingerprint of a directory: 64 bits that say whether any child could have changed.

It is xxh3 over the digest of the rules in force and, for each child that is not left out, by name,
the stat fields that decide (``snapfs-design.7``, CHANGE). Equal fingerprints mean that no child row is
loaded or compared. It guards speed, not integrity: nothing is ever restored because of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from struct import Struct

import xxhash

_FIELDS = Struct("<HIIIQQQQQQ")
_MASK = (1 << 64) - 1
_DIR = 0o040000
_FORMAT = 0o170000


class Fingerprint:
    """Collects the children of one directory, in order of name."""

    __slots__ = ("_hash", "_parts")

    def __init__(self, rules_digest: bytes) -> None:
        self._hash = xxhash.xxh3_64()
        self._hash.update(rules_digest)
        self._parts: list[bytes] = []

    def adder(self) -> Callable[[bytes, os.stat_result], None]:
        """A function that takes the next child; made once a directory, since it runs per entry."""
        append = self._parts.append
        pack = _FIELDS.pack

        def add(name: bytes, st: os.stat_result) -> None:
            mode = st.st_mode
            append(name)
            if mode & _FORMAT == _DIR:
                # Size and link count of a directory follow from its names.
                append(pack(mode, st.st_uid, st.st_gid, 0, 0, st.st_mtime_ns & _MASK,
                            st.st_ctime_ns & _MASK, st.st_ino, 0, 0))  # fmt: skip
            else:
                append(pack(mode, st.st_uid, st.st_gid, st.st_nlink & 0xFFFFFFFF, st.st_size,
                            st.st_mtime_ns & _MASK, st.st_ctime_ns & _MASK, st.st_ino, st.st_rdev,
                            1))  # fmt: skip

        return add

    def drain(self) -> None:
        """Hash what has come so far (keeps memory flat in a directory of a million names)."""
        # A NUL cannot be in a name and lengths of the packed part are fixed: unambiguous.
        self._hash.update(b"\0".join(self._parts))
        self._parts.clear()

    def value(self) -> int:
        """The fingerprint as a signed 64-bit integer."""
        self.drain()
        number = self._hash.intdigest()
        return number - (1 << 64) if number >= 1 << 63 else number
