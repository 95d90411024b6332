"""Linux system calls that Python's ``os`` does not have."""

from __future__ import annotations

import ctypes
import errno
import os

from snapfs.fs.handles import DIR_FLAGS

_SYS_OPENAT2 = 437  # the same on every architecture: it is younger than the common table
_RESOLVE_NO_XDEV = 0x01
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_RENAME_NOREPLACE = 1

_libc = ctypes.CDLL(None, use_errno=True)


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def open_dir_same_mount(name: bytes, dir_fd: int) -> int:
    """Open a subdirectory unless it is a mount point, bind mounts of the same filesystem included.

    Raises OSError: EXDEV for a mount point, ENOTDIR or ELOOP for anything but a directory. Where a
    sandbox forbids the call, a mount point shows by its device number only.
    """
    how = _OpenHow(DIR_FLAGS, 0, _RESOLVE_NO_XDEV | _RESOLVE_NO_SYMLINKS | _RESOLVE_BENEATH)
    fd = _libc.syscall(
        ctypes.c_long(_SYS_OPENAT2),
        ctypes.c_int(dir_fd),
        ctypes.c_char_p(name),
        ctypes.byref(how),
        ctypes.c_size_t(ctypes.sizeof(how)),
    )
    if fd >= 0:
        return int(fd)
    number = ctypes.get_errno()
    if number not in (errno.ENOSYS, errno.EPERM):
        raise OSError(number, os.strerror(number), name)
    fd = os.open(name, DIR_FLAGS, dir_fd=dir_fd)
    if os.fstat(fd).st_dev != os.fstat(dir_fd).st_dev:
        os.close(fd)
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
    return int(fd)


def rename_to_free_name(old: bytes, new: bytes, dir_fd: int) -> None:
    """Rename within a directory, never over anything.

    Raises OSError: EEXIST if ``new`` is taken, also by a name that the filesystem takes for the same.
    """
    result = _libc.renameat2(
        ctypes.c_int(dir_fd),
        ctypes.c_char_p(old),
        ctypes.c_int(dir_fd),
        ctypes.c_char_p(new),
        ctypes.c_uint(_RENAME_NOREPLACE),
    )
    if result == 0:
        return
    number = ctypes.get_errno()
    if number not in (errno.EINVAL, errno.ENOSYS):
        raise OSError(number, os.strerror(number), new)
    # The filesystem does not know the flag (NFS, some FUSE): look first.
    if _exists(new, dir_fd):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new)
    os.rename(old, new, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)


def _exists(name: bytes, dir_fd: int) -> bool:
    try:
        os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def sync_filesystem(fd: int) -> None:
    """Write everything of the filesystem that ``fd`` is on to its medium; raises OSError (EIO, ENOSPC)."""
    if _libc.syncfs(ctypes.c_int(fd)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
