"""Hard-link groups: the first name of a group met is its leader, the others are linked to it at the end.

Live inodes with several names are each left to one wanted inode only (`claim`), so that afterwards names
are linked to each other exactly where they are in the snapshot.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from snapfs.fs import temporary
from snapfs.fs.handles import open_file
from snapfs.fs.inodeflags import get_flags
from snapfs.materialize.attributes import Refusals, give_flags, unlock_entry
from snapfs.materialize.dirtable import DirCache
from snapfs.materialize.naming import CHANGED, ChangedError, Seen, give_name
from snapfs.materialize.run import Run


class Leader(NamedTuple):
    """Where a group's inode stands; ``kept`` is its (dev, ino) if it is a live one that stays."""

    directory: int
    name: bytes
    kept: tuple[int, int] | None


class Links:
    """Collects the names to link, then links them."""

    def __init__(self, run: Run, dirs: DirCache) -> None:
        self._run = run
        self._dirs = dirs
        self._leaders: dict[int, Leader] = {}
        self._claims: dict[tuple[int, int], int] = {}
        self._directories = array("I")
        self._inodes = array("q")
        self._replaces = bytearray()
        self._before = array("q")  # four numbers of each name, 0 where anything may be replaced
        self._names = bytearray()
        self._ends = array("Q", [0])
        self._flags: list[tuple[int, bytes, int]] = []

    def leader(self, inode: int) -> Leader | None:
        """The leader of a group, if a name of it has come already."""
        return self._leaders.get(inode)

    def lead(self, inode: int, leader: Leader) -> None:
        """Make this the leader."""
        self._leaders[inode] = leader

    def claim(self, live: os.stat_result, inode: int) -> bool:
        """Take a live inode with several names for a wanted one; False if another has it."""
        return self._claims.setdefault((live.st_dev, live.st_ino), inode) == inode

    def disclaim(self, live: os.stat_result) -> None:
        """The live inode is not kept after all."""
        del self._claims[live.st_dev, live.st_ino]

    def follow(
        self, inode: int, directory: int, name: bytes, *, replaces: bool, before: Seen | None
    ) -> None:
        """Link this name to the leader of its group, in the end."""
        self._directories.append(directory)
        self._inodes.append(inode)
        self._replaces.append(replaces)
        self._before.extend(before or (0, 0, 0, 0))
        self._names += name
        self._ends.append(len(self._names))

    def flags_later(self, directory: int, name: bytes, flags: int) -> None:
        """Flags of a leader: some forbid to link it."""
        self._flags.append((directory, name, flags))

    def complete(self) -> None:
        """Make the links, when all leaders stand."""
        for index, (directory, inode) in enumerate(
            zip(self._directories, self._inodes, strict=True)
        ):
            name = bytes(self._names[self._ends[index] : self._ends[index + 1]])
            leader = self._leaders[inode]
            if (leader.directory, leader.name) in self._run.failed:
                self._fail(index, directory, name, 0, "the file it is linked to is not restored")
                continue
            try:
                self._link(leader, directory, name, self._way_of(index))
            except ChangedError:
                self._fail(index, directory, name, 0, CHANGED)
            except OSError as error:
                self._run.stop_if_full(error)
                what = f"not linked: {error.strerror or error}"
                self._fail(index, directory, name, error.errno or 0, what)
            self._run.progress.advance(entries=1)
        for directory, name, flags in self._flags:
            if (directory, name) not in self._run.failed:
                self._give_flags(directory, name, flags)

    def _fail(self, index: int, directory: int, name: bytes, number: int, what: str) -> None:
        self._run.problem(directory, name, number, what)
        self._run.failed.add((directory, name))
        if self._replaces[index]:
            self._run.counts.overwritten -= 1
        else:
            self._run.counts.created -= 1

    def _way_of(self, index: int) -> Callable[[bytes, int, bytes, int], None]:
        """How a name is linked."""
        if not self._replaces[index]:
            return _link
        mode, size, mtime_ns, ctime_ns = self._before[4 * index : 4 * index + 4]
        return partial(_replace, before=(mode, size, mtime_ns, ctime_ns) if mode else None)

    def _link(
        self,
        leader: Leader,
        directory: int,
        name: bytes,
        link: Callable[[bytes, int, bytes, int], None],
    ) -> None:
        # Two descriptors at once: the cache may close the first to open the second.
        from_fd = os.dup(self._dirs.fd(leader.directory))
        try:
            if self._run.options.saved is not None:
                # Asked before its ctime moves: other names of it may go yet.
                live = os.stat(leader.name, dir_fd=from_fd, follow_symlinks=False)
                self._run.options.saved(self._run.table.path(leader.directory, leader.name), live)
            to_fd = self._dirs.fd(directory)
            try:
                link(leader.name, from_fd, name, to_fd)
            except PermissionError:
                flags = _flags_of(leader.name, from_fd)
                if not unlock_entry(leader.name, from_fd):
                    raise
                self._flags.append((leader.directory, leader.name, flags))
                link(leader.name, from_fd, name, to_fd)
        finally:
            os.close(from_fd)

    def _give_flags(self, directory: int, name: bytes, flags: int) -> None:
        refused = Refusals()
        try:
            fd = open_file(name, self._dirs.fd(directory))
        except OSError as error:
            self._run.trouble(directory, name, error)
            return
        try:
            give_flags(fd, flags, refused)
        finally:
            os.close(fd)
        self._run.refusals(directory, name, refused)


def _link(old: bytes, old_fd: int, new: bytes, new_fd: int) -> None:
    os.link(old, new, src_dir_fd=old_fd, dst_dir_fd=new_fd, follow_symlinks=False)


def _replace(old: bytes, old_fd: int, new: bytes, new_fd: int, before: Seen | None) -> None:
    """Link in place of what has the name; that both are one inode already is fine."""
    working_name = temporary.new_name()
    try:
        _link(old, old_fd, working_name, new_fd)
        give_name(working_name, new, new_fd, replaces=True, before=before)
    finally:
        # Renaming one name of an inode over another does nothing, and both stay.
        try:
            os.unlink(working_name, dir_fd=new_fd)
        except FileNotFoundError:
            pass


def _flags_of(name: bytes, dir_fd: int) -> int:
    try:
        fd = open_file(name, dir_fd)
    except OSError:
        return 0
    try:
        return get_flags(fd)
    finally:
        os.close(fd)
