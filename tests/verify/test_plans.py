"""What verify asks once per directory, segment or damaged file uses indexes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog

OFTEN = (
    "VERIFY_CHILDREN", "VERIFY_CHILDREN_AT", "VERIFY_INODE_AT", "VERIFY_BLOCKS",
    "VERIFY_CONTENT_BLOCKS", "HISTORY_INODES", "NAME_VALUES", "NAMES_EVER", "INODE_VALUES", "TOUCHED_CONTENTS",
    "TOUCHED_INODES", "ROOT_OF_INODE", "MISSING_SEGMENTS", "MISSING_BLOCKS", "SET_BLOCK_DIGEST",
    "LOSE_PACK",
)  # fmt: skip
SMALL = {"SCAN CONSTANT ROW", "SCAN names", "SCAN alone"}


@pytest.mark.parametrize("name", OFTEN)
def test_no_full_scan(name: str, tmp_path: Path) -> None:
    Catalog.make(bytes(tmp_path / "catalog.db"))
    catalog = Catalog(bytes(tmp_path / "catalog.db"), write=False)
    text = getattr(sql, name)
    params: object = (
        [None] * text.count("?") if "?" in text else dict.fromkeys(re.findall(r":([a-z_]+)", text))
    )
    plan = [row[3] for row in catalog.execute(f"EXPLAIN QUERY PLAN {text}", params)]  # type: ignore[arg-type]
    catalog.close()
    assert {step for step in plan if step.startswith("SCAN")} <= SMALL, plan
