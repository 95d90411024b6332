"""One state of a root as inodes and names: a snapshot, or the head with a stage laid over it.

`diff` compares two of them key by key and needs no paths for that; `Paths` finds them where they are
to be shown.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Protocol

from snapfs.catalog import compiled as sql
from snapfs.catalog import view
from snapfs.catalog.database import Catalog
from snapfs.catalog.view import Name
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind


class State(Protocol):
    """What is asked of a state. Ids are those of the catalog; a stage's own are negative."""

    def entry(self, inode: int) -> Entry | None:
        """An inode without its name, None if this state does not have it."""

    def child(self, parent: int, name: bytes) -> int | None:
        """The inode behind a name."""

    def children(self, parent: int) -> list[Entry]:
        """The entries of a directory, by name."""

    def names(self, inode: int) -> list[Name]:
        """All names of an inode."""


class StoredState:
    """A snapshot; ``at`` None is the newest state (inside one read transaction only)."""

    def __init__(self, catalog: Catalog, at: int | None) -> None:
        self._catalog = catalog
        self._at = at

    def entry(self, inode: int) -> Entry | None:
        return view.inode(self._catalog, inode, self._at)

    def child(self, parent: int, name: bytes) -> int | None:
        found = view.child(self._catalog, parent, name, self._at)
        return None if found is None else found.inode

    def children(self, parent: int) -> list[Entry]:
        return view.children(self._catalog, parent, self._at)

    def names(self, inode: int) -> list[Name]:
        return view.names(self._catalog, inode, self._at)


class StagedState:
    """The head as it would be if the stage were committed: the live tree, compared and not stored."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._head = StoredState(catalog, None)

    def entry(self, inode: int) -> Entry | None:
        row = self._catalog.one(sql.OVERLAY_INODE, {"inode": inode})
        if row is not None:
            return None if row[0] == 3 else Entry._make(row[1:])
        return self._head.entry(inode) if inode > 0 else None

    def child(self, parent: int, name: bytes) -> int | None:
        row = self._catalog.one(sql.OVERLAY_NAME, {"parent": parent, "name": name})
        if row is not None:
            return None if row[0] is None else int(row[0])
        return self._head.child(parent, name) if parent > 0 else None

    def children(self, parent: int) -> list[Entry]:
        found: dict[bytes, int | None] = {}
        if parent > 0:
            found = {entry.name: entry.inode for entry in self._head.children(parent)}
        for name, inode in self._catalog.execute(sql.OVERLAY_CHILDREN, {"parent": parent}):
            found[name] = inode
        entries = []
        for name in sorted(found):
            inode = found[name]
            entry = None if inode is None else self.entry(inode)
            if entry is not None:
                entries.append(entry._replace(name=name))
        return entries

    def names(self, inode: int) -> list[Name]:
        found = [
            name
            for name in (self._head.names(inode) if inode > 0 else [])
            if self.child(name.parent, name.name) == inode
        ]
        known = set(found)
        for parent, name in self._catalog.execute(sql.OVERLAY_NAMES, {"inode": inode}):
            made = Name(parent, name, inode)
            if made not in known:
                found.append(made)
        return found


class Paths:
    """Paths in one state, remembering those of directories."""

    def __init__(self, state: State, root_inode: int) -> None:
        self._state = state
        self._known: dict[int, bytes | None] = {root_inode: b""}

    def of_directory(self, inode: int) -> bytes | None:
        """Path of a directory, ``b""`` for the root, None if the state does not have it."""
        todo: list[tuple[int, bytes]] = []
        at = inode
        while at not in self._known:
            self._known[at] = None  # until it is known; a damaged catalog may lead back here
            found = self._state.names(at)
            if not found:
                break
            todo.append((at, found[0].name))
            at = found[0].parent
        path = self._known[at]
        for below, name in reversed(todo):
            path = None if path is None else join(path, name)
            self._known[below] = path
        return path

    def of_name(self, parent: int, name: bytes) -> bytes | None:
        """Path of a directory's entry."""
        above = self.of_directory(parent)
        return None if above is None else join(above, name)

    def of_inode(self, inode: int) -> list[tuple[Name, bytes]]:
        """All names of an inode with their paths."""
        found = []
        for name in self._state.names(inode):
            path = self.of_name(name.parent, name.name)
            if path is not None:
                found.append((name, path))
        return found


def join(above: bytes, name: bytes) -> bytes:
    """A path from the root."""
    return above + b"/" + name if above else name


def lookup(state: State, root_inode: int, path: bytes) -> int | None:
    """The inode at a path."""
    at: int | None = root_inode
    for part in path.split(b"/") if path else ():
        if at is None:
            return None
        at = state.child(at, part)
    return at


def walk(
    state: State, inode: int, path: bytes, *, stop: Container[bytes] = ()
) -> Iterator[tuple[bytes, Entry]]:
    """Everything below a directory, parents first, by name, but for ``stop`` and what is below."""
    stack = [(path, iter(state.children(inode)))]
    while stack:
        above, entries = stack[-1]
        entry = next(entries, None)
        if entry is None:
            stack.pop()
            continue
        here = join(above, entry.name)
        if here in stop:
            continue
        yield here, entry
        if entry.kind == Kind.DIR:
            stack.append((here, iter(state.children(entry.inode))))
