"""Listing a tree by path: a stored snapshot, or the live directory as it would be captured."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from stat import S_IFMT, S_IMODE

from snapfs.catalog import rows, streams, view
from snapfs.catalog.database import Catalog
from snapfs.errors import NotFoundError
from snapfs.fs.dirstack import DirStack
from snapfs.fs.handles import proc_child, sorted_names
from snapfs.fs.matching import DirRules, RuleMatcher
from snapfs.fs.rules import Rules
from snapfs.fs.xattrs import read_xattrs
from snapfs.model.entry import Entry
from snapfs.model.kinds import KIND_OF_FORMAT, Kind
from snapfs.model.path import join, within
from snapfs.model.quote import quote
from snapfs.model.snapshot import LiveSide, Side, StoredSide
from snapfs.repository.opened import Repository
from snapfs.tree.state import Paths, StoredState, walk

_MOST_LINKED = 20_000
"""Files with several names whose paths are worked out, which takes a second."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One entry with its path."""

    path: bytes
    """path from the root"""
    entry: Entry
    """what is there"""


def stat_path(repository: Repository, side: Side, path: bytes) -> Entry | None:
    """The entry at a path from the root, None if there is none."""
    if isinstance(side, LiveSide):
        return _live_entry(side, path)
    return view.lookup(repository.catalog, *_start(repository.catalog, side, path))


def list_tree(
    repository: Repository, side: Side, path: bytes, *, recursive: bool
) -> Iterator[Listed]:
    """The children of a directory by name (``recursive``: all below, parents first), or the entry
    itself if it is none. Raises NotFoundError for no such path.
    """
    if isinstance(side, LiveSide):
        yield from _list_live(side, path, recursive=recursive)
        return
    catalog = repository.catalog
    with catalog.read():
        _, _, at = start = _start(catalog, side, path)
        top = view.lookup(catalog, *start)
        if top is None:
            raise _missing(path, side.snapshot.name)
        if top.kind != Kind.DIR:
            yield Listed(path, top)
        elif recursive:
            for found, entry in walk(partial(streams.each_child, catalog, at=at), top.inode, path):
                yield Listed(found, entry)
        else:
            for entry in streams.each_child(catalog, top.inode, at):
                yield Listed(join(path, entry.name), entry)


def linked_elsewhere(
    repository: Repository, side: StoredSide, paths: Collection[bytes], most: int
) -> list[bytes] | None:
    """The names outside of ``paths`` of files that also have one there; None if they are more than
    ``most``, or too many to be looked at.
    """
    catalog = repository.catalog
    found: list[bytes] = []
    with catalog.read():
        root_inode, _, at = _start(catalog, side, b"")
        known = Paths(StoredState(catalog, at), root_inode)
        for count, inode in enumerate(streams.linked_inodes(catalog, at)):
            names = [path for _, path in known.of_inode(inode)]
            outside = [name for name in names if not any(within(name, top) for top in paths)]
            if len(outside) < len(names):
                found += outside
            if len(found) > most or count > _MOST_LINKED:
                return None
    return found


def _start(catalog: Catalog, side: StoredSide, path: bytes) -> tuple[int, bytes, int | None]:
    """Root inode, path and snapshot to look at."""
    row = rows.root(catalog, side.root.id)
    if row is None or row.inode_id is None:
        raise NotFoundError(f"root {side.root.label} has no snapshot", subject=side.root.label)
    at = None if row.head_id == side.snapshot.id else side.snapshot.id
    return row.inode_id, path, at


def _missing(path: bytes, where: str) -> NotFoundError:
    name = quote(path)
    return NotFoundError(f"{where} has no {name}", subject=name, hint="snapfs ls shows what it has")


# --- live ---------------------------------------------------------------------------------------


def _live_entry(side: LiveSide, path: bytes) -> Entry | None:
    assert side.root.path is not None
    try:
        fd = os.open(side.root.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    with DirStack(fd) as stack:
        parts = path.split(b"/") if path else []
        try:
            for part in parts[:-1]:
                stack.push(part)
            return _entry(stack.fd, parts[-1] if parts else b".")
        except OSError:
            return None


def _list_live(side: LiveSide, path: bytes, *, recursive: bool) -> Iterator[Listed]:
    assert side.root.path is not None
    entry = _live_entry(side, path)
    if entry is None:
        raise _missing(path, os.fsdecode(side.root.path))
    if entry.kind != Kind.DIR:
        yield Listed(path, entry)
        return
    matcher = RuleMatcher(Rules())
    fd = os.open(side.root.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with DirStack(fd) as stack:
        at: DirRules | None = matcher.top(stack.fd, sorted_names(stack.fd))
        for part in path.split(b"/") if path else ():
            stack.push(part)
            at = matcher.enter(at, part, stack.path(), stack.fd, sorted_names(stack.fd))
        levels = [(at, iter(sorted_names(stack.fd)))]
        while levels:
            rules_here, names = levels[-1]
            name = next(names, None)
            if name is None:
                levels.pop()
                if levels:
                    stack.pop()
                continue
            try:
                found = _entry(stack.fd, name)
            except FileNotFoundError:
                continue
            is_dir = found.kind == Kind.DIR
            if rules_here is not None and rules_here.excluded(name, is_dir, found.size):
                continue
            here = join(stack.path(), name)
            yield Listed(here, found)
            if recursive and is_dir:
                try:
                    stack.push(name)
                except OSError:
                    continue
                inner = sorted_names(stack.fd)
                below = matcher.enter(rules_here, name, stack.path(), stack.fd, inner)
                levels.append((below, iter(inner)))


def _entry(fd: int, name: bytes) -> Entry:
    st = os.stat(name, dir_fd=fd, follow_symlinks=False)
    kind = int(KIND_OF_FORMAT.get(S_IFMT(st.st_mode), 0))
    target = os.readlink(name, dir_fd=fd) if kind == Kind.SYMLINK else b""
    try:
        xattr = read_xattrs(proc_child(fd, name))
    except OSError:
        xattr = b""
    mtime_s, mtime_nsec = divmod(st.st_mtime_ns, 1_000_000_000)
    ctime_s, ctime_nsec = divmod(st.st_ctime_ns, 1_000_000_000)
    device = kind in (Kind.CHAR, Kind.BLOCK)
    return Entry(
        name, 0, kind, S_IMODE(st.st_mode), st.st_uid, st.st_gid, 0, xattr,
        st.st_size if kind == Kind.FILE else 0, mtime_s, mtime_nsec,
        st.st_rdev if device else 0, target, 0, 0, None, ctime_s, ctime_nsec, st.st_dev, st.st_ino,
        st.st_nlink, None,
    )  # fmt: skip
