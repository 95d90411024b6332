"""The temporary tables of a connection: the stage, and scratch sets of the reclaimer.

A stage is one set of changes to the head of a root (`catalog.stage`).
"""

from __future__ import annotations

from sqlalchemy import Index, MetaData, Table, and_

from snapfs.catalog.schema import blob_column, int_column, text_column

stage_metadata = MetaData()

# --- the stage: one set of changes to a head, private to its connection -------------------------

# One row per observed name (and per vanished name or inode). See `catalog.stage`.
stage = Table(
    "stage",
    stage_metadata,
    int_column("seq", key=True),
    int_column("above", null=True),  # key of the directory in scan_path: where to find it on disk
    int_column("parent", null=True),
    blob_column("name", null=True),
    int_column("inode", null=True),
    int_column("names"),
    int_column("nodes"),
    int_column("by_name", null=True),
    int_column("by_kind", null=True),
    int_column("post", null=True),
    int_column("low", null=True),
    int_column("high", null=True),
    int_column("need"),
    int_column("kind", null=True),
    int_column("attr", null=True),
    int_column("size", null=True),
    int_column("mtime_s", null=True),
    int_column("mtime_nsec", null=True),
    int_column("rdev", null=True),
    blob_column("target", null=True),
    int_column("content", null=True),
    blob_column("digest", null=True),  # of the content, where it was read in this run
    int_column("state", null=True),
    blob_column("tree_digest", null=True),
    int_column("ctime_s", null=True),
    int_column("ctime_nsec", null=True),
    int_column("dev", null=True),
    int_column("ino", null=True),
    int_column("nlink", null=True),
    int_column("fingerprint", null=True),
    prefixes=["TEMPORARY"],
)

# Where the directories are whose files are to be read.
scan_path = Table(
    "scan_path",
    stage_metadata,
    int_column("key", key=True),
    blob_column("path"),
    prefixes=["TEMPORARY"],
)

# Made only where identities have to be settled: a first snapshot does without.
Index("stage_by_inode", stage.c.inode)
Index("stage_by_key", stage.c.parent, stage.c.name)
Index("stage_by_old", stage.c.by_name, sqlite_where=stage.c.by_name.is_not(None))
_linked = and_(stage.c.nlink > 1, stage.c.kind != 2)
Index("stage_by_group", stage.c.ino, stage.c.dev, sqlite_where=_linked, postgresql_where=_linked)

lost = Table(
    "lost",
    stage_metadata,
    int_column("parent", key=True),
    blob_column("name", key=True),
    int_column("inode"),
    int_column("kind"),
    int_column("dev"),
    int_column("ino"),
    int_column("done"),
    prefixes=["TEMPORARY"],
    sqlite_with_rowid=False,
)
Index("lost_by_ino", lost.c.ino)
Index("lost_by_inode", lost.c.inode)

stage_attr = Table(
    "stage_attr",
    stage_metadata,
    int_column("id", key=True),
    int_column("mode"),
    int_column("uid"),
    int_column("gid"),
    int_column("flags"),
    blob_column("xattr"),
    int_column("xattr_final", null=True),
    int_column("final", null=True),
    prefixes=["TEMPORARY"],
)

stage_pack = Table(
    "stage_pack",
    stage_metadata,
    int_column("id", key=True),
    text_column("name"),
    int_column("size"),
    int_column("final", null=True),
    prefixes=["TEMPORARY"],
)

stage_segment = Table(
    "stage_segment",
    stage_metadata,
    int_column("id", key=True),
    int_column("pack"),
    int_column("offset"),
    int_column("stored"),
    int_column("raw"),
    int_column("checksum"),
    int_column("final", null=True),
    prefixes=["TEMPORARY"],
)

stage_block = Table(
    "stage_block",
    stage_metadata,
    int_column("id", key=True),
    blob_column("digest"),
    int_column("segment"),
    int_column("offset"),
    int_column("length"),
    prefixes=["TEMPORARY"],
)

Index("stage_block_segment", stage_block.c.segment)

# Files that were staged once and whole, as the journal tells of them: encoded rows of low..high.
stage_file = Table(
    "stage_file",
    stage_metadata,
    int_column("low", key=True),
    int_column("high"),
    blob_column("rows"),
    prefixes=["TEMPORARY"],
)

# Contents of several extents; those of one block are that block.
stage_content = Table(
    "stage_content",
    stage_metadata,
    blob_column("digest", key=True),
    int_column("size"),
    blob_column("extents"),  # model.extents.pack_digest_extents
    prefixes=["TEMPORARY"],
    sqlite_with_rowid=False,
)

stage_problem = Table(
    "stage_problem",
    stage_metadata,
    int_column("seq", key=True),
    blob_column("path"),
    int_column("errno"),
    text_column("what"),
    prefixes=["TEMPORARY"],
)

# --- scratch sets of the reclaimer --------------------------------------------------------------

dead = Table("dead", stage_metadata, int_column("id", key=True), prefixes=["TEMPORARY"])
dead_block = Table("dead_block", stage_metadata, int_column("id", key=True), prefixes=["TEMPORARY"])
dead_pack = Table("dead_pack", stage_metadata, int_column("id", key=True), prefixes=["TEMPORARY"])

# --- scratch sets of a repair -------------------------------------------------------------------

# Blocks that cannot be read where they lie, as long as nobody has found their bytes. ``digest`` is NULL where
# it is not known.
damaged_block = Table(
    "damaged_block",
    stage_metadata,
    int_column("id", key=True),
    blob_column("digest", null=True),
    prefixes=["TEMPORARY"],
)
Index("damaged_block_digest", damaged_block.c.digest)

# What blocks without a digest may be, and once that is proved, are.
named_block = Table(
    "named_block",
    stage_metadata,
    int_column("id", key=True),
    blob_column("digest"),
    int_column("proved"),
    prefixes=["TEMPORARY"],
)

lost_content = Table(
    "lost_content", stage_metadata, int_column("id", key=True), prefixes=["TEMPORARY"]
)
lost_inode = Table("lost_inode", stage_metadata, int_column("id", key=True), prefixes=["TEMPORARY"])

# Digests of directories as they were; ``snapshot`` 0 is the newest state.
kept_digest = Table(
    "kept_digest",
    stage_metadata,
    int_column("inode", key=True),
    int_column("snapshot", key=True),
    blob_column("digest", null=True),
    prefixes=["TEMPORARY"],
    sqlite_with_rowid=False,
)
