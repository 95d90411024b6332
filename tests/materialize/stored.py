"""A live tree read into memory and packs: what a snapshot gives a restore, without a catalog.

Bytes are cut in a simple way of its own; names, attributes and hard-link groups are as capture reads them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from snapfs.blocks.digest import block_digest
from snapfs.blocks.store import BlockSink
from snapfs.fs.dirstack import DirStack
from snapfs.fs.handles import open_file, open_top, proc_child
from snapfs.fs.holes import data_ranges
from snapfs.fs.inodeflags import get_flags
from snapfs.fs.xattrs import read_xattrs
from snapfs.materialize.places import Place
from snapfs.materialize.wanted import Part, Same, Source, WantedDir
from snapfs.model.entry import Entry
from snapfs.model.extents import ExtentKind
from snapfs.model.kinds import KIND_OF_FORMAT, Kind, State
from snapfs.storage import FileBackend

WHOLE = 256 * 1024
PIECE = 64 * 1024


@dataclass
class StoredTree:
    """``dirs`` by path from the root, in depth-first order: the directory and its children."""

    repository: Path
    dirs: dict[bytes, tuple[Entry, list[Entry]]] = field(default_factory=dict)
    extents: dict[int, list[tuple[int, int, bytes]]] = field(default_factory=dict)
    where: dict[bytes, tuple[str, int, int, int]] = field(default_factory=dict)
    linked: set[int] = field(default_factory=set)

    def locate(self, contents: Sequence[int]) -> Mapping[int, Iterable[Place]]:
        """As the catalog does; what is not in ``where`` is lost."""
        found: dict[int, Iterable[Place]] = {}
        for content in contents:
            places: list[Place] = []
            for kind, length, digest in self.extents[content]:
                if kind == ExtentKind.BLOCK:
                    pack, segment, stored, offset = self.where.get(digest, ("", 0, 0, 0))
                    places.append((kind, length, digest, pack, segment, stored, offset))
                else:
                    places.append((kind, length, b"", "", 0, 0, 0))
            found[content] = places
        return found

    @property
    def source(self) -> Source:
        return Source(os.fsencode(self.repository), self.locate, frozenset(self.linked))

    def wanted(self) -> Iterator[WantedDir]:
        """All of it."""
        for path, (entry, children) in self.dirs.items():
            depth = path.count(b"/") + 1 if path else 0
            yield WantedDir(depth, entry, iter(children))

    def selected(self, *paths: bytes) -> Iterator[WantedDir]:
        """The entries at ``paths`` with all below them, and the way there."""
        for path, (entry, children) in self.dirs.items():
            depth = path.count(b"/") + 1 if path else 0
            if any(path == p or path.startswith(p + b"/") for p in paths):
                yield WantedDir(depth, entry, iter(children))
                continue
            base = path + b"/" if path else b""
            below = [
                child
                for child in children
                if any((base + child.name + b"/").startswith(p + b"/") for p in paths)
                or any(p.startswith(base + child.name + b"/") for p in paths)
            ]
            if below:
                yield WantedDir(depth, entry, iter(below), Part.WAY)

    def entry(self, path: bytes) -> Entry:
        """One entry."""
        if path in self.dirs:
            return self.dirs[path][0]
        parent, _, name = path.rpartition(b"/")
        return next(child for child in self.dirs[parent][1] if child.name == name)


class _Reader:
    def __init__(self, stored: StoredTree, sink: BlockSink) -> None:
        self.stored = stored
        self.sink = sink
        self.contents: dict[tuple[tuple[int, int, bytes], ...], int] = {}
        self.inodes: dict[tuple[int, int], int] = {}
        self.count = 0

    def entry(self, dir_fd: int, name: bytes, found: os.stat_result) -> Entry:
        kind = KIND_OF_FORMAT[stat.S_IFMT(found.st_mode)]
        self.count += 1
        inode = self.count
        if kind != Kind.DIR and found.st_nlink > 1:
            key = (found.st_dev, found.st_ino)
            inode = self.inodes.setdefault(key, inode)
            if inode != self.count:
                self.stored.linked.add(inode)
        content = flags = 0
        target = b""
        if kind == Kind.SYMLINK:
            target = os.readlink(name, dir_fd=dir_fd)
        if kind in (Kind.FILE, Kind.DIR):
            fd = open_file(name, dir_fd)
            try:
                flags = get_flags(fd)
                if kind == Kind.FILE:
                    content = self.content(fd, found.st_size)
            finally:
                os.close(fd)
        return Entry(
            name=name,
            inode=inode,
            kind=kind,
            mode=stat.S_IMODE(found.st_mode),
            uid=found.st_uid,
            gid=found.st_gid,
            flags=flags,
            xattr=read_xattrs(proc_child(dir_fd, name)),
            size=found.st_size if kind == Kind.FILE else 0,
            mtime_s=found.st_mtime_ns // 10**9,
            mtime_nsec=found.st_mtime_ns % 10**9,
            rdev=found.st_rdev,
            target=target,
            content=content,
            state=State.OK,
            tree_digest=None,
            ctime_s=0,
            ctime_nsec=0,
            dev=found.st_dev,
            ino=found.st_ino,
            nlink=found.st_nlink,
            fingerprint=None,
        )

    def content(self, fd: int, size: int) -> int:
        if size == 0:
            return 0
        extents: list[tuple[int, int, bytes]] = []
        step = size if size <= WHOLE else PIECE
        for is_data, start, length in data_ranges(fd, size):
            if not is_data:
                extents.append((ExtentKind.HOLE, length, b""))
                continue
            for at in range(start, start + length, step):
                block = os.pread(fd, min(step, start + length - at), at)
                if block.count(0) == len(block):
                    extents.append((ExtentKind.ZERO, len(block), b""))
                else:
                    digest = block_digest(block)
                    self.sink.add(digest, block, large=size > WHOLE)
                    extents.append((ExtentKind.BLOCK, len(block), digest))
        number = self.contents.setdefault(tuple(extents), len(self.contents) + 1)
        self.stored.extents[number] = extents
        return number


def store(root: Path | bytes, repository: Path) -> StoredTree:
    """Read the tree at ``root`` and write its bytes to packs in ``repository``."""
    repository.mkdir(parents=True, exist_ok=True)
    stored = StoredTree(repository)
    with FileBackend(repository) as backend, BlockSink(backend, b"t" * 16, "test") as sink:
        reader = _Reader(stored, sink)
        top_fd = open_top(os.fsencode(root))
        top = reader.entry(top_fd, b".", os.fstat(top_fd))
        with DirStack(top_fd) as stack:
            todo = [[top._replace(name=b"")]]
            first = True
            while todo:
                if not todo[-1]:
                    todo.pop()
                    if len(todo) > 1:
                        stack.pop()
                    continue
                here = todo[-1].pop(0)
                if not first:
                    stack.push(here.name)
                first = False
                children = []
                for name in sorted(map(os.fsencode, os.listdir(stack.fd))):
                    found = os.stat(name, dir_fd=stack.fd, follow_symlinks=False)
                    children.append(reader.entry(stack.fd, name, found))
                stored.dirs[stack.path()] = (here, children)
                todo.append([child for child in children if child.kind == Kind.DIR])
        for pack in sink.flush():
            for index in pack.segments:
                place = index.place
                for digest, offset, _ in index.blocks():
                    stored.where[digest] = (pack.name, place.offset, place.stored, offset)
    return stored


def is_same(stored: StoredTree, entry: Entry, live: os.stat_result, dir_fd: int) -> Same:
    """Whether a live file has the bytes of the entry; nothing is known of its attributes."""
    if live.st_size != entry.size:
        return Same.NO
    fd = open_file(entry.name, dir_fd)
    try:
        at = 0
        for kind, length, digest in stored.extents[entry.content] if entry.content else ():
            block = os.pread(fd, length, at)
            at += length
            if kind == ExtentKind.BLOCK:
                if block_digest(block) != digest:
                    return Same.NO
            elif block.count(0) != len(block):
                return Same.NO
    finally:
        os.close(fd)
    return Same.BYTES
