"""All extended attributes of one inode as one canonical value.

Packed: for each attribute, sorted by name, varint name length, name, varint value length, value.
The empty set is ``b""``.
"""

from __future__ import annotations

from collections.abc import Mapping

from snapfs.model.varint import append_varint, read_varint


def pack_xattrs(attributes: Mapping[bytes, bytes]) -> bytes:
    """Encode; equal sets give equal bytes."""
    out = bytearray()
    for name in sorted(attributes):
        value = attributes[name]
        append_varint(out, len(name))
        out += name
        append_varint(out, len(value))
        out += value
    return bytes(out)


def unpack_xattrs(data: bytes) -> dict[bytes, bytes]:
    """Decode; raises ValueError on damage."""
    out: dict[bytes, bytes] = {}
    at = 0
    while at < len(data):
        length, at = read_varint(data, at)
        name = bytes(data[at : at + length])
        at += length
        length, at = read_varint(data, at)
        value = bytes(data[at : at + length])
        if len(name) == 0 or at + length > len(data):
            raise ValueError("bad xattr set")
        at += length
        out[name] = value
    return out
