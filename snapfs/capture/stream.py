"""Taking a snapshot of a stream: bytes that come from a pipe and lie in no directory.

Its root holds one file. The file has no live inode, so it is known by its name alone: the same name is the same
file, another one is that file renamed. Its time is that of the snapshot in which its bytes were last new, so that
a stream which gives the same bytes again has not changed in anything.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

from snapfs.blocks.chunker import WHOLE_MAX, is_zero
from snapfs.blocks.digest import (
    DigestedExtent,
    block_digest,
    canonical_extents,
    content_digest,
)
from snapfs.blocks.treedigest import tree_digest
from snapfs.capture.append import Appended, AppendOptions, Head, append
from snapfs.capture.capture import Captured
from snapfs.capture.cutter import BLOCK, ZERO, Cutter, Fill
from snapfs.capture.digest import TreeDigests
from snapfs.capture.head import known_root
from snapfs.capture.held import KnownBlocks, Sink
from snapfs.capture.packrows import PackRows
from snapfs.capture.seen import DIR, FILE, OK, SECOND, Known, ScanTotals
from snapfs.capture.store import BlockStore
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.catalog.stage import Stage
from snapfs.catalog.stagerows import Lost, ScanRow
from snapfs.catalog.streams import each_child
from snapfs.fs.rules import Rules
from snapfs.model.entry import Entry
from snapfs.model.extents import pack_digest_extents
from snapfs.model.snapshot import Root
from snapfs.progress import Progress
from snapfs.repository.opened import Repository

FILE_MODE = 0o600
ROOT_MODE = 0o700

Source = AbstractContextManager[Fill]
"""Where the bytes come from, entered once a snapshot can be taken. Its end raises if they are not whole."""


@dataclass(frozen=True, slots=True)
class Owned:
    """The one file: its name and whose it is."""

    name: bytes
    uid: int
    gid: int


def take_stream(
    repository: Repository,
    root: Root,
    file: Owned,
    source: Source,
    options: AppendOptions,
    *,
    progress: Progress,
) -> Appended:
    """Take a snapshot of what ``source`` gives.

    Raises what the source raises, and then nothing was recorded; UsageError (the name is taken),
    LockedError, StorageFullError, CatalogBehindError.
    """

    def capture(head: Head, store: BlockStore) -> Captured:
        taking = _Taking(repository.catalog, head, file, store, progress)
        return taking.capture(source, repository.clock.now_ns())

    return append(repository, root, options, capture, Rules(standing=()).to_text, progress=progress)


class _Bytes(NamedTuple):
    """What a stream held: as `reader.FileRead` tells it of a file."""

    digest: bytes | None
    size: int
    extents: bytes | None


class _Taking:
    """A stream on its way into a snapshot."""

    def __init__(
        self, catalog: Catalog, head: Head, file: Owned, store: BlockStore, progress: Progress
    ) -> None:
        self._catalog = catalog
        self._head = head
        self._file = file
        self._store = store
        self._progress = progress
        self._stage = Stage(catalog, first=head.row.inode_id is None)
        self._packs = PackRows(self._stage)

    def capture(self, source: Source, now_ns: int) -> Captured:
        """Store its bytes and fill the stage."""
        stage, root = self._stage, self._head.row
        self._progress.phase("storing")
        read = self._read(source)
        if not read.size:
            self._progress.note("the stream was empty")
        self._progress.phase("comparing")
        self._put(read, now_ns)
        stage.settle(root.root.id, old_dev=0, new_dev=0, read_all=True)
        stage.list_gone(_NEXT)
        stage.finish_reading()
        stage.resolve()
        TreeDigests(stage, root.inode_id).finish()
        stage.compare()
        top = stage.root_row()
        return Captured(
            stage,
            ScanTotals(),
            stage.counts(),
            stage.old_bytes(),
            None if top is None else tree_digest([(b"", *top[1:14])]),
            read.size,
            self._packs.stored_bytes,
            wasted=False,
        )

    def _read(self, source: Source) -> _Bytes:
        sink = self._store.sink(f"root-{self._head.row.root.id}")
        stored = self._store.stored(self._catalog)
        asking = self._catalog.one("SELECT 1 FROM block LIMIT 1") is not None
        try:
            with source as fill:
                read = read_stream(fill, sink, stored.known if asking else None, self._tell)
            self._packs.put(sink.flush())
        except BaseException:
            sink.abandon()
            raise
        finally:
            stored.close()
        return read

    def _tell(self, amount: int) -> None:
        self._progress.advance(read_bytes=amount)

    def _put(self, read: _Bytes, now_ns: int) -> None:
        """Stage what differs from the head."""
        stage, file, root_inode = self._stage, self._file, self._head.row.inode_id
        top = known_root(self._catalog, self._head.row)
        before = [] if root_inode is None else list(each_child(self._catalog, root_inode, None))
        known = next((one for one in before if one.name == file.name and one.kind == FILE), None)
        others = [one for one in before if one is not known]
        old = known or next((one for one in others if one.kind == FILE), None)
        content = self._catalog.value(sql.CONTENT_BY_DIGEST, {"digest": read.digest})
        same_bytes = (
            old is not None
            and old.state == OK
            and (old.size, old.content or None) == (read.size, content)
        )
        if (
            same_bytes
            and not others
            and _is_ours(top, file, ROOT_MODE)
            and _is_ours(known, file, FILE_MODE)
        ):
            return
        same_names = known is not None and not others
        stage.put_lost(
            [Lost(root_inode or 0, one.name, one.inode, one.kind, 0, 0) for one in others]
        )
        parent = -_TOP if root_inode is None else root_inode
        directory = self._row(
            _TOP, DIR, ROOT_MODE, _time_of(top if same_names else None, now_ns),
            inode=-_TOP if stage.first else root_inode, post=0, low=_LEAF, high=_LEAF,
        )  # fmt: skip
        leaf = self._row(
            _LEAF, FILE, FILE_MODE, _time_of(old if same_bytes else None, now_ns),
            above=parent, parent=parent, name=file.name, size=read.size,
            inode=-_LEAF if stage.first else known.inode if known else None,
            names=1 if known is None else 0,
            by_name=None if known is None else known.inode,
            by_kind=None if known is None else known.kind,
        )  # fmt: skip
        stage.put_rows([directory, leaf])
        if read.extents is not None and read.digest is not None:
            stage.put_contents([(read.digest, read.size, read.extents)])
        stage.put_digests([(read.digest, _LEAF)])

    def _row(self, seq: int, kind: int, mode: int, mtime: tuple[int, int], **more: Any) -> ScanRow:
        plain: dict[str, Any] = dict.fromkeys(ScanRow._fields)
        plain.update(dict.fromkeys(("names", "need", "size", "rdev", "dev", "ino"), 0))
        plain.update(ctime_s=0, ctime_nsec=0, nlink=1, nodes=1, state=OK)
        attr = self._stage.attr(mode, self._file.uid, self._file.gid, 0, b"")
        plain.update(seq=seq, kind=kind, attr=attr, mtime_s=mtime[0], mtime_nsec=mtime[1])
        return ScanRow(**{**plain, **more})


_TOP, _LEAF, _NEXT = 1, 2, 3
"""Rows of the stage: the root, the file, and the next one."""


def _is_ours(entry: Known | Entry | None, file: Owned, mode: int) -> bool:
    return entry is not None and (entry.mode, entry.uid, entry.gid) == (mode, file.uid, file.gid)


def _time_of(entry: Known | Entry | None, now_ns: int) -> tuple[int, int]:
    return divmod(now_ns, SECOND) if entry is None else (entry.mtime_s, entry.mtime_nsec)


def read_stream(
    fill: Fill, sink: Sink, known: KnownBlocks | None, tell: Callable[[int], None]
) -> _Bytes:
    """Store all that comes, in blocks as a file of the same bytes would be."""
    start = bytearray(WHOLE_MAX + 1)
    size = _fill_up(fill, memoryview(start))
    if size <= WHOLE_MAX:
        tell(size)
        return _whole(bytes(start[:size]), sink, known)
    left = memoryview(start)

    def refill(view: memoryview) -> int:
        nonlocal left
        if not left:
            return _fill_up(fill, view)
        amount = min(len(view), len(left))
        view[:amount], left = left[:amount], left[amount:]
        return amount

    extents: list[DigestedExtent] = []
    size = Cutter(sink, known, tell).cut(refill, extents)
    extents = canonical_extents(extents)
    one_block = len(extents) == 1 and extents[0][0] == BLOCK
    return _Bytes(
        content_digest(extents), size, None if one_block else pack_digest_extents(extents)
    )


def _whole(data: bytes, sink: Sink, known: KnownBlocks | None) -> _Bytes:
    if not data:
        return _Bytes(None, 0, None)
    if is_zero(data):
        extents = canonical_extents([(ZERO, len(data), b"")])
        return _Bytes(content_digest(extents), len(data), pack_digest_extents(extents))
    digest = block_digest(data)
    if known is None or digest not in known([digest]):
        sink.add(digest, data)
    return _Bytes(digest, len(data), None)


def _fill_up(fill: Fill, view: memoryview) -> int:
    """A pipe gives 64 KiB at a time, and only its end gives none."""
    filled = 0
    while filled < len(view) and (got := fill(view[filled:])):
        filled += got
    return filled
