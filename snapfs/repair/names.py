"""Blocks of which the catalog does not know what they were: their digests, proved.

A catalog that was made again while a pack was missing has no digests for what lay in it, and without one no
bytes can be told to be right. Whatever says what a block may be (`repair.naming`), whether it is that only
the catalog itself can prove: the digest of a content of several blocks covers those of its blocks, and the
tree digest of a directory those of the files in it. A name that neither proves is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from snapfs.blocks.digest import DigestedExtent, content_digest
from snapfs.blocks.treedigest import tree_digest
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.catalog.streams import guarded_children
from snapfs.model.extents import ExtentKind, each_extent
from snapfs.model.kinds import Kind

_BLOCK = int(ExtentKind.BLOCK)


class Names:
    """What blocks without a digest may be (``named_block``)."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._seen: set[int] = set()  # contents and directories that were asked in this round
        catalog.execute(sql.NAMED_CLEAR)

    def know(self, block: int, digest: bytes) -> None:
        """The pack itself says what a block is."""
        self._put(block, digest, proved=1)

    def suppose(self, block: int, digest: bytes) -> None:
        """A block may be this."""
        self._put(block, digest, proved=0)

    def nameless(self) -> list[int]:
        """Blocks of which nobody knows what they were."""
        return [row[0] for row in self._catalog.execute(sql.NAMELESS)]

    def prove(self) -> None:
        """Keep those suppositions that are right."""
        self._seen.clear()
        for (block,) in self._catalog.execute(sql.NAMED_GUESSES).fetchall():
            self._prove_in_contents(block)
            self._prove_in_directories(block)
        self._catalog.execute(sql.NAMED_FORGET)

    def _put(self, block: int, digest: bytes, *, proved: int) -> None:
        row = {"block": block, "digest": digest, "proved": proved}
        self._catalog.execute(sql.NAMED_PUT, row)

    def of(self, block: int) -> bytes | None:
        """What a block without a digest was; between `suppose` and `prove` also what it may have been."""
        found = self._catalog.value(sql.NAMED_GET, {"block": block})
        return None if found is None else bytes(found)

    def _digest(self, block: int) -> bytes | None:
        """What a block is, or may be."""
        known = self._catalog.value(sql.BLOCK_DIGEST, {"block": block})
        return bytes(known) if known is not None else self.of(block)

    def _see_proved(self, blocks: Sequence[int]) -> None:
        self._catalog.executemany(sql.NAMED_PROVE, [{"block": block} for block in blocks])

    # --- contents of several blocks ---------------------------------------------------------------

    def _prove_in_contents(self, block: int) -> None:
        for (content,) in self._catalog.execute(sql.TOUCHED_CONTENTS, {"block": block}).fetchall():
            row = self._catalog.one(sql.CONTENT_GET, {"content": content})
            extents = None if row is None else self._extents(row[2])
            if extents is not None and content_digest([one for one, _ in extents]) == row[0]:
                self._see_proved([used for _, used in extents if used])

    def _extents(self, packed: bytes) -> list[tuple[DigestedExtent, int]] | None:
        found: list[tuple[DigestedExtent, int]] = []
        for kind, length, block in each_extent(packed):
            digest = self._digest(block) if kind == _BLOCK else b""
            if digest is None:
                return None
            found.append(((kind, length, digest), block))
        return found

    # --- files that are one block -----------------------------------------------------------------

    def _prove_in_directories(self, block: int) -> None:
        for (inode,) in self._catalog.execute(sql.TOUCHED_INODES, {"content": block}).fetchall():
            for parent, _ in self._catalog.execute(sql.NAMES_EVER, {"inode": inode}).fetchall():
                if -parent not in self._seen:
                    self._seen.add(-parent)
                    self._prove_in_directory(parent)

    def _prove_in_directory(self, directory: int) -> None:
        key = {"inode": directory}
        for at, _, kind in self._catalog.execute(sql.INODE_STATES, key).fetchall():
            if kind != Kind.DIR:
                continue
            statement = sql.TREE_DIGEST_HEAD if at is None else sql.TREE_DIGEST_DIFF
            stored = self._catalog.value(statement, key if at is None else {**key, "at": at})
            supposed: list[int] = []
            if tree_digest(self._children(directory, at, supposed)) == stored:
                self._see_proved(supposed)

    def _children(
        self, directory: int, at: int | None, supposed: list[int]
    ) -> Iterator[
        tuple[bytes, int, int, int, int, int, bytes, int, int, int, int, bytes, bytes, int]
    ]:
        """What the digest covers, with names for what has none; their blocks go into ``supposed``."""
        for entry, digest in guarded_children(self._catalog, directory, at):
            if not digest and entry.content:
                digest = self.of(entry.content) or b""
                supposed.append(entry.content)
            yield (
                entry.name, entry.kind, entry.mode, entry.uid, entry.gid, entry.flags, entry.xattr,
                entry.size, entry.mtime_s, entry.mtime_nsec, entry.rdev, entry.target, digest,
                int(entry.state == 1),
            )  # fmt: skip
