"""What deleting many snapshots would free, worked out from what stays.

`catalog.usage` puts what goes into tables, which takes as long as there is of it. Where most snapshots go,
it is quicker to mark the contents that stay, a byte for each id, and to sum up the blocks without a mark:
a content is named by a row that goes, by one that stays, or is left to be collected, and nothing else.
Statements ask the marks themselves, as a parameter.
"""

from __future__ import annotations

from collections.abc import Iterable

from snapfs.catalog import compiled as sql
from snapfs.catalog.commit import counters
from snapfs.catalog.database import Catalog
from snapfs.errors import DamageError

MOST_MARKS = 1 << 26
"""Ids above which there are no marks: they are never given again, so that an old repository has high ones."""
_YES, _NO = b"\1", b"\0"


def can_mark(catalog: Catalog) -> bool:
    """Whether ids are low enough to have a byte each."""
    return _sizes(catalog) is not None


def mark_staying(catalog: Catalog, *, heads_go: bool) -> bytes:
    """A byte for each content and block, 1 if something that stays has it; ``going`` is filled.

    ``heads_go``: among these are newest snapshots of roots. Raises DamageError for ids that were never given.
    """
    sizes = _sizes(catalog)
    assert sizes is not None
    contents, inodes = sizes
    stay = bytearray(contents)
    _mark(catalog, stay, catalog.execute(sql.STAYING_IN_DIFFS))
    changed = bytearray(inodes)
    if heads_go:
        _mark(catalog, changed, catalog.execute(sql.CHANGED_IN_HEADS))
    params = {"changed": bytes(changed), "no": _NO}
    _mark(catalog, stay, catalog.execute(sql.STAYING_IN_HEADS, params))
    _mark(catalog, stay, catalog.execute(sql.STAYING_PARTS, {"stay": bytes(stay), "yes": _YES}))
    return bytes(stay)


def unmarked(catalog: Catalog, stay: bytes) -> tuple[int, int, int]:
    """Bytes of the packs without a marked block, stored sizes of other unmarked blocks, and those packs."""
    catalog.execute(sql.SOLE_PACK_CLEAR)
    catalog.execute(sql.UNMARKED_PACKS, {"stay": stay, "yes": _YES})
    freed, packs = catalog.one(sql.SOLE_PACK_SUM)
    return freed, catalog.value(sql.UNMARKED_BYTES, {"stay": stay, "no": _NO}), packs


def _sizes(catalog: Catalog) -> tuple[int, int] | None:
    following = counters(catalog)
    sizes = following.get("content", 0) + 1, following.get("inode", 0) + 1
    return sizes if max(sizes) <= MOST_MARKS else None


def _mark(catalog: Catalog, marks: bytearray, ids: Iterable[tuple[int]]) -> None:
    try:
        for (id_,) in ids:
            marks[id_] = 1
    except IndexError:
        raise DamageError(
            f"{catalog.name} has ids that were never given",
            subject=catalog.name,
            hint="run snapfs verify",
        ) from None
