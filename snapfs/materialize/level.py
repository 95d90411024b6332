"""A live directory that the walk stands in, or one that a dry run only imagines."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

from snapfs.fs import temporary
from snapfs.fs.inodeflags import LOCKING, get_flags, set_flags
from snapfs.fs.xattrs import ACCESS_ACL, DEFAULT_ACL, drop_xattr, has_xattr
from snapfs.materialize.attributes import Attributes, Refusals, give
from snapfs.materialize.directories import Before, Directories, Finish
from snapfs.materialize.filewriter import CLEAN, DIRECT, STRIP_ACL, STRIP_FLAGS
from snapfs.materialize.namelist import LiveNames
from snapfs.materialize.removal import make_writable
from snapfs.model.kinds import Kind


class Level:
    """One directory. ``fd`` is only its own while the walk stands in it."""

    __slots__ = ("device", "empty", "governed", "how", "live", "names", "number", "real", "spared",
                 "spellings")  # fmt: skip

    def __init__(self, number: int, *, real: bool) -> None:
        self.number = number
        self.real = real
        """There is a directory (a dry run makes none)."""
        self.empty = True
        """It held nothing when the walk came: no name needs to be looked up."""
        self.live: os.stat_result | None = None
        """What it was, if it was there before and has not been changed yet."""
        self.governed = True
        """Its attributes are the run's business."""
        self.spared = False
        """Nothing is deleted in it: it is, or is inside of, a mount below the target or a directory that
        the snapshot could not read."""
        self.device = 0
        self.names: LiveNames | None = None
        """Live names while what is wanted is gone through; None if they were not listed."""
        self.spellings: dict[int, list[bytes]] | None = None
        """Live names by inode number, once that was asked for."""
        self.how = DIRECT | CLEAN
        """For files made in it (``filewriter``); of an existing one valid after `touch`."""


def new_level(number: int, fd: int, parent_how: int, device: int) -> Level:
    """A directory that was just made with mode 0700; ``parent_how`` says what it may have inherited."""
    if not parent_how & CLEAN:
        os.fchown(fd, os.geteuid(), os.getegid())
        os.fchmod(fd, 0o700)
        if parent_how & STRIP_ACL:
            drop_xattr(fd, DEFAULT_ACL)
            drop_xattr(fd, ACCESS_ACL)
        if parent_how & STRIP_FLAGS:
            with contextlib.suppress(OSError):
                set_flags(fd, 0)
    level = Level(number, real=True)
    level.device = device
    return level


def settle_early(level: Level, fd: int, wanted: Attributes) -> None:
    """Give a directory that was just made all but its flags before anything is in it; the end does it again,
    with its time, and tells what is refused.

    From here on it is like one that was there: it passes on what it has, and others may reach into it.
    """
    give(fd, Kind.DIR, wanted, Refusals())
    if os.geteuid() != 0:
        make_writable(fd)
    level.how = STRIP_ACL if has_xattr(fd, DEFAULT_ACL) else 0


def touch(level: Level, fd: int, directories: Directories) -> None:
    """Call before names in an existing directory are changed: opens it up, and sees to its end.

    What it is to be afterwards was settled when the walk came; here it is only noted that there is
    something to do.
    """
    live = level.live
    if live is None:
        return
    level.live = None
    flags = get_flags(fd)
    mode = stat.S_IMODE(live.st_mode)
    before = Before(mode, live.st_mtime_ns, flags)
    if level.governed:
        directories.change(level.number, Finish.MEND)
    else:
        directories.change(level.number, Finish.PUT_BACK)
    if not level.governed or flags & LOCKING or os.geteuid() != 0:
        directories.put_back(level.number, before)
    if flags & LOCKING or os.geteuid() != 0:
        make_writable(fd)
    level.how = DIRECT if level.empty else 0
    level.how |= STRIP_ACL if has_xattr(fd, DEFAULT_ACL) else 0
    level.how |= STRIP_FLAGS if flags & ~LOCKING else 0


def list_names(level: Level, fd: int, directories: Directories, *, dry_run: bool) -> LiveNames:
    """Live names, without those that runs left or are using; what killed ones left is removed."""
    left: list[bytes] = []
    names = LiveNames(_lasting(fd, left))
    for name in left:
        if not dry_run:
            touch(level, fd, directories)
            with contextlib.suppress(OSError):
                temporary.remove_abandoned(name, fd)
    return names


def names_by_inode(fd: int) -> dict[int, list[bytes]]:
    """The names in an open directory by inode number."""
    names: dict[int, list[bytes]] = {}
    with os.scandir(fd) as found:
        for entry in found:
            names.setdefault(entry.inode(), []).append(os.fsencode(entry.name))
    return names


def _lasting(fd: int, left: list[bytes]) -> Iterator[bytes]:
    """Names in an open directory; temporary ones go to ``left``."""
    with os.scandir(fd) as found:  # listdir would hold all of them
        for entry in found:
            name = os.fsencode(entry.name)
            if temporary.is_temporary(name):
                left.append(name)
            else:
                yield name
