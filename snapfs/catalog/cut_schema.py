"""The temporary tables of a purge: what it takes out, and what stays of it.

``low`` and ``high`` are a span of snapshots by id: above ``low``, up to ``high`` (`catalog.spans`).
"""

from __future__ import annotations

from sqlalchemy import Index, MetaData, Table

from snapfs.catalog.schema import blob_column, int_column

cut_metadata = MetaData()

# Directories that are reached no longer in a span, and so are none of their names.
cut_directory = Table(
    "cut_directory",
    cut_metadata,
    int_column("seq", key=True),
    int_column("inode"),
    int_column("low"),
    int_column("high"),
    prefixes=["TEMPORARY"],
)

# Names that mean nothing any more in a span, with the inode that each meant there.
cut_name = Table(
    "cut_name",
    cut_metadata,
    int_column("seq", key=True),
    int_column("parent"),
    blob_column("name"),
    int_column("low"),
    int_column("high"),
    int_column("inode"),
    prefixes=["TEMPORARY"],
)
Index("cut_name_inode", cut_name.c.inode)
Index("cut_name_parent", cut_name.c.parent)

# Rows that these names have from now on; without a snapshot it is that of the newest state.
cut_row = Table(
    "cut_row",
    cut_metadata,
    int_column("seq", key=True),
    int_column("parent"),
    blob_column("name"),
    int_column("snapshot", null=True),
    int_column("inode", null=True),
    prefixes=["TEMPORARY"],
)

# The inodes that lost a name, and whether they have another.
cut_inode = Table(
    "cut_inode",
    cut_metadata,
    int_column("id", key=True),
    int_column("kept"),
    prefixes=["TEMPORARY"],
)

# What inodes that have another name still were under the names that went.
cut_value = Table(
    "cut_value",
    cut_metadata,
    int_column("seq", key=True),
    int_column("inode"),
    int_column("kind"),
    int_column("size"),
    int_column("rdev"),
    blob_column("target", null=True),
    int_column("content_id", null=True),
    prefixes=["TEMPORARY"],
)
Index("cut_value_inode", cut_value.c.inode)

# The contents of all that went.
cut_content = Table(
    "cut_content",
    cut_metadata,
    int_column("id", key=True),
    prefixes=["TEMPORARY"],
)

# Words that may be names which nothing has any more.
cut_word = Table(
    "cut_word",
    cut_metadata,
    blob_column("word", key=True),
    prefixes=["TEMPORARY"],
    sqlite_with_rowid=False,
)
