"""Extended attributes of live entries, POSIX ACLs and file capabilities among them."""

from __future__ import annotations

import errno
import os

from snapfs.model.xattrs import pack_xattrs

ACCESS_ACL = b"system.posix_acl_access"
DEFAULT_ACL = b"system.posix_acl_default"

_PREFIXES = ("user.", "trusted.", "security.", "system.posix_acl_")
_ABSENT = frozenset((errno.ENODATA, errno.ENOTSUP))


def read_xattrs(where: int | bytes, *, held: bool = False) -> bytes:
    """All attributes that are kept, packed as ``model.xattrs`` has it; ``b""`` if there are none.

    ``where`` is an open descriptor; or a path (``handles.proc_child``) whose last name is not followed;
    or with ``held`` the ``handles.proc_path`` of a descriptor opened with O_PATH.

    Kept are user., trusted. (as root), security. and both POSIX ACLs; what a filesystem makes up itself
    (other system.*, btrfs.*) is not. Raises OSError; a filesystem without attributes has none.
    """
    follow = held or isinstance(where, int)
    try:
        names = os.listxattr(where, follow_symlinks=follow)
    except OSError as error:
        if error.errno in _ABSENT:
            return b""
        raise
    if not names:
        return b""
    found: dict[bytes, bytes] = {}
    for name in names:
        if not name.startswith(_PREFIXES):
            continue
        try:
            found[os.fsencode(name)] = os.getxattr(where, name, follow_symlinks=follow)
        except OSError as error:
            if error.errno not in _ABSENT:  # it vanished since it was listed
                raise
    return pack_xattrs(found)


def has_xattrs(fd: int) -> bool:
    """Whether an open file has any at all, kept or not."""
    try:
        return bool(os.listxattr(fd))
    except OSError as error:
        if error.errno in _ABSENT:
            return False
        raise


def drop_xattr(where: int | bytes, name: bytes) -> None:
    """Remove an attribute of an open file or a held inode; it is no error if it is not there."""
    try:
        os.removexattr(where, name)
    except OSError as error:
        if error.errno not in _ABSENT:
            raise


def has_xattr(fd: int, name: bytes) -> bool:
    """Whether an open file has the attribute (a filesystem without attributes has none)."""
    try:
        os.getxattr(fd, name)
    except OSError as error:
        if error.errno in _ABSENT:
            return False
        raise
    return True
