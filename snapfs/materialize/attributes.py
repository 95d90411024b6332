"""Giving an inode what it should have besides its bytes, in the order in which nothing is lost again.

Owner first (it clears set-id bits and capabilities), then attributes of users (which ask for the right to
write), the mode, other extended attributes (ACLs change group bits, to what the stored mode has), times,
and inode flags last (they forbid all the rest).

``where`` is an open descriptor, or ``fs.handles.proc_path`` of one opened with O_PATH. What is refused is
collected and the rest goes on: one entry gives one problem line.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from snapfs.fs.handles import open_file
from snapfs.fs.inodeflags import LOCKING, get_flags, set_flags
from snapfs.fs.xattrs import ACCESS_ACL, drop_xattr, read_xattrs
from snapfs.model.kinds import Kind
from snapfs.model.xattrs import unpack_xattrs

KEEP = -1
"""In place of an owner: leave the one that a new file gets."""

_USER_PREFIX = b"user."
_CAPABILITY = b"security.capability"
_KERNEL_MANAGED = frozenset(
    (b"security.selinux", b"security.SMACK64", b"security.ima", b"security.evm")
)
"""Labels that the kernel puts on every new file: they are no leftovers of the file's former state."""

USUAL_TIMES = range(-(2**31) * 10**9, 2**31 * 10**9)
"""Nanoseconds that every filesystem can store; beyond them some clamp without a word."""


class Attributes(NamedTuple):
    """What a restore sets. ``uid`` and ``gid`` may be KEEP; ``flags`` are inode flags."""

    mode: int
    uid: int
    gid: int
    flags: int
    xattr: bytes
    mtime_ns: int


class Refusals:
    """What one entry did not get: first errno, and all of it in words."""

    __slots__ = ("_items", "errno")

    def __init__(self) -> None:
        self.errno = 0
        self._items: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._items)

    def add(self, what: str, error: OSError | None = None) -> None:
        """``what`` was not set."""
        number = (error.errno or 0) if error is not None else 0
        self.errno = self.errno or number
        self._items.append(f"{what} ({os.strerror(number)})" if number else what)

    def text(self) -> str:
        """For a problem line."""
        return "not set: " + ", ".join(self._items)

    @contextlib.contextmanager
    def taking(self, what: str) -> Iterator[None]:
        """Collect an OSError of the block as a refusal of ``what``."""
        try:
            yield
        except OSError as error:
            self.add(what, error)


def give(where: int | bytes, kind: int, wanted: Attributes, refused: Refusals) -> None:
    """Set everything but flags on an inode that was just made and has no attributes of its own."""
    mode = _give_owner(where, kind, wanted, refused)
    xattrs = unpack_xattrs(wanted.xattr) if wanted.xattr else {}
    _give_xattrs(where, xattrs, refused, of_users=True)
    if kind != Kind.SYMLINK:
        _give_mode(where, mode, refused)
    _give_xattrs(where, xattrs, refused, of_users=False)
    give_time(where, wanted.mtime_ns, refused)


def give_flags(fd: int, flags: int, refused: Refusals) -> None:
    """Set inode flags through a real descriptor; without the privilege, those that need none."""
    try:
        set_flags(fd, flags)
    except OSError as error:
        refused.add(f"inode flags {flags:#x}", error)
        if flags & LOCKING and flags & ~LOCKING:
            with contextlib.suppress(OSError):
                set_flags(fd, flags & ~LOCKING)


def give_time(where: int | bytes, mtime_ns: int, refused: Refusals) -> None:
    """Set the time of modification, and that of access with it."""
    try:
        os.utime(where, ns=(mtime_ns, mtime_ns))
        if mtime_ns not in USUAL_TIMES and os.stat(where).st_mtime_ns != mtime_ns:
            refused.add(f"time {mtime_ns} ns, beyond what the filesystem stores")
    except (OSError, OverflowError) as error:
        refused.add("time", error if isinstance(error, OSError) else None)


def mend(
    where: int | bytes,
    kind: int,
    live: os.stat_result,
    wanted: Attributes,
    refused: Refusals,
    *,
    dry_run: bool,
) -> bool:
    """Make an inode that exists equal to ``wanted``, touching only what differs; whether anything did.

    ``live`` is its stat. Leftover attributes go, among them ACLs.
    """
    flags_fd = _open_for_flags(where, kind, live)
    try:
        live_flags = wanted.flags if flags_fd is None else get_flags(flags_fd)
        owner = (wanted.uid not in (KEEP, live.st_uid)) or (wanted.gid not in (KEEP, live.st_gid))
        mode = kind != Kind.SYMLINK and stat.S_IMODE(live.st_mode) != wanted.mode
        time = live.st_mtime_ns != wanted.mtime_ns
        xattr = b""
        with refused.taking("extended attributes"):
            xattr = read_xattrs(where, held=True)
        stale, missing = _xattr_changes(xattr, wanted.xattr)
        flags = live_flags != wanted.flags
        if not (owner or mode or time or stale or missing or flags):
            return False
        if dry_run:
            return True
        if flags_fd is not None and live_flags & LOCKING:
            with refused.taking("inode flags"):
                set_flags(flags_fd, live_flags & ~LOCKING)
            flags = True
        allowed = wanted.mode
        if owner:
            allowed = _give_owner(where, kind, wanted, refused)
            capability = unpack_xattrs(wanted.xattr).get(_CAPABILITY)
            if capability is not None:
                missing[_CAPABILITY] = capability
        if _needs_write_permission(live, [*stale, *missing]):
            with refused.taking("mode"):
                os.chmod(where, stat.S_IMODE(live.st_mode) | stat.S_IWUSR)
            mode = True
        for name in stale:
            with refused.taking(f"removal of {os.fsdecode(name)}"):
                drop_xattr(where, name)
        _give_xattrs(where, missing, refused, of_users=True)
        if kind != Kind.SYMLINK and (mode or owner or ACCESS_ACL in stale):
            _give_mode(where, allowed, refused)
        _give_xattrs(where, missing, refused, of_users=False)
        if time:
            give_time(where, wanted.mtime_ns, refused)
        if flags_fd is not None and flags:
            give_flags(flags_fd, wanted.flags, refused)
        return True
    finally:
        if flags_fd is not None and flags_fd != where:
            os.close(flags_fd)


def unlock(fd: int) -> bool:
    """Clear the flags that forbid changes, if any are set and we may; whether anything was done."""
    try:
        flags = get_flags(fd)
        if flags & LOCKING:
            set_flags(fd, flags & ~LOCKING)
            return True
    except OSError:
        pass
    return False


def unlock_entry(name: bytes, dir_fd: int) -> bool:
    """Clear the flags that protect a regular file or directory; whether any were set."""
    fd = _open_flagged(name, dir_fd)
    if fd is None:
        return False
    try:
        return unlock(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def unlocked(name: bytes, dir_fd: int) -> Iterator[None]:
    """Within, the flags that protect a regular file or directory are off. Whatever has it after that, by another
    name or because nothing came of it, gets them back.
    """
    fd = _open_flagged(name, dir_fd)
    if fd is None:
        yield
        return
    flags = 0
    try:
        with contextlib.suppress(OSError):
            flags = get_flags(fd)
        was_locked = unlock(fd)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                if was_locked and os.fstat(fd).st_nlink:
                    set_flags(fd, flags)
    finally:
        os.close(fd)


def _open_flagged(name: bytes, dir_fd: int) -> int | None:
    """A descriptor of what may have flags, a regular file or directory; else None."""
    try:
        kind = stat.S_IFMT(os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode)
        return open_file(name, dir_fd) if kind in (stat.S_IFREG, stat.S_IFDIR) else None
    except OSError:
        return None


def _give_owner(where: int | bytes, kind: int, wanted: Attributes, refused: Refusals) -> int:
    """Set the owner; the mode that is fit for the owner it has now.

    A set-id bit on a file that got the wrong owner would give away what it never had.
    """
    uid, gid, mode = wanted.uid, wanted.gid, wanted.mode
    if uid == KEEP and gid == KEEP:
        return mode
    try:
        os.chown(where, uid, gid)
        return mode
    except OSError as error:
        refused.add(f"owner {uid}:{gid}", error)
    group_is_right = False
    with contextlib.suppress(OSError):
        os.chown(where, KEEP, gid)
        group_is_right = True
    if kind != Kind.DIR:
        found = os.stat(where)
        if found.st_uid != uid:
            mode &= ~stat.S_ISUID
        if not group_is_right:
            mode &= ~stat.S_ISGID
    if mode != wanted.mode:
        refused.add(f"mode {wanted.mode:04o}")
    return mode


def _give_mode(where: int | bytes, mode: int, refused: Refusals) -> None:
    try:
        os.chmod(where, mode)
    except OSError as error:
        refused.add(f"mode {mode:04o}", error)
        return
    # The kernel drops this bit in silence if we are not in the group.
    if mode & stat.S_ISGID and os.geteuid() != 0 and not os.stat(where).st_mode & stat.S_ISGID:
        refused.add("set-group-id bit")


def _give_xattrs(
    where: int | bytes, xattrs: dict[bytes, bytes], refused: Refusals, *, of_users: bool
) -> None:
    """Set those of the user. namespace, or all others."""
    for name, value in xattrs.items():
        if name.startswith(_USER_PREFIX) == of_users:
            try:
                os.setxattr(where, name, value)
            except OSError as error:
                refused.add(f"attribute {os.fsdecode(name)}", error)


def _needs_write_permission(live: os.stat_result, names: list[bytes]) -> bool:
    """Whether the mode keeps its owner, if no root, from changing these attributes."""
    if live.st_mode & stat.S_IWUSR or os.geteuid() == 0 or stat.S_ISLNK(live.st_mode):
        return False
    return any(name.startswith(_USER_PREFIX) for name in names)


def _xattr_changes(live: bytes, wanted: bytes) -> tuple[list[bytes], dict[bytes, bytes]]:
    """Names to remove, and attributes to set."""
    if live == wanted:
        return [], {}
    now, then = unpack_xattrs(live), unpack_xattrs(wanted)
    stale = [name for name in now if name not in then and name not in _KERNEL_MANAGED]
    return stale, {name: value for name, value in then.items() if now.get(name) != value}


def _open_for_flags(where: int | bytes, kind: int, live: os.stat_result) -> int | None:
    """A descriptor that takes flags; None for what has none, or cannot be opened."""
    if kind not in (Kind.FILE, Kind.DIR) or stat.S_IFMT(live.st_mode) == stat.S_IFLNK:
        return None
    if isinstance(where, int):
        return where
    try:
        return os.open(where, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
