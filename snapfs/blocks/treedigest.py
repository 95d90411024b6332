"""The digest of a directory: equal wherever the same state stands.

It covers each child's name, what a restore reproduces of it and the digest of its content or
subtree; never bookkeeping and never which names are links of one inode. The catalog is guarded by
it: whoever reads a whole directory computes the digest again and compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from struct import Struct
from typing import Any, NamedTuple

from blake3 import blake3

from snapfs.model.kinds import Kind

_CONTEXT = "snapfs format 1: digest of a directory"

# Lengths of name, xattrs, target and digest come with the numbers, so no two lists of children
# can give the same bytes.
_NUMBERS = Struct("<14q")

# One update for so many children: a directory of a million names is never joined as a whole.
_BATCH = 4096
_MOST_PARTS = 8192


class TreeChild(NamedTuple):
    """What a directory's digest covers of one child; plain tuples in this order do as well.

    ``size`` is 0 but for files, ``xattr`` is packed (``model.xattrs``), ``digest`` is the content
    digest of a file, the tree digest of a directory, else ``b""``; ``unread`` is 1 if the content
    or the children could not be read.
    """

    name: bytes
    kind: int
    mode: int
    uid: int
    gid: int
    flags: int
    xattr: bytes
    size: int
    mtime_s: int
    mtime_nsec: int
    rdev: int
    target: bytes
    digest: bytes
    unread: int


ChildTuple = tuple[bytes, int, int, int, int, int, bytes, int, int, int, int, bytes, bytes, int]


def lost_digest(child: Sequence[Any]) -> bool:
    """Whether a child is a file whose digest went with a lost block; the directory's cannot agree then."""
    return not child[12] and child[1] == Kind.FILE and bool(child[7]) and not child[13]


class TreeHasher:
    """`tree_digest` of children that come piece by piece."""

    def __init__(self) -> None:
        self._hasher = blake3(derive_key_context=_CONTEXT)

    def add(self, encoded: Iterable[bytes]) -> None:
        """Take the next children, as `encoded` gives them."""
        self._hasher.update(b"".join(encoded))

    def digest(self) -> bytes:
        """BLAKE3-256 over all that came."""
        return self._hasher.digest()


class TreeParts:
    """`tree_digest` of children that come in any order, if they are not too many to be kept."""

    def __init__(self) -> None:
        self._parts: list[tuple[bytes, bytes]] | None = []

    def add(self, children: Sequence[ChildTuple]) -> None:
        """Take some children."""
        if self._parts is not None:
            names = [child[0] for child in children]
            self._parts += zip(names, encoded(children), strict=True)
            if len(self._parts) > _MOST_PARTS:
                self._parts = None

    def lose(self) -> None:
        """There is a child of which not everything is known yet."""
        self._parts = None

    def digest(self) -> bytes | None:
        """None if it cannot be told from what came."""
        if self._parts is None:
            return None
        hasher = TreeHasher()
        hasher.add([part for _, part in sorted(self._parts)])
        return hasher.digest()


def encoded(children: Iterable[TreeChild | ChildTuple]) -> list[bytes]:
    """What is hashed of each child. Costs about a microsecond each.

    What a tuple holds beyond the fields of `TreeChild` does not count. Numbers must fit 64 bits, signed
    (``struct.error``).
    """
    pack = _NUMBERS.pack
    return [
        pack(
            len(name), len(xattr), len(target), len(digest), kind, mode, uid, gid,
            flags, size, mtime_s, mtime_nsec, rdev, unread,
        ) + name + xattr + target + digest
        for (
            name, kind, mode, uid, gid, flags, xattr, size,
            mtime_s, mtime_nsec, rdev, target, digest, unread, *_,
        ) in children
    ]  # fmt: skip


def tree_digest(children: Iterable[TreeChild | ChildTuple]) -> bytes:
    """BLAKE3-256 over the children, which must come sorted by name (bytewise); see `encoded`."""
    hasher = TreeHasher()
    rest = iter(children)
    while piece := encoded(islice(rest, _BATCH)):
        hasher.add(piece)
    return hasher.digest()
