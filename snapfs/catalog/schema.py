"""The catalog's tables as SQLAlchemy Core metadata (``snapfs-repository.5``, CATALOG).

Imported only to make the database and to compile statements (`statements`, `compile`); what runs
every day is the compiled text in `compiled`, so that no command pays for loading SQLAlchemy.

Current state is in ``inode`` and ``dirent``; older snapshots are the rows of ``inode_diff`` and
``dirent_diff``: a row stamped with snapshot *s* holds the value a key had in *s* and, unless a later
row says otherwise, in the snapshots before it.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    and_,
)

APPLICATION_ID = 0x736E6673  # "snfs"
USER_VERSION = 1

metadata = MetaData()
stage_metadata = MetaData()


def _int(name: str, *, null: bool = False, key: bool = False) -> Column[int]:
    # autoincrement is off everywhere: ids come from the table `counter` and are never reused.
    return Column(name, BigInteger, nullable=null, primary_key=key, autoincrement=False)


def _blob(name: str, *, null: bool = False, key: bool = False) -> Column[bytes]:
    return Column(name, LargeBinary, nullable=null, primary_key=key)


def _text(name: str, *, null: bool = False, key: bool = False) -> Column[str]:
    return Column(name, Text, nullable=null, primary_key=key)


meta = Table("meta", metadata, _text("key", key=True), _text("value"), sqlite_with_rowid=False)

counter = Table("counter", metadata, _text("name", key=True), _int("next"), sqlite_with_rowid=False)

root = Table(
    "root",
    metadata,
    _int("id", key=True),
    _text("host"),
    _blob("path", null=True),
    _text("label"),
    _int("created_ns"),
    _text("options"),
    _int("inode_id", null=True),
    _int("head_id", null=True),
    UniqueConstraint("label"),
)

snapshot = Table(
    "snapshot",
    metadata,
    _int("id", key=True),
    _blob("uid"),
    _int("root_id"),
    _text("name"),
    _int("created_ns"),
    _int("finished_ns"),
    _int("utc_offset_s"),
    _text("message"),
    _int("pinned"),
    _int("complete"),
    _text("rules"),
    _blob("tree_digest"),
    _int("files"),
    _int("dirs"),
    _int("others"),
    _int("logical_bytes"),
    _int("added"),
    _int("removed"),
    _int("modified"),
    _int("read_bytes"),
    _int("new_bytes"),
    _int("stored_bytes"),
    UniqueConstraint("root_id", "name"),
    UniqueConstraint("uid"),
)

snapshot_tag = Table(
    "snapshot_tag",
    metadata,
    _int("snapshot_id", key=True),
    _text("tag", key=True),
    sqlite_with_rowid=False,
)


def _attributes() -> list[Column[int] | Column[bytes]]:
    """What an inode is, the same in ``inode``, ``inode_diff`` and the stage."""
    return [
        _int("kind"),
        _int("attr_id"),
        _int("size"),
        _int("mtime_s"),
        _int("mtime_nsec"),
        _int("rdev"),
        _blob("target", null=True),
        _int("content_id", null=True),
        _int("state"),
        _blob("tree_digest", null=True),
        _int("ctime_s"),
        _int("ctime_nsec"),
        _int("dev"),
        _int("ino"),
        _int("nlink"),
        _int("fingerprint", null=True),
    ]


ATTRIBUTES = tuple(column.name for column in _attributes())
RESTORABLE = ATTRIBUTES[: ATTRIBUTES.index("ctime_s")]

inode = Table(
    "inode",
    metadata,
    _int("id", key=True),
    _int("root_id"),
    _int("born"),
    *_attributes(),
)
Index(
    "inode_content",
    inode.c.content_id,
    sqlite_where=inode.c.content_id.is_not(None),
    postgresql_where=inode.c.content_id.is_not(None),
)

Index(
    "inode_directory",
    inode.c.root_id,
    sqlite_where=inode.c.kind == 2,
    postgresql_where=inode.c.kind == 2,
)

dirent = Table(
    "dirent",
    metadata,
    _int("parent_id", key=True),
    _blob("name", key=True),
    _int("inode_id"),
    sqlite_with_rowid=False,
)
Index("dirent_inode", dirent.c.inode_id)

inode_diff = Table(
    "inode_diff",
    metadata,
    _int("inode_id", key=True),
    _int("snapshot_id", key=True),
    _int("born"),
    *_attributes(),
    sqlite_with_rowid=False,
)
Index("inode_diff_snapshot", inode_diff.c.snapshot_id)
Index(
    "inode_diff_content",
    inode_diff.c.content_id,
    sqlite_where=inode_diff.c.content_id.is_not(None),
    postgresql_where=inode_diff.c.content_id.is_not(None),
)

dirent_diff = Table(
    "dirent_diff",
    metadata,
    _int("parent_id", key=True),
    _blob("name", key=True),
    _int("snapshot_id", key=True),
    _int("inode_id", null=True),
    sqlite_with_rowid=False,
)
Index("dirent_diff_snapshot", dirent_diff.c.snapshot_id)
Index(
    "dirent_diff_inode",
    dirent_diff.c.inode_id,
    sqlite_where=dirent_diff.c.inode_id.is_not(None),
    postgresql_where=dirent_diff.c.inode_id.is_not(None),
)

# A content that is one whole block is that block: both tables draw their ids from one counter.
content = Table(
    "content",
    metadata,
    _int("id", key=True),
    _blob("digest"),
    _int("size"),
    _blob("extents"),
    UniqueConstraint("digest"),
)

content_block = Table(
    "content_block",
    metadata,
    _int("content_id", key=True),
    _int("seq", key=True),
    _int("block_id"),
    sqlite_with_rowid=False,
)
Index("content_block_block", content_block.c.block_id)

block = Table(
    "block",
    metadata,
    _int("id", key=True),
    _blob("digest", null=True),  # NULL: rebuilt from the journal, but its pack is gone
    _int("segment_id"),
    _int("offset"),
    _int("length"),
    UniqueConstraint("digest"),
)
Index("block_segment", block.c.segment_id)

segment = Table(
    "segment",
    metadata,
    _int("id", key=True),
    _int("pack_id"),
    _int("offset"),
    _int("stored"),
    _int("raw"),
    _int("checksum"),
)
Index("segment_pack", segment.c.pack_id)

pack = Table(
    "pack",
    metadata,
    _int("id", key=True),
    _text("name"),
    _int("size"),
    UniqueConstraint("name"),
)

attr = Table(
    "attr",
    metadata,
    _int("id", key=True),
    _int("mode"),
    _int("uid"),
    _int("gid"),
    _int("flags"),
    _int("xattr_id"),  # 0: no extended attributes
    UniqueConstraint("mode", "uid", "gid", "flags", "xattr_id"),
)

xattr = Table(
    "xattr",
    metadata,
    _int("id", key=True),
    _blob("value"),
    UniqueConstraint("value"),
)

owner = Table(
    "owner",
    metadata,
    _int("root_id", key=True),
    _text("kind", key=True),  # "uid" or "gid"
    _int("id", key=True),
    _text("name"),
    sqlite_with_rowid=False,
)

problem = Table(
    "problem",
    metadata,
    _int("snapshot_id", key=True),
    _int("seq", key=True),
    _blob("path"),
    _int("errno"),
    _text("what"),
    sqlite_with_rowid=False,
)

run = Table(
    "run",
    metadata,
    _int("id", key=True),
    _text("command"),
    _int("root_id", null=True),
    _int("started_ns"),
    _int("finished_ns", null=True),
    _int("uid"),
    _int("exit", null=True),
    _text("summary"),
)

# Contents that lost a reference when a snapshot went, until the collector has looked at them.
orphan = Table("orphan", metadata, _int("content_id", key=True), sqlite_with_rowid=False)

# Packs whose rows are gone but whose files may still be there.
doomed_pack = Table(
    "doomed_pack", metadata, _text("name", key=True), _int("size"), sqlite_with_rowid=False
)


# --- the stage: one set of changes to a head, private to its connection -------------------------

# One row per observed name (and per vanished name or inode). See `catalog.stage`.
stage = Table(
    "stage",
    stage_metadata,
    _int("seq", key=True),
    _int("above", null=True),  # key of the directory in scan_path: where to find it on disk
    _int("parent", null=True),
    _blob("name", null=True),
    _int("inode", null=True),
    _int("names"),
    _int("nodes"),
    _int("by_name", null=True),
    _int("by_kind", null=True),
    _int("post", null=True),
    _int("low", null=True),
    _int("high", null=True),
    _int("need"),
    _int("kind", null=True),
    _int("attr", null=True),
    _int("size", null=True),
    _int("mtime_s", null=True),
    _int("mtime_nsec", null=True),
    _int("rdev", null=True),
    _blob("target", null=True),
    _int("content", null=True),
    _blob("digest", null=True),  # of the content, where it was read in this run
    _int("state", null=True),
    _blob("tree_digest", null=True),
    _int("ctime_s", null=True),
    _int("ctime_nsec", null=True),
    _int("dev", null=True),
    _int("ino", null=True),
    _int("nlink", null=True),
    _int("fingerprint", null=True),
    prefixes=["TEMPORARY"],
)

# Where the directories are whose files are to be read.
scan_path = Table(
    "scan_path", stage_metadata, _int("key", key=True), _blob("path"), prefixes=["TEMPORARY"]
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
    _int("parent", key=True),
    _blob("name", key=True),
    _int("inode"),
    _int("kind"),
    _int("dev"),
    _int("ino"),
    _int("done"),
    prefixes=["TEMPORARY"],
    sqlite_with_rowid=False,
)
Index("lost_by_ino", lost.c.ino)
Index("lost_by_inode", lost.c.inode)

stage_attr = Table(
    "stage_attr",
    stage_metadata,
    _int("id", key=True),
    _int("mode"),
    _int("uid"),
    _int("gid"),
    _int("flags"),
    _blob("xattr"),
    _int("xattr_final", null=True),
    _int("final", null=True),
    prefixes=["TEMPORARY"],
)

stage_pack = Table(
    "stage_pack",
    stage_metadata,
    _int("id", key=True),
    _text("name"),
    _int("size"),
    _int("final", null=True),
    prefixes=["TEMPORARY"],
)

stage_segment = Table(
    "stage_segment",
    stage_metadata,
    _int("id", key=True),
    _int("pack"),
    _int("offset"),
    _int("stored"),
    _int("raw"),
    _int("checksum"),
    _int("final", null=True),
    prefixes=["TEMPORARY"],
)

stage_block = Table(
    "stage_block",
    stage_metadata,
    _int("id", key=True),
    _blob("digest"),
    _int("segment"),
    _int("offset"),
    _int("length"),
    prefixes=["TEMPORARY"],
)

Index("stage_block_segment", stage_block.c.segment)

# Contents of several extents; those of one block are that block.
stage_content = Table(
    "stage_content",
    stage_metadata,
    _blob("digest", key=True),
    _int("size"),
    _blob("extents"),  # model.extents.pack_digest_extents
    prefixes=["TEMPORARY"],
    sqlite_with_rowid=False,
)

stage_problem = Table(
    "stage_problem",
    stage_metadata,
    _int("seq", key=True),
    _blob("path"),
    _int("errno"),
    _text("what"),
    prefixes=["TEMPORARY"],
)

# --- scratch sets of the reclaimer --------------------------------------------------------------

dead = Table("dead", stage_metadata, _int("id", key=True), prefixes=["TEMPORARY"])
dead_block = Table("dead_block", stage_metadata, _int("id", key=True), prefixes=["TEMPORARY"])
dead_pack = Table("dead_pack", stage_metadata, _int("id", key=True), prefixes=["TEMPORARY"])
