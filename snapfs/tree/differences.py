"""What of an inode differs, in the words of the diff lines."""

from __future__ import annotations

from snapfs.errors import DamageError
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind
from snapfs.model.xattrs import unpack_xattrs

_ACL = b"system.posix_acl_"
_CAPABILITY = b"security.capability"


def differences(a: Entry, b: Entry) -> tuple[str, ...]:
    """Words for what a restore would change, in a fixed order; empty if nothing.

    A type change is ``type`` alone: nothing else of the two can be compared.
    """
    if a.kind != b.kind:
        return ("type",)
    found = []
    if a.kind == Kind.FILE and (a.size != b.size or a.content != b.content):
        found.append("content")
    if a.target != b.target:
        found.append("target")
    if a.rdev != b.rdev:
        found.append("device")
    if a.kind != Kind.SYMLINK and a.mode != b.mode:
        found.append("mode")
    if a.uid != b.uid:
        found.append("owner")
    if a.gid != b.gid:
        found.append("group")
    if (a.mtime_s, a.mtime_nsec) != (b.mtime_s, b.mtime_nsec):
        found.append("mtime")
    if a.xattr != b.xattr:
        found += _xattr_differences(a.xattr, b.xattr)
    if a.flags != b.flags:
        found.append("flags")
    return tuple(found)


def _xattr_differences(a: bytes, b: bytes) -> list[str]:
    try:
        old, new = unpack_xattrs(a), unpack_xattrs(b)
    except ValueError as error:
        raise DamageError("the catalog has a damaged attribute set") from error
    names = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    found = []
    if any(name.startswith(_ACL) for name in names):
        found.append("acl")
    if _CAPABILITY in names:
        found.append("caps")
    if any(not name.startswith(_ACL) and name != _CAPABILITY for name in names):
        found.append("xattr")
    return found
