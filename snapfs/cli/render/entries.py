"""Entries of a tree as ``ls`` shows them."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass

from snapfs.cli.render.text import local_time
from snapfs.clock import Clock
from snapfs.model.entry import Entry
from snapfs.model.kinds import FORMAT_OF_KIND, KIND_NAMES, Kind, State
from snapfs.model.moment import NS
from snapfs.model.quote import printable, quote

Owners = tuple[Mapping[int, str], Mapping[int, str]]
"""Names of users and of groups by number."""


@dataclass(frozen=True, slots=True)
class Attributes:
    """One entry with what a restore reproduces, as far as it is shown."""

    path: bytes
    """path relative to the root; empty for the root itself"""
    kind: str
    """file, dir, symlink, fifo, socket, chardev or blockdev"""
    mode: str
    """permission bits in octal, as 0644"""
    uid: int
    """number of the owner"""
    gid: int
    """number of the group"""
    user: str | None
    """name the owner had where the snapshot was taken"""
    group: str | None
    """name the group had there"""
    size: int
    """bytes of a file, else 0"""
    mtime_ns: int
    """time of last change of the content"""
    target: bytes | None
    """what a symlink points to"""
    rdev: int | None
    """device number of a device"""
    unread: bool
    """true if content or children could not be read when the snapshot was taken, or are lost"""


def attributes(path: bytes, entry: Entry, owners: Owners) -> Attributes:
    """An entry for ``--json``."""
    return Attributes(
        path=path,
        kind=KIND_NAMES.get(entry.kind, "unknown"),
        mode=f"{entry.mode:04o}",
        uid=entry.uid,
        gid=entry.gid,
        user=owners[0].get(entry.uid),
        group=owners[1].get(entry.gid),
        size=entry.size if entry.kind == Kind.FILE else 0,
        mtime_ns=entry.mtime_s * NS + entry.mtime_nsec,
        target=entry.target if entry.kind == Kind.SYMLINK else None,
        rdev=entry.rdev if entry.kind in {Kind.CHAR, Kind.BLOCK} else None,
        unread=entry.state == State.UNREAD,
    )


def permissions(entry: Entry) -> str:
    """``-rw-r--r--``."""
    return stat.filemode(FORMAT_OF_KIND.get(entry.kind, 0) | entry.mode)


def with_target(text: str, entry: Entry) -> str:
    """What is said of an entry; of a symlink its target as well."""
    return f"{text} -> {quote(entry.target)}" if entry.kind == Kind.SYMLINK else text


def long_fields(name: bytes, entry: Entry, owners: Owners, clock: Clock) -> list[str]:
    """Mode, owner, group, size or device, time and name, as ``ls -l`` shows them."""
    if entry.kind in {Kind.CHAR, Kind.BLOCK}:
        size = f"{os.major(entry.rdev)},{os.minor(entry.rdev)}"
    else:
        size = str(entry.size if entry.kind == Kind.FILE else 0)
    shown = with_target(quote(name), entry)
    return [
        permissions(entry),
        printable(owners[0].get(entry.uid, str(entry.uid))),
        printable(owners[1].get(entry.gid, str(entry.gid))),
        size,
        local_time(entry.mtime_s * NS, clock),
        shown + (" (unread)" if entry.state == State.UNREAD else ""),
    ]
