"""Temporary tables behind the views that people query (`statements_views`), filled once per query.

A snapshot's number is where it stands in the chain of its root, so a span is two of them: after which
it begins, and the last that it has. ``NEWEST`` as the last says that it lasts to the head.
"""

from __future__ import annotations

from sqlalchemy import Index, MetaData, Table

from snapfs.catalog.schema import blob_column, int_column, text_column

NEWEST = 1 << 62
"""After every snapshot: the last of a span that the current rows hold."""

query_metadata = MetaData()

# Each snapshot with the one before it, 0 for none.
chain = Table(
    "chain",
    query_metadata,
    int_column("root_id", key=True),
    int_column("previous_id", key=True),
    int_column("id"),
    text_column("name"),
    prefixes=["TEMPORARY"],
    sqlite_with_rowid=False,
)

# Every directory that ever had an entry. One that never had any is a place of nothing.
folder = Table("folder", query_metadata, int_column("id", key=True), prefixes=["TEMPORARY"])

# The names that these had, each for the spans in which it was theirs.
folder_name = Table(
    "folder_name",
    query_metadata,
    int_column("parent_id", key=True),
    blob_column("name", key=True),
    int_column("after_id", key=True),
    int_column("last_id"),
    int_column("inode_id"),
    prefixes=["TEMPORARY"],
    sqlite_with_rowid=False,
)

# Where they were: a directory has one path at a time. ``prefix`` is what its entries' paths begin with.
place = Table(
    "place",
    query_metadata,
    int_column("dir_id", key=True),
    int_column("after_id", key=True),
    int_column("last_id"),
    int_column("root_id"),
    int_column("depth"),
    text_column("path"),
    text_column("prefix"),
    prefixes=["TEMPORARY"],
    sqlite_with_rowid=False,
)
Index("chain_id", chain.c.id)
Index("chain_name", chain.c.name)
Index("place_path", place.c.path, place.c.root_id)
Index("place_after", place.c.after_id)
Index("place_last", place.c.last_id)
Index("place_depth", place.c.depth)
