"""snapfs-repository.5 names everything that the catalog, its journal and the config have."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from snapfs.catalog import commit, schema
from snapfs.repository import replay
from snapfs.repository.config import Config

MANUAL = Path(__file__).parents[2] / "man" / "snapfs-repository.5"


def section(name: str) -> str:
    """The source of a section."""
    found = re.search(rf"^\.Sh {name}\n(.*?)^\.Sh ", MANUAL.read_text(), re.DOTALL | re.MULTILINE)
    assert found is not None, name
    return found.group(1)


@pytest.mark.parametrize("table", schema.metadata.sorted_tables, ids=lambda table: table.name)
def test_table(table: schema.Table) -> None:
    found = re.search(
        rf"^\.It Sy {table.name}\n(.*?)^\.(?:It|El|Ss)\b",
        section("CATALOG"),
        re.DOTALL | re.MULTILINE,
    )
    assert found is not None, f"table {table.name} is not described"
    words = set(re.findall(r"\w+", found.group(1)))
    columns = [column.name for column in table.columns]
    if table.name == "inode_diff":  # "all columns of an inode from kind on"
        columns = columns[: columns.index("kind") + 1]
    assert set(columns) <= words


@pytest.mark.parametrize("op", replay._OPERATIONS)
def test_operation(op: str) -> None:
    headings = re.findall(r'^\.Ss "?([^"\n]*)', section("RECORDS"), re.MULTILINE)
    assert op in {word for heading in headings for word in heading.split(", ")}


@pytest.mark.parametrize(
    ("block", "types"),
    [
        ("attr", commit.ATTR_TYPES),
        ("pack", commit.PACK_TYPES),
        ("segment", commit.SEGMENT_TYPES),
        ("block", commit.BLOCK_TYPES),
        ("content", commit.CONTENT_TYPES),
        ("file", commit.FILE_TYPES),
        ("file-content", commit.FILE_CONTENT_TYPES),
        ("stage", commit.STAGE_TYPES),
        ("problem", commit.PROBLEM_TYPES),
    ],
)
def test_row_block(block: str, types: str) -> None:
    assert f".It Sy {block} Pq {types}\n" in section("RECORDS")


def test_config() -> None:
    for key in json.loads(Config(1, bytes(16)).encode()):
        assert f".It Va {key}\n" in section("CONFIG")
