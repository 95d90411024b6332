"""The directories on this machine, for what the repository has lost.

Every place where a file that needs it ever was is looked at, whatever is there now: the file may have changed
since and have the bytes all the same. It is read as any file that is captured, component by component and
never through a symlink.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Self

from snapfs.capture.held import NullSink, Sink
from snapfs.capture.reader import BatchRead, FileReader, Outcome
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.catalog.losing import find_lost
from snapfs.catalog.spill import Spill, SpilledMap
from snapfs.fs.handles import NO_DIRECTORY, open_below, open_top
from snapfs.model.extents import Extent, ExtentKind, each_extent, unpack_digest_extents
from snapfs.model.quote import quote
from snapfs.model.snapshot import Root
from snapfs.model.toread import to_read
from snapfs.progress import Problem, Progress
from snapfs.repair.names import Names
from snapfs.repair.salvage import Store, any_wanted, is_wanted, see_found, wanted
from snapfs.repository.opened import Repository
from snapfs.tree.history import Places, chains

UNREAD = "may have what is lost, and cannot be read"
_BLOCK = int(ExtentKind.BLOCK)

KnownBlocks = Callable[[Sequence[bytes]], set[bytes]]


class Directories:
    """The directories of the roots that are here, and where inodes were in them; a context manager."""

    def __init__(
        self,
        catalog: Catalog,
        host: str,
        sink: Sink,
        known: KnownBlocks | None,
        progress: Progress,
    ) -> None:
        """``sink`` gets the blocks of the files that are read, but for those that are ``known``."""
        self._progress = progress
        self._chains = chains(catalog)
        self._places = Places(catalog, self._chains)
        self._held = ExitStack()
        self._open: dict[int, tuple[int, FileReader]] = {}
        for id_, chain in self._chains.items():
            fd = self._open_root(chain.root.root, host)
            if fd >= 0:
                self._held.callback(os.close, fd)
                reader = FileReader(fd, sink, known, lambda size: progress.advance(read_bytes=size))
                self._open[id_] = fd, reader

    def files(self, inode: int) -> Iterator[tuple[int, bytes, os.stat_result]]:
        """The files that are where an inode was: root, path, and what it looks like."""
        chain = self._places.chain(inode)
        if chain is None or chain.root.root.id not in self._open:
            return
        fd, _ = self._open[chain.root.root.id]
        for path in sorted({place.path for place in self._places.of(chain, inode)}):
            directory, _, name = path.rpartition(b"/")
            try:
                above = open_below(fd, directory.split(b"/") if directory else ())
                try:
                    st = os.stat(name, dir_fd=above, follow_symlinks=False)
                finally:
                    os.close(above)
            except OSError as error:
                if error.errno not in NO_DIRECTORY:
                    self._progress.problem(Problem(path, error.errno or 0, UNREAD))
                continue
            if stat.S_ISREG(st.st_mode):
                yield chain.root.root.id, path, st

    def read(self, root_id: int, path: bytes, st: os.stat_result) -> BatchRead:
        """Read a file that `files` gave; that it cannot be read is told."""
        directory, _, name = path.rpartition(b"/")
        answer = self._open[root_id][1].read([to_read(directory, name, st)])
        for _, one in answer.special:
            if one.outcome == Outcome.FAILED:
                self._progress.problem(Problem(path, one.errno, UNREAD))
        return answer

    def _open_root(self, root: Root, host: str) -> int:
        """The directory of a root, -1 if it is not here."""
        if root.host != host or root.path is None:
            return -1
        try:
            return open_top(root.path)
        except OSError as error:
            name = quote(root.path)
            self._progress.note(f"{name} cannot be looked into: {error.strerror}")
            return -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()


# --- the bytes of blocks that are known -----------------------------------------------------------


def reread(
    repository: Repository, store: Store, host: str, spill: Spill, *, progress: Progress
) -> int:
    """Look for what is wanted in the directories of this host; how many blocks were found."""
    catalog = repository.catalog
    before = wanted(catalog)
    if not before:
        return 0
    progress.phase("reading files again")
    find_lost(catalog)
    seen: SpilledMap[int] = spill.map()

    def unwanted(digests: Sequence[bytes]) -> set[bytes]:
        return {digest for digest in digests if not is_wanted(catalog, digest)}

    taking = _Taking(catalog, store)
    with Directories(catalog, host, taking, unwanted, progress) as directories:
        for (inode,) in catalog.execute(sql.LOST_INODES_EVER).fetchall():
            if not any_wanted(catalog):
                break
            for root_id, path, st in directories.files(inode):
                key = b"%d/%d/%d" % (st.st_dev, st.st_ino, st.st_mtime_ns)
                if key not in seen:
                    seen[key] = 1
                    directories.read(root_id, path, st)
    return before - wanted(catalog)


class _Taking(NullSink):
    """A sink for blocks that are wanted."""

    def __init__(self, catalog: Catalog, store: Store) -> None:
        self._catalog = catalog
        self._store = store

    def add(self, digest: bytes, data: bytes | memoryview, *, large: bool = False) -> bool:
        if not is_wanted(self._catalog, digest):
            return False
        self._store.add(digest, data, large=large)
        see_found(self._catalog, digest)
        return True


# --- what blocks may have been --------------------------------------------------------------------


def suppose_from_files(
    repository: Repository, names: Names, host: str, *, progress: Progress
) -> None:
    """Suppose of blocks without a digest that they are what the files have there now."""
    catalog = repository.catalog
    done: set[int] = set()
    with Directories(catalog, host, NullSink(), None, progress) as directories:
        for block in names.nameless():
            found = catalog.execute(sql.TOUCHED_CONTENTS, {"block": block}).fetchall()
            for content in (block, *(row[0] for row in found)):
                if content not in done:
                    done.add(content)
                    _suppose(catalog, directories, names, content)


def _suppose(catalog: Catalog, directories: Directories, names: Names, content: int) -> None:
    """From the first file in place of one that had this content which is cut in the same way."""
    row = catalog.one(sql.CONTENT_GET, {"content": content})
    if row is None:
        length = catalog.value(sql.BLOCK_LENGTH, {"block": content})
        before = [Extent(_BLOCK, length, content)]
    else:
        before = list(each_extent(row[2]))
    size = sum(extent.length for extent in before)
    for (inode,) in catalog.execute(sql.TOUCHED_INODES, {"content": content}).fetchall():
        for root_id, path, st in directories.files(inode):
            if st.st_size != size:
                continue
            now = _extents(directories.read(root_id, path, st))
            if [one[:2] for one in now] == [one[:2] for one in before]:
                for extent, (_, _, digest) in zip(before, now, strict=True):
                    if extent.kind == _BLOCK:
                        names.suppose(extent.block, digest)
                return


def _extents(read: BatchRead) -> list[tuple[int, int, bytes]]:
    """How the one file that was read is cut, nothing if it could not be read."""
    for digest, _ in read.plain:
        return [] if digest is None else [(_BLOCK, read.read_bytes, digest)]
    for _, file in read.special:
        if file.extents is not None:
            return unpack_digest_extents(file.extents)
        return [] if file.digest is None else [(_BLOCK, file.size, file.digest)]
    return []
