"""What becomes of a catalog when the bytes of some blocks are lost for good.

A file that needs one of them stays in every snapshot that has it, with all its attributes, and counts as
one that could not be read: state ``unread``, no content. So it is named when it is compared or restored,
and nothing is ever deleted because of it. The blocks and the contents that they belonged to go, so that
nobody takes them for stored; what else these contents consisted of is looked at by the collector.

`repair` and the replay of its record run the same statements. Digests of directories are recorded as they
came out: a replay may no longer have what they were made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.catalog.fold import leave_pending

DigestRow = tuple[int, int, bytes]
"""A directory, the snapshot whose row of it is meant (0: the newest state), its digest."""

NEWEST = 0


def want_nothing(catalog: Catalog) -> None:
    """Empty ``damaged_block``, and have it looked up by digests."""
    catalog.execute(sql.DAMAGED_CLEAR)
    catalog.execute(next(text for text in sql.CREATE_STAGE_INDEX if "damaged_block" in text))


def find_lost(catalog: Catalog) -> None:
    """From ``damaged_block`` to the contents and inodes that need one of its blocks."""
    for statement in (
        sql.LOST_CONTENT_CLEAR,
        sql.LOST_INODE_CLEAR,
        sql.LOST_CONTENT_FILL,
        sql.LOST_INODE_FILL,
    ):
        catalog.execute(statement)


def lose(catalog: Catalog) -> None:
    """Take the blocks in ``damaged_block`` for lost, after `find_lost` (inside a write)."""
    for statement in (
        sql.LOSE_FINGERPRINT,
        sql.LOSE_FINGERPRINT_DIFF,
        sql.LOSE_INODE,
        sql.LOSE_INODE_DIFF,
        sql.LOSE_PARTS,
        sql.LOSE_CONTENT_BLOCK,
        sql.LOSE_CONTENT,
        sql.LOSE_BLOCK,
        sql.LOSE_ORPHAN,
    ):
        catalog.execute(statement)
    leave_pending(catalog)


def drop_packs(catalog: Catalog, packs: Iterable[int]) -> None:
    """Forget packs, as far as no block lies in them any more."""
    for pack in packs:
        catalog.execute(sql.SEGMENTS_UNUSED, {"pack": pack})
        catalog.execute(sql.PACK_UNUSED, {"pack": pack})


def make_incomplete(catalog: Catalog, snapshots: Iterable[int]) -> None:
    """Some of these snapshots' files are lost."""
    for snapshot in snapshots:
        catalog.execute(sql.SNAPSHOT_INCOMPLETE, {"snapshot": snapshot})


# --- digests of directories -----------------------------------------------------------------------


def keep_digests(catalog: Catalog) -> None:
    """Remember the digests of all directories, for `moved_digests`."""
    catalog.execute(sql.KEPT_DIGEST_CLEAR)
    catalog.execute(sql.KEPT_DIGEST_FILL)


def moved_digests(catalog: Catalog) -> Iterator[DigestRow]:
    """The rows of directories that are new, or have another digest, since `keep_digests`; newest first."""
    yield from catalog.execute(sql.MOVED_DIGESTS)


def put_digests(catalog: Catalog, moved: Iterable[DigestRow]) -> None:
    """Give directories the digests that `moved_digests` told of."""
    for inode, at, digest in moved:
        if at == NEWEST:
            catalog.execute(sql.REDIGEST_HEAD, {"inode": inode, "digest": digest})
            continue
        key = {"inode": inode, "at": at}
        catalog.execute(sql.SPLIT_INODE, key)
        catalog.execute(sql.REDIGEST_DIFF, {**key, "digest": digest})
