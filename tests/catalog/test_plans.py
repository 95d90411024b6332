"""Hot statements use their indexes: no full scan of a table that grows with history or with the tree."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from snapfs.catalog import compiled as sql
from snapfs.catalog.cut import prepare
from snapfs.catalog.database import Catalog

GROWING = ("inode", "dirent", "inode_diff", "dirent_diff", "block", "content", "content_block",
           "segment")  # fmt: skip

HOT = (
    "CHILD_HEAD", "CHILD_AT", "INODE_HEAD", "INODE_AT", "NAMES_OF_HEAD", "NAMES_OF_AT",
    "CHANGED_INODES", "CHANGED_NAMES", "BLOCK_BY_DIGEST", "BLOCK_PLACE", "BLOCKS_KNOWN",
    "BLOCKS_PLACES", "CONTENT_GET", "CONTENT_PLACES", "SCAN_CHILDREN", "SCAN_DIR", "SCAN_DIRS",
    "FOLD_ORPHANS", "FOLD_NAMES_COVERED", "FOLD_NAMES_UNBORN", "FOLD_NAMES",
    "FOLD_INODES_COVERED", "FOLD_INODES", "FOLD_DROP_NAMES", "FOLD_DROP_INODES", "ROLL_DEAD",
    "ROLL_NAMES_NEW", "ROLL_NAMES", "ROLL_INODES", "COLLECT_DEAD", "COLLECT_BLOCKS",
    "COLLECT_CONTENT_BLOCK", "COLLECT_KEEP", "COLLECT_BLOCK", "COLLECT_PACKS", "COLLECT_SHARES",
    "COLLECT_SEGMENT", "BLOCKS_KNOWN_PLACES", "COMMIT_BLOCK_MOVED", "STAGE_NEW_BLOCKS",
    "COMMIT_INODE_DIFF", "COMMIT_DELETE_DIRENT", "COMMIT_DELETE_INODE", "COMMIT_INODE",
    "MARK_BOOKKEEPING", "RESOLVE_CONTENT", "LOST_CLOSURE", "SETTLE_BY_NAME", "SETTLE_SAME",
    "SETTLE_NAME", "SETTLE_MOVED", "STAGE_CHILDREN_KEPT", "OVERLAY_INODE", "CHILDREN_AFTER_HEAD",
    "CHILDREN_AFTER_AT", "GUARDED_AFTER_HEAD", "GUARDED_AFTER_AT", "NAME_AHEAD", "NAMED_HEAD",
    "NAMED_AT", "NAMES_COUNTED_HEAD", "NAMES_COUNTED_AT", "CHANGED_INODES_LIVE",
    "CHANGED_NAMES_LIVE", "OVERLAY_CHILDREN_AFTER", "CUT_ROWS_OF_NAME", "CUT_ROWS_OF_NAMES",
    "CUT_NEXT_DIRECTORIES", "CUT_DROP_NAMES", "CUT_DROP_OLD_NAMES", "CUT_INODES", "CUT_ROWS_GONE",
    "CUT_ROWS_OF", "CUT_ALIASES", "CUT_ORPHANS", "CUT_OLD_ORPHANS", "CUT_DROP_INODES",
    "CUT_DROP_OLD_INODES", "CUT_OLD_BORN", "CUT_OLD_UNSURE", "CUT_SHARED", "SEGMENTS_OF_PACK",
    "MOVE_SEGMENT_BLOCKS", "BIRTH", "INODE_STATES", "SPLIT_INODE", "REDIGEST_HEAD",
    "REDIGEST_DIFF", "NAMES_EVER", "NAME_VALUES", "VERIFY_CONTENT_BLOCK", "VERIFY_CONTENT_COUNT",
    "SCAN_NAMED", "LISTED_OTHER_NAMES", "CONTENT_BY_DIGEST", "SOLE_OF_FEW", "SOLE_ORPHANS",
    "SOLE_KEEP", "SOLE_BLOCKS", "SOLE_PACK_PUT", "SOLE_STAYS", "SOLE_BYTES", "PATH_SUMS", "QUERY_FOLDERS",
    "QUERY_OLD_FOLDERS", "QUERY_NAMES", "QUERY_OLD_NAMES", "QUERY_LEVEL", "SEGMENT_BLOCKS",
    "SEGMENTS_UNUSED", "PACK_UNUSED", "LOST_CONTENT_FILL", "LOST_INODE_FILL", "LOST_DIRECTORIES",
    "LOST_VALUES", "LOSE_INODE", "LOSE_INODE_DIFF", "LOSE_FINGERPRINT", "LOSE_FINGERPRINT_DIFF",
    "LOSE_PARTS", "LOSE_CONTENT_BLOCK", "LOSE_CONTENT", "LOSE_BLOCK", "NAMELESS", "NAMELESS_IN",
    "MERGE_INODE", "MERGE_INODE_DIFF", "SCAN_NAMED_FEW",
)  # fmt: skip


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    path = bytes(tmp_path_factory.mktemp("plans") / "catalog.db")
    Catalog.make(path)
    opened = Catalog(path, write=True)
    opened.stage_tables()
    prepare(opened)
    for text in (
        *sql.CREATE_STAGE_INDEX, *sql.CREATE_USAGE, *sql.CREATE_QUERY, *sql.CREATE_QUERY_INDEX
    ):  # fmt: skip
        opened.execute(text)
    yield opened
    opened.close()


@pytest.mark.parametrize("name", HOT)
def test_no_full_scan(catalog: Catalog, name: str) -> None:
    text = getattr(sql, name)
    params: object = (
        [None] * text.count("?")
        if "?" in text
        else dict.fromkeys(re.findall(r":([a-z_]+[0-9]*)", text))
    )
    plan = [row[3] for row in catalog.execute(f"EXPLAIN QUERY PLAN {text}", params)]  # type: ignore[arg-type]
    tables = {alias: table for table, alias in re.findall(r"\b(\w+) AS \"?(\w+)\"?", text)}
    scans = []
    for step in plan:
        found = re.match(r"SCAN (\w+)", step)
        if found and tables.get(found[1], found[1]) in GROWING:
            scans.append(step)
    assert not scans, "\n".join(plan)
