"""Making a stage the next snapshot of its root: a few statements, whatever the size.

Runs inside one `Catalog.write`. What it did is told to the journal by `record_blocks`, in rows that
hold the ids given here, so that `replay` needs no resolving and gives the same catalog.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from snapfs.catalog import compiled as sql
from snapfs.catalog.database import COUNTERS, Catalog
from snapfs.catalog.fold import leave_pending
from snapfs.catalog.rows import SnapshotRow
from snapfs.catalog.stagerows import FILE_TYPES
from snapfs.errors import DamageError, RepositoryError
from snapfs.model.extents import (
    Extent,
    ExtentKind,
    pack_extents,
    unpack_digest_extents,
    unpack_extents,
)
from snapfs.model.kinds import Kind

RowBlock = tuple[str, str, Iterable[list[tuple[Any, ...]] | bytes]]
"""Name, types of the columns, and batches of rows or of rows encoded already."""
_BATCH = 16 * 1024
_BLOCK_SLICE = 256 * 1024
_INDEX_IN_MEMORY = 1_200_000
"""Blocks; inserting a million took 3.1 s so, 5.4 s in order of digest; a third million 8.5 and 6.8 s,
5.5 s in slices."""

ATTR_TYPES = "qqqqqqbq"
PACK_TYPES = "qsq"
SEGMENT_TYPES = "qqqqqqq"
BLOCK_TYPES = "qq"
CONTENT_TYPES = "qbqb"
STAGE_TYPES = "qnBnqqnnnnnnnnBnnBnnnnnn"
FILE_CONTENT_TYPES = "n"
PROBLEM_TYPES = "qbqs"


@dataclass(frozen=True, slots=True)
class Committed:
    """Ids that a commit gave out."""

    inode_base: int
    block_base: int
    root_inode: int
    all_new: bool
    """whether every staged block is one that the catalog did not have"""
    unused: tuple[int, ...]
    """blocks that were stored and that nothing uses"""


def commit(
    catalog: Catalog,
    root_id: int,
    snapshot: SnapshotRow,
    previous: int | None,
    tags: Sequence[str],
    *,
    wasted: bool,
) -> Committed:
    """Write the stage as snapshot ``snapshot`` after ``previous`` (None: the first of the root).

    ``wasted``: what was read of a file may have been stored and then read anew.

    Raises RepositoryError if ``previous`` is no longer the head.
    """
    _, head = catalog.one(sql.ROOT_INODE, {"root": root_id})
    if head != previous:
        raise RepositoryError("the root got another snapshot meanwhile", hint="run it again")
    rows, packs, segments, blocks, contents = catalog.one(sql.STAGE_MAX)
    inode_base = catalog.take("inode", rows + 1)
    _attributes(catalog)
    block_base, all_new = _blocks(catalog, packs, segments, blocks)
    _contents(catalog, contents)
    root_inode = _apply(catalog, root_id, snapshot, previous, inode_base)
    _announce(catalog, root_id, snapshot, root_inode, tags)
    unused: tuple[int, ...] = ()
    if wasted:
        unused = _unused(catalog, block_base, blocks)
    return Committed(inode_base, block_base, root_inode, all_new, unused)


class Placed(NamedTuple):
    """Staged packs that the catalog knows by now."""

    block_base: int
    all_new: bool
    """whether every staged block is one that the catalog did not have"""
    unused: tuple[int, ...]
    """blocks that were stored and that nothing uses"""


def place(catalog: Catalog) -> Placed:
    """Make staged packs known without a snapshot: blocks that are known lie in them from now on."""
    _, packs, segments, blocks, _ = catalog.one(sql.STAGE_MAX)
    base, all_new = _blocks(catalog, packs, segments, blocks)
    return Placed(base, all_new, _unused(catalog, base, blocks))


def _unused(catalog: Catalog, base: int, blocks: int) -> tuple[int, ...]:
    stored = {"low": base, "high": base + blocks}
    unused = tuple(row[0] for row in catalog.execute(sql.UNUSED_BLOCKS, stored))
    put_unused(catalog, unused)
    return unused


def put_unused(catalog: Catalog, blocks: Sequence[int]) -> None:
    """Have blocks that nothing uses collected."""
    if blocks:
        catalog.executemany(sql.ORPHAN_PUT, [(id_,) for id_ in blocks])
        leave_pending(catalog)


def _attributes(catalog: Catalog) -> None:
    last = catalog.value(sql.STAGE_ATTRS_NEW)
    if not last:
        return
    amount = last + 1
    catalog.execute(sql.COMMIT_XATTR, {"base": catalog.take("xattr", amount)})
    catalog.execute(sql.ATTR_FIND_XATTR)
    catalog.execute(sql.COMMIT_ATTR, {"base": catalog.take("attr", amount)})
    catalog.execute(sql.ATTR_FIND)


def _blocks(catalog: Catalog, packs: int, segments: int, blocks: int) -> tuple[int, bool]:
    """The number before the first block's, and whether all were new."""
    if packs == 0:
        return 0, True
    catalog.execute(sql.COMMIT_PACK_IDS, {"base": catalog.take("pack", packs + 1)})
    catalog.execute(sql.COMMIT_PACK)
    catalog.execute(sql.COMMIT_PACK_ADOPTED)
    catalog.execute(sql.COMMIT_SEGMENT_IDS, {"base": catalog.take("segment", segments + 1)})
    catalog.execute(sql.COMMIT_SEGMENT)
    base = catalog.take("content", blocks + 1)
    # While the index of digests fits into memory, rows are added at the table's end. Beyond that
    # slices in order of digest touch each of the index's pages once a slice.
    large = catalog.value(sql.BLOCK_LAST) + blocks > _INDEX_IN_MEMORY
    put = sql.COMMIT_BLOCK_BY_DIGEST if large else sql.COMMIT_BLOCK
    added = 0
    for low in range(0, blocks + 1, _BLOCK_SLICE):
        slice_ = {"base": base, "low": low, "high": low + _BLOCK_SLICE}
        added += catalog.execute(put, slice_).rowcount
    if added < blocks and catalog.execute(sql.COMMIT_BLOCK_MOVED, {"base": base}).rowcount:
        leave_pending(catalog)  # a pack may have none left
    return base, added == blocks


def _contents(catalog: Catalog, amount: int) -> None:
    """Contents of several extents get the numbers of the blocks that won."""
    if amount == 0:
        return
    id_ = catalog.take("content", amount)
    for digest, size, packed in catalog.execute(sql.NEW_CONTENTS).fetchall():
        extents = [
            Extent(kind, length, _block(catalog, name) if kind == ExtentKind.BLOCK else 0)
            for kind, length, name in unpack_digest_extents(packed)
        ]
        put_content(catalog, id_, digest, size, extents)
        id_ += 1


def _block(catalog: Catalog, digest: bytes) -> int:
    found = catalog.value(sql.BLOCK_BY_DIGEST, {"digest": digest})
    if found is None:
        raise RepositoryError(f"block {digest.hex()} was to be stored and is not there")
    return int(found)


def put_content(
    catalog: Catalog, id_: int, digest: bytes, size: int, extents: Sequence[Extent]
) -> None:
    """Insert a content of several extents and which blocks it uses."""
    catalog.execute(sql.PUT_NEW_CONTENT, (id_, digest, size, pack_extents(extents)))
    put_users(catalog, id_, extents)


def put_users(catalog: Catalog, id_: int, extents: Iterable[Extent]) -> None:
    """Say which blocks a content uses: each once, in the order in which the file comes to them."""
    used = dict.fromkeys(extent.block for extent in extents if extent.kind == ExtentKind.BLOCK)
    catalog.executemany(
        sql.PUT_NEW_CONTENT_BLOCK, [(id_, seq, block) for seq, block in enumerate(used)]
    )


def _apply(
    catalog: Catalog, root_id: int, snapshot: SnapshotRow, previous: int | None, base: int
) -> int:
    """Old values into diff rows, new ones into the current state; the root's inode."""
    if previous is not None:
        catalog.execute(sql.COMMIT_INODE_DIFF, {"previous": previous})
        catalog.execute(sql.COMMIT_DIRENT_DIFF, {"previous": previous, "base": base})
        catalog.execute(sql.COMMIT_DELETE_DIRENT)
        catalog.execute(sql.COMMIT_DELETE_INODE)
    catalog.execute(sql.COMMIT_INODE, {"base": base, "root": root_id, "snapshot": snapshot.id})
    catalog.execute(sql.COMMIT_DIRENT, {"base": base})
    catalog.execute(sql.COMMIT_PROBLEM, {"snapshot": snapshot.id})
    known, _ = catalog.one(sql.ROOT_INODE, {"root": root_id})
    if known is not None:
        return int(known)
    return int(catalog.value(sql.STAGE_ROOT_INODE, {"base": base}))


def _announce(
    catalog: Catalog, root_id: int, snapshot: SnapshotRow, root_inode: int, tags: Sequence[str]
) -> None:
    catalog.execute(sql.PUT_SNAPSHOT, snapshot.values())
    catalog.executemany(sql.TAG_PUT, [(snapshot.id, tag) for tag in tags])
    catalog.execute(sql.ROOT_SET_HEAD, {"root": root_id, "head": snapshot.id, "inode": root_inode})


# --- journal ------------------------------------------------------------------------------------


def record_blocks(catalog: Catalog, done: Committed) -> Iterator[RowBlock]:
    """What the commit changed, in the rows of a journal record."""
    yield "attr", ATTR_TYPES, _batches(catalog, sql.STAGE_NEW_ATTRS)
    yield from placed_blocks(catalog, done)
    yield "content", CONTENT_TYPES, _batches(catalog, sql.STAGE_NEW_CONTENTS)
    yield from _files(catalog, done.inode_base)
    yield "stage", STAGE_TYPES, _batches(catalog, sql.STAGE_FINAL, {"base": done.inode_base})
    yield "problem", PROBLEM_TYPES, _batches(catalog, sql.STAGE_PROBLEMS)


def placed_blocks(catalog: Catalog, done: Committed | Placed) -> Iterator[RowBlock]:
    """The staged packs and what is in them, in the rows of a journal record."""
    yield "pack", PACK_TYPES, _batches(catalog, sql.STAGE_NEW_PACKS)
    catalog.execute(next(text for text in sql.CREATE_STAGE_INDEX if "stage_block" in text))
    yield "segment", SEGMENT_TYPES, _batches(catalog, sql.STAGE_NEW_SEGMENTS)
    base = {"base": done.block_base}
    blocks = sql.STAGE_ALL_BLOCKS if done.all_new else sql.STAGE_NEW_BLOCKS
    yield "block", BLOCK_TYPES, _batches(catalog, blocks, base)


def _files(catalog: Catalog, base: int) -> Iterator[RowBlock]:
    """Files that were encoded when they were read, and what only the commit could tell of them."""
    for low, high, rows in catalog.execute(sql.STAGE_ENCODED_FILES):
        where = {"base": base, "low": low, "high": high}
        yield "file", FILE_TYPES, [rows]
        contents = catalog.execute(sql.STAGE_ENCODED_CONTENTS, where).fetchall()
        yield "file-content", FILE_CONTENT_TYPES, [contents]


def _batches(
    catalog: Catalog, statement: str, params: Mapping[str, Any] | None = None
) -> Iterator[list[tuple[Any, ...]]]:
    cursor = catalog.execute(statement, dict(params or {}))
    while rows := cursor.fetchmany(_BATCH):
        yield rows


def counters(catalog: Catalog) -> dict[str, int]:
    """The next id of each kind."""
    return dict(catalog.execute(sql.COUNTERS).fetchall())


def given_again(catalog: Catalog) -> list[str]:
    """What is wrong with the counters: no id may ever be given again."""
    following = counters(catalog)
    return [
        f"counter {name} would give id {highest} again"
        for name, highest in catalog.execute(sql.HIGHEST_IDS).fetchall()
        if following.get(name, 0) <= highest
    ]


def require_counters(catalog: Catalog) -> None:
    """Raises DamageError if an id would be given again."""
    for what in given_again(catalog):
        raise DamageError(
            f"{catalog.name} is damaged: {what}",
            subject=catalog.name,
            hint="run snapfs rebuild-catalog",
        )


def set_counters(catalog: Catalog, values: Mapping[str, int]) -> None:
    """Never give an id again that a record of the journal has given."""
    for name in COUNTERS:
        if name in values:
            catalog.execute(sql.COUNTER_SET, {"counter": name, "value": values[name]})


# --- replay -------------------------------------------------------------------------------------


class SegmentRow(NamedTuple):
    """A segment of a record (``SEGMENT_TYPES``): its place in its pack and how many blocks it has."""

    id: int
    pack_id: int
    offset: int
    stored: int
    raw: int
    checksum: int
    block_count: int


DigestsOf = Callable[[str, SegmentRow], Sequence[bytes] | None]
"""Pack name and segment to the digests of its blocks in order; None if they are lost."""


class Replay:
    """Takes the rows of a create record, piece by piece, and makes them a snapshot again.

    The record names blocks by their place; their digests stand in the packs. A block whose pack is
    gone gets none: that of a deleted snapshot goes with it, any other is found missing.
    """

    def __init__(self, catalog: Catalog, digests_of: DigestsOf, inode_base: int = 0) -> None:
        """``digests_of`` is asked once for each segment that has blocks, in order of the record.

        ``inode_base`` is what makes a number of the stage an inode's id.
        """
        self._catalog = catalog
        self._base = inode_base
        self._final: dict[int, int] = {}
        self._files: list[tuple[Any, ...]] = []
        self._digests_of = digests_of
        self._names: dict[int, str] = {}
        self._attrs: set[int] = set()
        self._segments: deque[SegmentRow] = deque()
        self._digests: Sequence[bytes] | None = None
        self._ordinal = 0
        self._offset = 0
        catalog.stage_tables()

    def take(self, name: str, rows: list[tuple[Any, ...]]) -> None:
        """The next rows of the block ``name``."""
        catalog = self._catalog
        if name == "attr":
            self._attributes(rows)
        elif name == "pack":
            self._names.update((row[0], row[1]) for row in rows)
            catalog.executemany(sql.PUT_NEW_PACK, rows)
        elif name == "segment":
            catalog.executemany(sql.PUT_NEW_SEGMENT, [row[:6] for row in rows])
            self._segments.extend(map(SegmentRow._make, rows))
        elif name == "block":
            self._blocks(rows)
        elif name == "content":
            self._contents(rows)
        elif name == "file":
            self._files = rows
        elif name == "file-content":
            self._put_files(rows)
        elif name == "stage":
            catalog.executemany(sql.STAGE_REPLAY, rows)
        elif name == "problem":
            catalog.executemany(sql.STAGE_PUT_PROBLEM, rows)

    def _attributes(self, rows: list[tuple[Any, ...]]) -> None:
        catalog = self._catalog
        catalog.executemany(
            sql.PUT_NEW_XATTR, {row[5]: (row[5], row[6]) for row in rows if row[5]}.values()
        )
        catalog.executemany(sql.PUT_NEW_ATTR, [row[:6] for row in rows])
        new = {row[0]: (row[0], *row[1:5], row[6], row[5], row[0]) for row in rows}
        catalog.executemany(
            sql.STAGE_PUT_ATTR, [row for id_, row in new.items() if id_ not in self._attrs]
        )
        self._attrs.update(new)
        self._final.update((row[7], row[0]) for row in rows)

    def _put_files(self, contents: list[tuple[Any, ...]]) -> None:
        base, final = self._base, self._final
        self._catalog.executemany(
            sql.STAGE_REPLAY,
            [
                (
                    seq, base - parent, name, base + seq, 1, 1, None, None, Kind.FILE, final[attr],
                    size, mtime_s, mtime_nsec, 0, None, content, state, None, ctime_s, ctime_nsec,
                    dev, ino, 1, None,
                )
                for (
                    seq, parent, name, attr, size, mtime_s, mtime_nsec, state, ctime_s, ctime_nsec,
                    dev, ino,
                ), (content,) in zip(self._files, contents, strict=True)
            ],
        )  # fmt: skip

    def _blocks(self, rows: list[tuple[Any, ...]]) -> None:
        new: list[tuple[Any, ...]] = []
        for id_, length in rows:
            if self._ordinal == 0:
                segment = self._segments[0]
                self._digests = self._digests_of(self._names[segment.pack_id], segment)
            if id_:
                digest = None if self._digests is None else self._digests[self._ordinal]
                new.append((id_, digest, self._segments[0].id, self._offset, length))
            self._offset += length
            self._ordinal += 1
            if self._ordinal == self._segments[0].block_count:
                self._segments.popleft()
                self._ordinal = self._offset = 0
        self._catalog.executemany(sql.PUT_PLACED_BLOCK, new)

    def _contents(self, rows: list[tuple[Any, ...]]) -> None:
        for id_, digest, size, extents in rows:
            self._catalog.execute(sql.PUT_NEW_CONTENT, (id_, digest, size, extents))
            put_users(self._catalog, id_, unpack_extents(extents))

    def finish(
        self, root_id: int, snapshot: SnapshotRow, previous: int | None, tags: Sequence[str]
    ) -> None:
        """All rows are there: make the snapshot."""
        root_inode = _apply(self._catalog, root_id, snapshot, previous, 0)
        _announce(self._catalog, root_id, snapshot, root_inode, tags)
