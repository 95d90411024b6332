"""Where the bytes of a content lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.errors import DamageError
from snapfs.model.extents import ExtentKind, each_extent

AT_ONCE = 128
"""Contents that are looked up together."""
_BLOCK = int(ExtentKind.BLOCK)


class Place(NamedTuple):
    """Where an extent's bytes are; the fields after ``length`` mean nothing but for a block.

    ``offset`` is the block's place in the decoded segment; ``segment_offset`` and ``stored`` the
    segment's place in its pack. A block whose pack is lost has no ``digest`` or an empty ``pack``.
    """

    kind: int
    length: int
    digest: bytes
    pack: str
    segment_offset: int
    stored: int
    offset: int


def places(catalog: Catalog, content: int) -> Iterator[Place]:
    """The extents of a content in file order, one by one.

    Raises DamageError, when it comes to that, if the catalog does not know the content or a block of it.
    """
    if content == 0:
        return
    row = catalog.one(sql.BLOCK_PLACE, {"block": content})
    if row is not None:
        yield _place(row[1], row)
        return
    row = catalog.one(sql.CONTENT_GET, {"content": content})
    if row is None:
        raise DamageError(f"the catalog has no content {content}")
    try:
        yield from _places_of(catalog, content, row[2])
    except ValueError as error:
        raise DamageError(f"the catalog's content {content} is damaged") from error


def _places_of(catalog: Catalog, content: int, packed: bytes) -> Iterator[Place]:
    """Its blocks are listed in the order in which the file comes to them, each once."""
    rows = catalog.execute(sql.CONTENT_PLACES, {"content": content})
    following = next(rows, None)
    for kind, length, block in each_extent(packed):
        if kind != ExtentKind.BLOCK:
            yield Place(kind, length, b"", "", 0, 0, 0)
        elif following is not None and following[0] == block:
            yield _place(length, following[1:])
            following = next(rows, None)
        else:  # it came before
            row = catalog.one(sql.BLOCK_PLACE, {"block": block})
            if row is None:
                raise DamageError(f"the catalog has no block {block}")
            yield _place(length, row)


def _place(length: int, row: tuple[bytes | None, int, int, int, int, str]) -> Place:
    digest, _, offset, segment_offset, stored, pack = row
    return Place(_BLOCK, length, digest or b"", pack, segment_offset, stored, offset)


def places_of(catalog: Catalog, contents: Sequence[int]) -> dict[int, list[Place]]:
    """The extents of many contents; one that the catalog has lost is missing from the answer."""
    found: dict[int, list[Place]] = {}
    for start in range(0, len(contents), AT_ONCE):
        part = list(contents[start : start + AT_ONCE])
        part += [0] * (AT_ONCE - len(part))
        for id_, digest_, length, offset, segment_offset, stored, pack in catalog.execute(
            sql.BLOCKS_PLACES, part
        ):
            found[id_] = [
                Place(_BLOCK, length, digest_ or b"", pack, segment_offset, stored, offset)
            ]
    for content in contents:
        if content not in found:
            try:
                found[content] = list(places(catalog, content))
            except DamageError:
                continue
    return found
