"""The whole catalog as one record: what every journal file but the first begins with.

Ids are kept, so that the records which follow mean the same to the catalog that is made of it. Left
out are ``meta`` (the journal's own place) and what ``counter`` has, which stands in the header.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from snapfs.catalog import compiled as sql
from snapfs.catalog.commit import RowBlock, counters
from snapfs.catalog.database import Catalog
from snapfs.stream.record import encode_record

_BATCH = 16 * 1024

DUMPED = {
    "ROOT": "qsBsqsnn",
    "SNAPSHOT": "qbqsqqqsqqsbqqqqqqqqqq",
    "SNAPSHOT_TAG": "qs",
    "XATTR": "qb",
    "ATTR": "qqqqqq",
    "PACK": "qsq",
    "SEGMENT": "qqqqqq",
    "BLOCK": "qBqqq",
    "CONTENT": "qbqb",
    "CONTENT_BLOCK": "qqq",
    "INODE": "qqqqqqqqqBnqBqqqqqn",
    "DIRENT": "qbq",
    "INODE_DIFF": "qqqqqqqqqBnqBqqqqqn",
    "DIRENT_DIFF": "qbqn",
    "OWNER": "qsqs",
    "PROBLEM": "qqbqs",
    "ORPHAN": "q",
    "DOOMED_PACK": "sq",
    "RUN": "qsnqnqns",
}
"""Tables of a dump with the types of their columns, in the order in which they are put back."""


def dump_record(
    catalog: Catalog, time_ns: int, lost: Mapping[str, Any] | None = None
) -> Iterator[bytes]:
    """The pieces of a record that holds all rows, read as they are asked for (inside a write).

    ``lost``: changes that the journal before it told of and these rows do not have (`repository.beyond`).
    """
    header = {"op": "dump", "time_ns": time_ns, "counters": counters(catalog)}
    return encode_record(header if lost is None else {**header, "lost": lost}, _tables(catalog))


def _tables(catalog: Catalog) -> Iterator[RowBlock]:
    for table, types in DUMPED.items():
        yield table, types, _rows(catalog, table)


def _rows(catalog: Catalog, table: str) -> Iterator[list[tuple[Any, ...]]]:
    cursor = catalog.execute(getattr(sql, f"DUMP_{table}"))
    while rows := cursor.fetchmany(_BATCH):
        yield rows
