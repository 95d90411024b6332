"""The stage: one set of changes to the head of a root, in temporary tables of one connection.

A scan fills it (`put_rows`, `put_lost`), `settle` finds out which inode each observed name is,
`compare` which rows are real changes; then it is either committed as the next snapshot
(`catalog.commit`) or read as an overlay over the head and dropped. Ids that are not the catalog's are
negative: ``-seq`` of the row that brings the inode.

``stage.nodes``: 0 nothing of the inode changes, 1 a change (its old value goes into a diff row),
2 bookkeeping only, 3 the inode is gone. ``stage.names`` 1: the directory entry changes.
``stage.need``: 1 bytes and attributes are to be read, 2 they were, 3 the file vanished before, 4 it was
read before it was staged and the journal's row of it is made, 5 it was read, but is not the one of the scan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from snapfs.catalog import compiled as sql
from snapfs.catalog.attrnumbers import Attributes, AttrNumbers
from snapfs.catalog.database import Catalog
from snapfs.catalog.staged_children import TreeRow, completed
from snapfs.catalog.stagerows import DirRow, Lost, ReadResult
from snapfs.model.toread import ToRead

_PATH_BYTES = 16 * 1024 * 1024
"""Of directories of files to be read that are asked for at once."""
KEPT_ATTR = 1 << 40
"""Local attribute ids from here on are the catalog's own, plus this."""


class Counts(NamedTuple):
    """Sums over the stage (``COUNT_STAGE``)."""

    files_in: int
    dirs_in: int
    all_in: int
    files_out: int
    dirs_out: int
    all_out: int
    bytes_in: int
    added: int
    removed: int
    modified: int
    changes: int
    last_seq: int


class Stage:
    """The stage of one connection; making it empties the tables."""

    def __init__(self, catalog: Catalog, *, first: bool) -> None:
        """``first``: the root has no state yet, so that no identity can be anybody else's."""
        self.catalog = catalog
        self.first = first
        self.clear()

    def clear(self) -> None:
        """Forget all that was staged."""
        self._attrs = AttrNumbers(partial(self.reserve_attrs, 1))
        self._plain: dict[int, tuple[int, int, int]] = {}
        self._next_attr = 1
        self._problems = 0
        self._unsure = False
        self._bereft = False
        self._has_links: bool | None = None
        self.catalog.stage_tables()

    # --- numbers -------------------------------------------------------------------------------

    def reserve_attrs(self, amount: int) -> int:
        """Local ids of attributes for somebody else, so many from the one returned on."""
        first = self._next_attr
        self._next_attr += amount
        return first

    def put_attrs(self, rows: Iterable[tuple[int, Attributes]]) -> None:
        """Attributes by ids that were reserved."""
        self._attrs.add(rows)

    # --- filling -------------------------------------------------------------------------------

    def attr(self, mode: int, uid: int, gid: int, flags: int, xattr: bytes) -> int:
        """The local id of a set of attributes."""
        return self._attrs.number((mode, uid, gid, flags, xattr))

    def plain_attr(self, local: int) -> tuple[int, int, int]:
        """(mode, uid, gid) of a local id."""
        found = self._plain.get(local)
        if found is None:
            with self.catalog.scratch():
                self._put_attrs()
            row = self.catalog.one(sql.STAGE_ATTR, {"attr": local})
            found = self._plain[local] = (row[0], row[1], row[2])
        return found

    def put_pack(
        self,
        name: str,
        size: int,
        segments: Iterable[tuple[int, int, int, int, Iterable[tuple[bytes, int, int]]]],
        pack: int,
        segment: int,
        block: int,
    ) -> tuple[int, int]:
        """Add a finished pack.

        ``segments`` are (offset, stored, raw, checksum, blocks), blocks (digest, offset, length).
        ``pack`` is its local number; ``segment`` and ``block`` are the last numbers given, the ones
        returned the last given now.
        """
        with self.catalog.scratch() as db:
            db.execute(sql.STAGE_PUT_PACK, (pack, name, size, None))
            for offset, stored, raw, checksum, blocks in segments:
                segment += 1
                row = (segment, pack, offset, stored, raw, checksum, None)
                db.execute(sql.STAGE_PUT_SEGMENT, row)
                rows = [
                    (number, digest, segment, at, length)
                    for number, (digest, at, length) in enumerate(blocks, block + 1)
                ]
                block += len(rows)
                db.executemany(sql.STAGE_PUT_BLOCK, rows)
        return segment, block

    def put_rows(self, rows: list[tuple[Any, ...]]) -> None:
        """Add observed names (`ScanRow`)."""
        with self.catalog.scratch() as db:
            self._put_attrs()
            db.executemany(sql.STAGE_SCAN, rows)

    def _index(self, name: str) -> None:
        """Make one of the stage's indexes, where not all are made."""
        self.catalog.execute(next(text for text in sql.CREATE_STAGE_INDEX if name in text))

    def _put_attrs(self) -> None:
        new = self._attrs.take_new()
        if new:
            rows = [(number, *key, None, None) for number, key in new]
            self.catalog.executemany(sql.STAGE_PUT_ATTR, rows)

    def put_files(self, rows: list[tuple[Any, ...]]) -> None:
        """Add files that are new under their names, all to be read (``STAGE_FILE``)."""
        with self.catalog.scratch() as db:
            self._put_attrs()
            db.executemany(sql.STAGE_FILE, rows)

    def put_read_files(self, rows: list[tuple[Any, ...]], encoded: bytes) -> None:
        """Add files that have been read and are as they were seen, in order (``STAGE_FILE_READ``).

        ``encoded`` are the same as the journal has them: rows of ``FILE_TYPES``.
        """
        with self.catalog.scratch() as db:
            self._put_attrs()
            db.executemany(sql.STAGE_FILE_READ, rows)
            db.execute(sql.STAGE_PUT_FILE, (rows[0][0], rows[-1][0], encoded))

    def put_paths(self, rows: list[tuple[int, bytes]]) -> None:
        """Paths from the root of directories that hold files to read: ``(key, path)``."""
        with self.catalog.scratch() as db:
            db.executemany(sql.STAGE_PUT_SCAN_PATH, rows)

    def put_lost(self, rows: Iterable[Lost]) -> None:
        with self.catalog.scratch() as db:
            db.executemany(sql.STAGE_PUT_LOST, rows)

    def put_problem(self, path: bytes, errno: int, what: str) -> None:
        self._problems += 1
        self.catalog.execute(sql.STAGE_PUT_PROBLEM, (self._problems, path, errno, what))

    @property
    def problems(self) -> int:
        """How many entries could not be captured whole."""
        return self._problems

    def put_unsound(self, seqs: Sequence[int]) -> None:
        """These directories are not as their fingerprints tell."""
        with self.catalog.scratch() as db:
            db.executemany(sql.STAGE_SET_UNSOUND, [(seq,) for seq in seqs])

    def put_unread(self, seqs: Sequence[int]) -> None:
        """Not everything in these directories was seen."""
        with self.catalog.scratch() as db:
            db.executemany(sql.STAGE_SET_UNREAD, [(seq,) for seq in seqs])

    def put_digests(self, rows: list[tuple[bytes | None, int]]) -> None:
        """Digests of contents by row: ``(digest, seq)``; None for an empty file."""
        with self.catalog.scratch() as db:
            db.executemany(sql.STAGE_SET_READ, rows)

    def put_results(self, rows: list[ReadResult]) -> None:
        self._unsure = self._unsure or any(row.state for row in rows)
        with self.catalog.scratch() as db:
            self._put_attrs()
            db.executemany(sql.STAGE_SET_READ_ALL, rows)

    def put_contents(self, rows: Iterable[tuple[bytes, int, bytes]]) -> None:
        """Contents of several extents: ``(digest, size, extents packed with digests)``."""
        with self.catalog.scratch() as db:
            db.executemany(sql.STAGE_PUT_CONTENT, rows)

    def put_replaced(self, seqs: list[int]) -> None:
        """These names of files with several were another file when they were read."""
        self._bereft = True
        with self.catalog.scratch() as db:
            db.executemany(sql.STAGE_SET_REPLACED, [(seq,) for seq in seqs])

    def heirs(self) -> bool:
        """Have files whose first name was gone or replaced read through another of their names; whether
        there are any (`to_read` gives them).
        """
        if not self._bereft:
            return False
        self._bereft = False
        with self.catalog.scratch() as db:
            self._index("stage_by_inode")
            found = db.execute(sql.LINK_HEIRS).fetchall()
            for seq, inode, heir in found:
                db.execute(sql.LINK_INHERIT, {"row": heir})
                if inode < 0:
                    db.execute(sql.LINK_FOLLOW, {"old": inode, "new": -heir})
                db.execute(sql.LINK_GONE, {"row": seq})
                db.execute(sql.LINK_APART, {"row": seq})
            db.execute(sql.LINK_ALONE)
        return bool(found)

    def finish_reading(self) -> None:
        """Take out what vanished; directories with a child that is not certain are not either."""
        with self.catalog.scratch() as db:
            db.execute(sql.SPREAD_LINKS if self.first else sql.SPREAD_NAMES)
        if not self._unsure:
            return
        with self.catalog.scratch() as db:
            self._index("stage_by_key")
            db.execute(sql.VANISHED_INODES, {"next": db.value(sql.STAGE_LAST)})
            db.execute(sql.VANISHED_NAMES)
            db.execute(sql.UNSURE_FINGERPRINTS)

    def owners(self) -> list[tuple[str, int]]:
        """(``uid`` or ``gid``, number) of all staged attributes."""
        return [(row[0], row[1]) for row in self.catalog.execute(sql.STAGE_OWNERS)]

    def root_row(self) -> TreeRow | None:
        """The root itself as a child of nothing, if it was staged."""
        seq = self.catalog.value(sql.STAGE_ROOT)
        if seq is None:
            return None
        row = self.catalog.one(sql.STAGE_CHILDREN, {"low": seq, "high": seq})
        return None if row is None else tuple(row)

    def drop_vanished(self, seqs: list[int]) -> None:
        """Forget rows of files that were gone before they could be read."""
        self._unsure = self._bereft = True
        with self.catalog.scratch() as db:
            db.executemany(sql.STAGE_SET_VANISHED, [(seq,) for seq in seqs])

    # --- settling ------------------------------------------------------------------------------

    def settle(self, root_id: int, *, old_dev: int, new_dev: int, read_all: bool) -> None:
        """Give every observed name its inode; `list_gone` must follow.

        ``old_dev`` is the device number of the root in the head, ``new_dev`` the one of today. With
        ``read_all`` no file is spared the reading because its stat fields are equal.
        """
        db = self.catalog
        with db.scratch():
            if self.first:
                self._index("stage_by_group")
                db.execute(sql.SETTLE_FRESH_GROUP)
                db.execute(sql.SETTLE_SECONDARY)
                return
            for text in sql.CREATE_STAGE_INDEX:
                if "stage_block" not in text:
                    db.execute(text)
            db.execute(sql.LOST_CLOSURE, {"old_dev": old_dev, "new_dev": new_dev})
            db.execute(sql.SETTLE_GROUP)
            db.execute(sql.SETTLE_LINKED, {"root": root_id, "old_dev": old_dev, "new_dev": new_dev})
            while True:
                for statement in (
                    sql.SETTLE_SAME,
                    sql.SETTLE_GROUP,
                    sql.SETTLE_LIKE,
                    sql.SETTLE_MOVED,
                    sql.SETTLE_ONCE,
                    sql.SETTLE_GROUP,
                    sql.SETTLE_NAME,
                    sql.SETTLE_GROUP,
                ):
                    db.execute(statement)
                if db.execute(sql.SETTLE_RELINK).rowcount == 0:
                    break
                db.execute(sql.SETTLE_BY_NAME)
            for statement in (
                sql.SETTLE_FRESH_GROUP,
                sql.SETTLE_FRESH,
                sql.SETTLE_SECONDARY,
                sql.SETTLE_SECOND_NAME,
                sql.SETTLE_NAMES,
                *(() if read_all else (sql.SETTLE_UNREAD,)),
                sql.LOST_KEEP_UNREAD,
            ):
                db.execute(statement)

    def other_names(
        self, root_id: int, *, old_dev: int, new_dev: int
    ) -> Iterator[tuple[int, bytes]]:
        """Where only listed paths were looked at, directory and name of others that files have which are
        new under a listed one, or not what they were.
        """
        params = {"root": root_id, "old_dev": old_dev, "new_dev": new_dev}
        return self.catalog.execute(sql.LISTED_OTHER_NAMES, params)

    def doubt_links(self) -> None:
        """Have files looked at again next time of which not every name was looked at."""
        with self.catalog.scratch() as db:
            if db.execute(sql.LISTED_UNSURE_LINKS).rowcount:
                self._unsure = True

    def list_gone(self, next_seq: int) -> None:
        """List what is gone, once everything has its inode; ``next_seq`` is the next row's number."""
        if self.first:
            return
        db = self.catalog
        with db.scratch():
            for known, first in db.execute(sql.LINK_AHEAD).fetchall():
                self._unsure = True
                db.execute(sql.LINK_SPLIT, {"old": known, "new": -first})
            db.execute(sql.LOST_NAMES, {"next": next_seq})
            db.execute(sql.LOST_INODES, {"next": max(next_seq, db.value(sql.STAGE_LAST))})

    def to_read(self, *, after: int, most: int) -> list[ToRead]:
        """Files whose bytes are to be read, by row from ``after`` on; once identities are settled.

        Fewer than ``most`` where their paths are very long, none only if there are no more.
        """
        found: list[ToRead] = []
        room = _PATH_BYTES
        params = {"after": after, "most": most}
        for item in map(ToRead._make, self.catalog.execute(sql.STAGE_TO_READ, params)):
            found.append(item)
            room -= len(item.directory)
            if room < 0:
                break
        return found

    # --- after reading -------------------------------------------------------------------------

    def compare(self) -> None:
        """Tell changes from bookkeeping, once contents, attributes and tree digests are known."""
        if self.first:
            return
        with self.catalog.scratch() as db:
            db.execute(sql.MARK_BOOKKEEPING)

    def resolve(self) -> None:
        """Find what is known already: attributes and contents by value."""
        with self.catalog.scratch() as db:
            self._put_attrs()
            db.execute(sql.ATTR_FIND_XATTR)
            db.execute(sql.ATTR_FIND)
            if not self.first:
                db.execute(sql.ATTR_KEEP, {"kept": KEPT_ATTR})
                db.execute(sql.ATTR_POINT, {"kept": KEPT_ATTR})
                db.execute(sql.RESOLVE_CONTENT)

    def directories(self) -> list[DirRow]:
        """Staged directories without a digest, children before parents."""
        return list(map(DirRow._make, self.catalog.execute(sql.STAGE_DIRS)))

    def children(self, directory: DirRow, made: Mapping[int, bytes]) -> Iterator[TreeRow]:
        """Children of a directory of a first snapshot, by name: rows of ``blocks.treedigest`` + seq.

        ``made`` are tree digests of staged directories, by seq, that are not in the table yet.
        """
        between = {"low": directory.low, "high": directory.high}
        return completed(self.catalog.execute(sql.STAGE_CHILDREN, between), made)

    def head_children(self, directory: DirRow) -> Iterator[TreeRow]:
        """Children of a directory as the head has them, as `children` gives them."""
        return self.catalog.execute(sql.TREE_CHILDREN_HEAD, {"parent": directory.inode})

    def changed_children(
        self, directory: DirRow, made: Mapping[int, bytes]
    ) -> tuple[Iterator[TreeRow], Iterator[TreeRow]]:
        """Children of a directory that stay, and those that are staged: `staged_children.beside` puts
        the second in place of the first.
        """
        parent = {"parent": directory.key}
        staged = completed(self.catalog.execute(sql.STAGE_CHILDREN_MOVED, parent), made)
        if directory.inode <= 0:
            return iter(()), staged
        if self.has_links:
            return self.catalog.execute(sql.STAGE_CHILDREN_KEPT, parent), staged
        return self.head_children(directory), staged

    @property
    def has_links(self) -> bool:
        """Whether a file with several names is staged: it may change in directories that are not."""
        if self._has_links is None:
            self._has_links = self.catalog.value(sql.STAGE_HAS_LINKS) is not None
        return self._has_links

    def put_tree_digests(self, rows: list[tuple[bytes, int | None, int]]) -> None:
        """``(tree digest, fingerprint, seq)`` of directories."""
        with self.catalog.scratch() as db:
            db.executemany(sql.STAGE_SET_DIGEST, rows)

    def counts(self) -> Counts:
        return Counts(*self.catalog.one(sql.COUNT_STAGE))

    def old_bytes(self) -> int:
        """Size of the staged files as the head has them."""
        return int(self.catalog.value(sql.COUNT_OLD_BYTES))
