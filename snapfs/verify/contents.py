"""Contents of several extents: their maps, the blocks they name, and their digests computed again."""

from __future__ import annotations

from typing import Any

from snapfs.blocks.digest import content_digest
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.model.extents import ExtentKind, unpack_extents
from snapfs.verify.report import CATALOG, Report
from snapfs.verify.rules import attempt

Row = tuple[Any, ...]


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
    extents = unpack_extents(packed)
    if sum(extent.length for extent in extents) != size:
        return "its extents do not add up to its size"
    used = dict.fromkeys(e.block for e in extents if e.kind == ExtentKind.BLOCK)
    rows = catalog.execute(sql.VERIFY_CONTENT_BLOCKS, {"content": id_}).fetchall()
    if [(row[0], row[1]) for row in rows] != list(enumerate(used)):
        return "its list of blocks is not that of its extents"
    blocks = {block: (known, length) for _, block, known, length in rows}
    lost = False
    digested = []
    for kind, length, block in extents:
        if kind != ExtentKind.BLOCK:
            digested.append((kind, length, b""))
            continue
        known, there = blocks[block]
        if there is None:
            return f"block {block} is not there"
        if there != length:
            return f"block {block} has {there} bytes instead of {length}"
        lost = lost or known is None
        digested.append((kind, length, known or b""))
    if not lost and content_digest(digested) != digest:
        return "it does not have its digest"
    return ""
