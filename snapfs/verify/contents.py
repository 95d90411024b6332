"""Contents of several extents: their maps, the blocks they name, and their digests computed again."""

from __future__ import annotations

from typing import Any

from snapfs.blocks.digest import DigestedExtent, content_digest
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.model.extents import ExtentKind, each_extent
from snapfs.verify.report import CATALOG, Report
from snapfs.verify.rules import attempt

Row = tuple[Any, ...]

_BLOCK = int(ExtentKind.BLOCK)
_OTHER_BLOCKS = "its list of blocks is not that of its extents"


def check_contents(catalog: Catalog, report: Report) -> None:
    """Check every one; a content that is one whole block has no row here."""
    with attempt(catalog, report):
        for id_, digest, size, extents in catalog.execute(sql.VERIFY_CONTENTS):
            before = report.problems
            with attempt(catalog, report):
                what = _wrong(catalog, id_, digest, size, extents)
                if what:
                    report.add(CATALOG, f"content {id_}: {what}")
            if report.problems > before:
                report.touched.contents.append(id_)


def _wrong(catalog: Catalog, id_: int, digest: bytes, size: int, packed: bytes) -> str:
    """What is wrong with a content, ``""`` for nothing. ValueError: its map cannot be decoded."""
    if sum(extent.length for extent in each_extent(packed)) != size:
        return "its extents do not add up to its size"
    blocks = _Blocks(catalog, id_)
    lost = False
    digested: list[DigestedExtent] = []
    for kind, length, block in each_extent(packed):
        if kind != ExtentKind.BLOCK:
            digested.append((kind, length, b""))
            continue
        row = blocks.find(block)
        if row is None:
            return _OTHER_BLOCKS
        known, there = row
        if there is None:
            return f"block {block} is not there"
        if there != length:
            return f"block {block} has {there} bytes instead of {length}"
        lost = lost or known is None
        digested.append((_BLOCK, length, known or b""))
    if not blocks.all_found():
        return _OTHER_BLOCKS
    if not lost and content_digest(digested) != digest:
        return "it does not have its digest"
    return ""


class _Blocks:
    """The list of a content's blocks: each once, in the order in which the file comes to them."""

    def __init__(self, catalog: Catalog, content: int) -> None:
        self._catalog = catalog
        self._content = content
        self._rows = catalog.execute(sql.VERIFY_CONTENT_BLOCKS, {"content": content})
        self._next: Row | None = next(self._rows, None)
        self._found = 0

    def find(self, block: int) -> tuple[bytes | None, int | None] | None:
        """Digest and length of the block that the file comes to now, if it may stand here."""
        row = self._next
        if row is not None and row[1] == block and row[0] == self._found:
            self._next = next(self._rows, None)
            self._found += 1
            return row[2], row[3]
        # Else it must have come before: a file of 20 GB has too many to remember them.
        params = {"content": self._content, "block": block, "before": self._found}
        again = self._catalog.one(sql.VERIFY_CONTENT_BLOCK, params)
        return None if again is None else (again[0], again[1])

    def all_found(self) -> bool:
        """Whether the file came to each of them, and each is listed once."""
        count = self._catalog.value(sql.VERIFY_CONTENT_COUNT, {"content": self._content})
        return self._next is None and count == self._found
