"""Two blocks that turn out to be the same: one takes the other's place in every content.

It happens where a catalog was made again without a pack, the bytes were stored anew, and later it became known
what the blocks of that pack were.
"""

from __future__ import annotations

from snapfs.catalog import compiled as sql
from snapfs.catalog.commit import put_users
from snapfs.catalog.database import Catalog
from snapfs.model.extents import pack_extents, unpack_extents


def merge(catalog: Catalog, gone: int, kept: int) -> None:
    """Have ``kept`` wherever ``gone`` was, which has the same bytes (inside a write)."""
    both = {"gone": gone, "kept": kept}
    catalog.execute(sql.MERGE_INODE, both)
    catalog.execute(sql.MERGE_INODE_DIFF, both)
    for (content,) in catalog.execute(sql.TOUCHED_CONTENTS, {"block": gone}).fetchall():
        _, _, packed = catalog.one(sql.CONTENT_GET, {"content": content})
        extents = [
            extent._replace(block=kept) if extent.block == gone else extent
            for extent in unpack_extents(packed)
        ]
        new = {"content": content, "new_extents": pack_extents(extents)}
        catalog.execute(sql.MERGE_EXTENTS, new)
        catalog.execute(sql.MERGE_USERS, {"content": content})
        put_users(catalog, content, extents)
    catalog.execute(sql.MERGE_BLOCK, {"gone": gone})
    catalog.execute(sql.MERGE_ORPHAN, {"gone": gone})
