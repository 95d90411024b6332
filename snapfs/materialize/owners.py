"""Whose the restored files are: stored numbers taken as they are, by name, or not at all."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from snapfs.fs.machine import group_number, user_number
from snapfs.fs.xattrs import ACCESS_ACL, DEFAULT_ACL
from snapfs.materialize.attributes import KEEP
from snapfs.model.xattrs import pack_xattrs, unpack_xattrs

# Layout of system.posix_acl_*: le32 version (2), then for each entry le16 tag, le16 permissions, le32 id.
_ACL_HEADER_BYTES = 4
_ACL_ENTRY = struct.Struct("<HHI")
_ACL_USER = 0x02
_ACL_GROUP = 0x08


@dataclass(frozen=True, slots=True)
class OwnerRule:
    """Translates stored user and group numbers; a number that the maps do not have stays itself."""

    set_owner: bool = True
    uids: Mapping[int, int] = field(default_factory=dict)
    gids: Mapping[int, int] = field(default_factory=dict)

    @staticmethod
    def by_name(users: Mapping[int, str], groups: Mapping[int, str]) -> OwnerRule:
        """Numbers that these names have on this host; a name that is unknown here keeps its number."""
        uids = {uid: user_number(name) for uid, name in users.items()}
        gids = {gid: group_number(name) for gid, name in groups.items()}
        return OwnerRule(
            uids={uid: found for uid, found in uids.items() if found is not None},
            gids={gid: found for gid, found in gids.items() if found is not None},
        )

    @staticmethod
    def nobody() -> OwnerRule:
        """Files belong to whoever restores them."""
        return OwnerRule(set_owner=False)

    @property
    def is_plain(self) -> bool:
        """Whether every number is used as it is stored."""
        return self.set_owner and not self.uids and not self.gids

    def user(self, uid: int) -> int:
        """The number to give a file of ``uid``, or KEEP."""
        return self.uids.get(uid, uid) if self.set_owner else KEEP

    def group(self, gid: int) -> int:
        """The number to give a file of group ``gid``, or KEEP."""
        return self.gids.get(gid, gid) if self.set_owner else KEEP

    def xattrs(self, packed: bytes) -> bytes:
        """The same attributes with the users and groups that ACLs name translated as owners are."""
        if not packed or not (self.uids or self.gids):
            return packed
        found = unpack_xattrs(packed)
        for name in (ACCESS_ACL, DEFAULT_ACL):
            if name in found:
                found[name] = self._acl(found[name])
        return pack_xattrs(found)

    def _acl(self, value: bytes) -> bytes:
        head, body = value[:_ACL_HEADER_BYTES], value[_ACL_HEADER_BYTES:]
        if len(body) % _ACL_ENTRY.size:
            return value
        entries = []
        for tag, permissions, number in _ACL_ENTRY.iter_unpack(body):
            if tag == _ACL_USER:
                number = self.uids.get(number, number)
            elif tag == _ACL_GROUP:
                number = self.gids.get(number, number)
            entries.append((tag, number, permissions))
        entries.sort()  # the kernel wants users and groups in order of their numbers
        return head + b"".join(_ACL_ENTRY.pack(tag, perm, number) for tag, number, perm in entries)
