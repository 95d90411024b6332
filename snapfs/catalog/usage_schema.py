"""The temporary tables in which it is worked out what only some snapshots hold (`catalog.usage`)."""

from __future__ import annotations

from sqlalchemy import MetaData, Table

from snapfs.catalog.schema import blob_column, int_column

usage_metadata = MetaData()

# Snapshots that are thought away, each with the newest older one of its root that stays (0: none does)
# and the party that it goes with.
going = Table(
    "going",
    usage_metadata,
    int_column("id", key=True),
    int_column("floor"),
    int_column("party"),
    prefixes=["TEMPORARY"],
)

# Contents and blocks, which draw their ids from one counter, that only one party's snapshots hold.
sole = Table(
    "sole",
    usage_metadata,
    int_column("id", key=True),
    int_column("party"),
    prefixes=["TEMPORARY"],
)

# Packs of which no block is held by anybody else.
sole_pack = Table(
    "sole_pack",
    usage_metadata,
    int_column("id", key=True),
    int_column("size"),
    prefixes=["TEMPORARY"],
)

# Names of directories, and of directories the paths, each for a span of the chain: the snapshots after
# ``after`` up to ``until``.
path_way = Table(
    "path_way",
    usage_metadata,
    int_column("parent", key=True),
    blob_column("name", key=True),
    int_column("until", key=True),
    int_column("after"),
    int_column("inode"),
    prefixes=["TEMPORARY"],
    sqlite_with_rowid=False,
)
path_place = Table(
    "path_place",
    usage_metadata,
    int_column("inode", key=True),
    int_column("until", key=True),
    int_column("after", key=True),
    blob_column("path", key=True),
    int_column("depth"),
    prefixes=["TEMPORARY"],
    sqlite_with_rowid=False,
)

# Contents, then the blocks of these, that versions below a path have.
path_content = Table(
    "path_content",
    usage_metadata,
    int_column("content_id", key=True),
    blob_column("path", key=True),
    prefixes=["TEMPORARY"],
    sqlite_with_rowid=False,
)
path_block = Table(
    "path_block",
    usage_metadata,
    int_column("block_id", key=True),
    blob_column("path", key=True),
    prefixes=["TEMPORARY"],
    sqlite_with_rowid=False,
)
