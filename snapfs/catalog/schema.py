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
from sqlalchemy.dialects.sqlite import INTEGER as SqliteInteger  # noqa: N811

APPLICATION_ID = 0x736E6673  # "snfs"
USER_VERSION = 1

metadata = MetaData()


# SQLite makes a key the row's own number only if its type is called just so; else each table gets an
# index more. Its integers have 64 bits whatever they are called.
_INT = BigInteger().with_variant(SqliteInteger(), "sqlite")


def int_column(name: str, *, null: bool = False, key: bool = False) -> Column[int]:
    """A 64-bit integer column."""
    # autoincrement is off everywhere: ids come from the table `counter` and are never reused.
    return Column(name, _INT, nullable=null, primary_key=key, autoincrement=False)


def blob_column(name: str, *, null: bool = False, key: bool = False) -> Column[bytes]:
    """A column of bytes."""
    return Column(name, LargeBinary, nullable=null, primary_key=key)


def text_column(name: str, *, null: bool = False, key: bool = False) -> Column[str]:
    """A column of text."""
    return Column(name, Text, nullable=null, primary_key=key)


meta = Table(
    "meta", metadata, text_column("key", key=True), text_column("value"), sqlite_with_rowid=False
)

counter = Table(
    "counter", metadata, text_column("name", key=True), int_column("next"), sqlite_with_rowid=False
)

root = Table(
    "root",
    metadata,
    int_column("id", key=True),
    text_column("host"),
    blob_column("path", null=True),
    text_column("label"),
    int_column("created_ns"),
    text_column("options"),
    int_column("inode_id", null=True),
    int_column("head_id", null=True),
    UniqueConstraint("label"),
)

snapshot = Table(
    "snapshot",
    metadata,
    int_column("id", key=True),
    blob_column("uid"),
    int_column("root_id"),
    text_column("name"),
    int_column("created_ns"),
    int_column("finished_ns"),
    int_column("utc_offset_s"),
    text_column("message"),
    int_column("pinned"),
    int_column("complete"),
    text_column("rules"),
    blob_column("tree_digest"),
    int_column("files"),
    int_column("dirs"),
    int_column("others"),
    int_column("logical_bytes"),
    int_column("added"),
    int_column("removed"),
    int_column("modified"),
    int_column("read_bytes"),
    int_column("new_bytes"),
    int_column("stored_bytes"),
    UniqueConstraint("root_id", "name"),
    UniqueConstraint("uid"),
)

snapshot_tag = Table(
    "snapshot_tag",
    metadata,
    int_column("snapshot_id", key=True),
    text_column("tag", key=True),
    sqlite_with_rowid=False,
)


def _attributes() -> list[Column[int] | Column[bytes]]:
    """What an inode is, the same in ``inode``, ``inode_diff`` and the stage."""
    return [
        int_column("kind"),
        int_column("attr_id"),
        int_column("size"),
        int_column("mtime_s"),
        int_column("mtime_nsec"),
        int_column("rdev"),
        blob_column("target", null=True),
        int_column("content_id", null=True),
        int_column("state"),
        blob_column("tree_digest", null=True),
        int_column("ctime_s"),
        int_column("ctime_nsec"),
        int_column("dev"),
        int_column("ino"),
        int_column("nlink"),
        int_column("fingerprint", null=True),
    ]


ATTRIBUTES = tuple(column.name for column in _attributes())
RESTORABLE = ATTRIBUTES[: ATTRIBUTES.index("ctime_s")]

inode = Table(
    "inode",
    metadata,
    int_column("id", key=True),
    int_column("root_id"),
    int_column("born"),
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

_is_linked = and_(inode.c.nlink > 1, inode.c.kind != 2)
Index("inode_linked", inode.c.ino, sqlite_where=_is_linked, postgresql_where=_is_linked)

dirent = Table(
    "dirent",
    metadata,
    int_column("parent_id", key=True),
    blob_column("name", key=True),
    int_column("inode_id"),
    sqlite_with_rowid=False,
)
Index("dirent_inode", dirent.c.inode_id)

inode_diff = Table(
    "inode_diff",
    metadata,
    int_column("inode_id", key=True),
    int_column("snapshot_id", key=True),
    int_column("born"),
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
    int_column("parent_id", key=True),
    blob_column("name", key=True),
    int_column("snapshot_id", key=True),
    int_column("inode_id", null=True),
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
    int_column("id", key=True),
    blob_column("digest"),
    int_column("size"),
    blob_column("extents"),
    UniqueConstraint("digest"),
)

content_block = Table(
    "content_block",
    metadata,
    int_column("content_id", key=True),
    int_column("seq", key=True),
    int_column("block_id"),
    sqlite_with_rowid=False,
)
Index("content_block_block", content_block.c.block_id)

block = Table(
    "block",
    metadata,
    int_column("id", key=True),
    blob_column("digest", null=True),  # NULL: rebuilt from the journal, but its pack is gone
    int_column("segment_id"),
    int_column("offset"),
    int_column("length"),
    UniqueConstraint("digest"),
)
Index("block_segment", block.c.segment_id)

segment = Table(
    "segment",
    metadata,
    int_column("id", key=True),
    int_column("pack_id"),
    int_column("offset"),
    int_column("stored"),
    int_column("raw"),
    int_column("checksum"),
)
Index("segment_pack", segment.c.pack_id)

pack = Table(
    "pack",
    metadata,
    int_column("id", key=True),
    text_column("name"),
    int_column("size"),
    UniqueConstraint("name"),
)

attr = Table(
    "attr",
    metadata,
    int_column("id", key=True),
    int_column("mode"),
    int_column("uid"),
    int_column("gid"),
    int_column("flags"),
    int_column("xattr_id"),  # 0: no extended attributes
    UniqueConstraint("mode", "uid", "gid", "flags", "xattr_id"),
)

xattr = Table(
    "xattr",
    metadata,
    int_column("id", key=True),
    blob_column("value"),
    UniqueConstraint("value"),
)

owner = Table(
    "owner",
    metadata,
    int_column("root_id", key=True),
    text_column("kind", key=True),  # "uid" or "gid"
    int_column("id", key=True),
    text_column("name"),
    sqlite_with_rowid=False,
)

problem = Table(
    "problem",
    metadata,
    int_column("snapshot_id", key=True),
    int_column("seq", key=True),
    blob_column("path"),
    int_column("errno"),
    text_column("what"),
    sqlite_with_rowid=False,
)

run = Table(
    "run",
    metadata,
    int_column("id", key=True),
    text_column("command"),
    int_column("root_id", null=True),
    int_column("started_ns"),
    int_column("finished_ns", null=True),
    int_column("uid"),
    int_column("exit", null=True),
    text_column("summary"),
)

# Contents that lost a reference when a snapshot went, until the collector has looked at them.
orphan = Table("orphan", metadata, int_column("content_id", key=True), sqlite_with_rowid=False)

# Packs whose rows are gone but whose files may still be there.
doomed_pack = Table(
    "doomed_pack",
    metadata,
    text_column("name", key=True),
    int_column("size"),
    sqlite_with_rowid=False,
)

# Else SQLite keeps whatever it is given, whatever a column is declared to hold, and an edit by hand could
# put text where every reader counts on a number. Its integrity check knows the kinds as well.
for _table in metadata.tables.values():
    _table.dialect_options["sqlite"]["strict"] = True
