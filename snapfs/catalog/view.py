"""A snapshot read as a tree: the current state minus the reverse diffs between.

``at`` is a snapshot id, or None for the newest state, which reads no diff at all. A reader that
holds no long transaction must pass the id and never None: a new snapshot may move the head.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.errors import DamageError
from snapfs.model.entry import Entry
from snapfs.model.extents import Extent, ExtentKind, unpack_extents
from snapfs.model.kinds import Kind

_make = Entry._make


def children(catalog: Catalog, parent: int, at: int | None) -> list[Entry]:
    """The entries of a directory, by name."""
    if at is None:
        return list(map(_make, catalog.execute(sql.CHILDREN_HEAD, {"parent": parent})))
    return list(map(_make, catalog.execute(sql.CHILDREN_AT, {"parent": parent, "at": at})))


def each_child(catalog: Catalog, parent: int, at: int | None) -> Iterator[Entry]:
    """As `children`, one by one: a directory of a million names is not held as a whole."""
    if at is None:
        return map(_make, catalog.execute(sql.CHILDREN_HEAD, {"parent": parent}))
    return map(_make, catalog.execute(sql.CHILDREN_AT, {"parent": parent, "at": at}))


def children_with_digests(
    catalog: Catalog, parent: int, at: int | None
) -> list[tuple[Entry, bytes]]:
    """As `children`, each with the digest that guards it in its directory's tree digest."""
    if at is None:
        rows = catalog.execute(sql.GUARDED_CHILDREN_HEAD, {"parent": parent})
    else:
        rows = catalog.execute(sql.GUARDED_CHILDREN_AT, {"parent": parent, "at": at})
    return [(_make(row[:-1]), row[-1]) for row in rows]


def child(catalog: Catalog, parent: int, name: bytes, at: int | None) -> Entry | None:
    """One entry of a directory."""
    if at is None:
        row = catalog.one(sql.CHILD_HEAD, {"parent": parent, "name": name})
    else:
        row = catalog.one(sql.CHILD_AT, {"parent": parent, "name": name, "at": at})
    return None if row is None else _make(row)


def inode(catalog: Catalog, inode_id: int, at: int | None) -> Entry | None:
    """An inode without a name (``name`` is empty)."""
    if at is None:
        row = catalog.one(sql.INODE_HEAD, {"inode": inode_id})
    else:
        row = catalog.one(sql.INODE_AT, {"inode": inode_id, "at": at})
    return None if row is None else _make(row)


def lookup(catalog: Catalog, root_inode: int, path: bytes, at: int | None) -> Entry | None:
    """The entry at a path from the root (``b""`` is the root itself)."""
    entry = inode(catalog, root_inode, at)
    for part in path.split(b"/") if path else ():
        if entry is None or entry.kind != Kind.DIR:
            return None
        entry = child(catalog, entry.inode, part, at)
    return entry


class Name(NamedTuple):
    """A directory entry by its key."""

    parent: int
    name: bytes
    inode: int


def names(catalog: Catalog, inode_id: int, at: int | None) -> list[Name]:
    """All names of an inode."""
    if at is None:
        rows = catalog.execute(sql.NAMES_OF_HEAD, {"inode": inode_id})
    else:
        rows = catalog.execute(sql.NAMES_OF_AT, {"inode": inode_id, "at": at})
    return [Name(*row) for row in rows]


class Linked:
    """Inodes that may have several names, as a container of ids.

    Link counts are bookkeeping and not kept for older snapshots; names are. ``everything`` lists them
    at once, otherwise each is looked up when it is asked for.
    """

    def __init__(self, catalog: Catalog, *, everything: bool) -> None:
        self._catalog = catalog
        self._all: set[int] | None = None
        if everything:
            self._all = {row[0] for row in catalog.execute(sql.LINKED_ALL)}

    def __contains__(self, inode: object) -> bool:
        if self._all is not None:
            return inode in self._all
        return int(self._catalog.value(sql.LINKED_ONE, {"inode": inode})) > 1


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


_BLOCK = int(ExtentKind.BLOCK)


def _place(length: int, row: tuple[bytes | None, int, int, int, int, str]) -> Place:
    digest, _, offset, segment_offset, stored, pack = row
    return Place(_BLOCK, length, digest or b"", pack, segment_offset, stored, offset)


def places(catalog: Catalog, content: int) -> list[Place]:
    """The extents of a content in file order.

    Raises DamageError if the catalog does not know the content or one of its blocks.
    """
    if content == 0:
        return []
    row = catalog.one(sql.BLOCK_PLACE, {"block": content})
    if row is not None:
        return [_place(row[1], row)]
    row = catalog.one(sql.CONTENT_GET, {"content": content})
    if row is None:
        raise DamageError(f"the catalog has no content {content}")
    blocks = {
        found[0]: found[1:] for found in catalog.execute(sql.CONTENT_PLACES, {"content": content})
    }
    try:
        return [
            _place(extent.length, blocks[extent.block])
            if extent.kind == ExtentKind.BLOCK
            else Place(extent.kind, extent.length, b"", "", 0, 0, 0)
            for extent in unpack_extents(row[2])
        ]
    except (KeyError, ValueError) as error:
        raise DamageError(f"the catalog's content {content} is damaged") from error


AT_ONCE = 128


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
                found[content] = places(catalog, content)
            except DamageError:
                continue
    return found


def extents(catalog: Catalog, content: int) -> list[Extent]:
    """The extents of a content with block numbers."""
    row = catalog.one(sql.BLOCK_PLACE, {"block": content})
    if row is not None:
        return [Extent(ExtentKind.BLOCK, row[1], content)]
    row = catalog.one(sql.CONTENT_GET, {"content": content})
    if row is None:
        raise DamageError(f"the catalog has no content {content}")
    return unpack_extents(row[2])


def digest(catalog: Catalog, content: int) -> bytes:
    """The digest of a content, ``b""`` for an empty file or where it is lost."""
    if content == 0:
        return b""
    found = catalog.value(sql.DIGEST_OF_BLOCK, {"block": content})
    if found is None:
        found = catalog.value(sql.DIGEST_OF_CONTENT, {"content": content})
    return b"" if found is None else bytes(found)


def walk(
    catalog: Catalog, top: Entry, at: int | None, path: bytes = b""
) -> Iterator[tuple[bytes, Entry]]:
    """Everything below a directory, parents first, by name; ``path`` is that of ``top``."""
    stack = [iter(children(catalog, top.inode, at))]
    prefixes = [path + b"/" if path else b""]
    while stack:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop()
            prefixes.pop()
            continue
        here = prefixes[-1] + entry.name
        yield here, entry
        if entry.kind == Kind.DIR:
            stack.append(iter(children(catalog, entry.inode, at)))
            prefixes.append(here + b"/")
