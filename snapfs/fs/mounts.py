"""What is mounted where."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

_MOUNTINFO = "/proc/self/mountinfo"
_ESCAPED = re.compile(rb"\\([0-7]{3})")

_NETWORK = frozenset(
    b"9p afs ceph cifs coda davfs fuse.curlftpfs fuse.davfs2 fuse.glusterfs fuse.rclone fuse.s3fs"
    b" fuse.sshfs gfs2 glusterfs lustre ncpfs nfs nfs4 ocfs2 orangefs smb3 smbfs virtiofs vboxsf".split()
)
OWN_TYPE = b"fuse.snapfs"
"""Filesystem type under which snapfs mounts its own views: never captured."""


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of mountinfo: absolute mount point and type of filesystem."""

    point: bytes
    fs_type: bytes

    @property
    def is_network(self) -> bool:
        """Whether other hosts may change it (no reliable locks, mmap or inode numbers)."""
        return self.fs_type in _NETWORK

    @property
    def is_own(self) -> bool:
        """Whether it is a view served by snapfs."""
        return self.fs_type == OWN_TYPE


def read_mounts() -> list[Mount]:
    """All mounts of this process in the order they were made; none if /proc is not there."""
    try:
        with open(_MOUNTINFO, "rb") as file:
            return parse_mountinfo(file.read())
    except OSError:
        return []


def parse_mountinfo(text: bytes) -> list[Mount]:
    """Parse the kernel's format (proc(5)); lines that do not fit are left out."""
    mounts = []
    for line in text.split(b"\n"):
        head, separator, tail = line.partition(b" - ")
        fields, types = head.split(b" "), tail.split(b" ")
        if separator and len(fields) >= 5:
            mounts.append(Mount(_unescape(fields[4]), _unescape(types[0])))
    return mounts


def mount_of(path: bytes, mounts: list[Mount] | None = None) -> Mount | None:
    """The mount that holds ``path`` (absolute, resolved); the last made one if several are stacked."""
    best: Mount | None = None
    for mount in read_mounts() if mounts is None else mounts:
        if _holds(mount.point, path) and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return best


def mounts_below(path: bytes, mounts: list[Mount] | None = None) -> list[Mount]:
    """Mounts strictly inside the directory ``path`` (absolute, resolved)."""
    found = read_mounts() if mounts is None else mounts
    return [mount for mount in found if mount.point != path and _holds(path, mount.point)]


def is_network(path: bytes) -> bool:
    """Whether ``path`` lies on a network filesystem; symlinks are resolved."""
    mount = mount_of(os.path.realpath(path))
    return mount is not None and mount.is_network


def _holds(directory: bytes, path: bytes) -> bool:
    return directory in (b"/", path) or path.startswith(directory + b"/")


def _unescape(field: bytes) -> bytes:
    return _ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), field)
