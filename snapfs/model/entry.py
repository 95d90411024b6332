"""An inode seen through a name, from the catalog or from a live tree."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One name with everything known of its inode.

    ``inode`` is the catalog's id (0 for a live entry). ``mode`` has the twelve permission bits only.
    ``xattr`` is the packed set of all extended attributes (``model.xattrs``), ``b""`` for none.
    ``content`` is the catalog's content id, 0 for an empty file and for whatever is not a file.
    From ``ctime_s`` on it is bookkeeping: never restored, never shown as a difference.
    """

    name: bytes
    inode: int
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
    content: int
    state: int
    tree_digest: bytes | None
    ctime_s: int
    ctime_nsec: int
    dev: int
    ino: int
    nlink: int
    fingerprint: int | None
