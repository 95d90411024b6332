"""One state of a root as inodes and names: a snapshot, or the head with a stage laid over it.

`diff` compares two of them key by key and needs no paths for that; `Paths` finds them where they are
to be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import Protocol

from snapfs.catalog import compiled as sql
from snapfs.catalog import rows, streams, view
from snapfs.catalog.database import Catalog
from snapfs.catalog.view import Name
from snapfs.errors import DamageError
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind
from snapfs.model.path import join
from snapfs.model.quote import quote


class State(Protocol):
    """What is asked of a state. Ids are those of the catalog; a stage's own are negative."""

    def entry(self, inode: int) -> Entry | None:
        """An inode without its name, None if this state does not have it."""

    def child(self, parent: int, name: bytes) -> int | None:
        """The inode behind a name."""

    def children(self, parent: int) -> Iterator[Entry]:
        """The entries of a directory, by name; no more than some are held at once."""

    def names_in(self, parent: int) -> Iterator[bytes]:
        """The names in a directory, in order."""

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
        return streams.named(self._catalog, parent, name, self._at)

    def children(self, parent: int) -> Iterator[Entry]:
        return streams.each_child(self._catalog, parent, self._at)

    def names_in(self, parent: int) -> Iterator[bytes]:
        return (entry.name for entry in self.children(parent))

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

    def children(self, parent: int) -> Iterator[Entry]:
        for name, inode in self._overlaid(parent):
            yield from self._named(name, inode)

    def names_in(self, parent: int) -> Iterator[bytes]:
        return (name for name, inode in self._overlaid(parent) if inode is not None)

    def _overlaid(self, parent: int) -> Iterator[tuple[bytes, int | None]]:
        """Names of the head and of the stage, each once, in order."""
        head = self._head.children(parent) if parent > 0 else iter(())
        known = next(head, None)
        for name, inode in streams.overlaid_names(self._catalog, parent):
            while known is not None and known.name < name:
                yield known.name, known.inode
                known = next(head, None)
            if known is not None and known.name == name:
                known = next(head, None)
            yield name, inode
        while known is not None:
            yield known.name, known.inode
            known = next(head, None)

    def _named(self, name: bytes, inode: int | None) -> Iterator[Entry]:
        entry = None if inode is None else self.entry(inode)
        if entry is not None:
            yield entry._replace(name=name)

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


REMEMBERED = 20_000
"""Directories whose paths are remembered at once."""


class Paths:
    """Paths in one state, remembering those of directories."""

    def __init__(self, state: State, root_inode: int) -> None:
        self._state = state
        self._root = root_inode
        self._known: dict[int, bytes | None] = {root_inode: b""}

    def of_directory(self, inode: int) -> bytes | None:
        """Path of a directory, ``b""`` for the root, None if the state does not have it."""
        if len(self._known) > REMEMBERED:
            self._known = {self._root: b""}
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


class Inodes:
    """Inodes in one state by path, remembering those of directories on the way."""

    def __init__(self, state: State, root_inode: int) -> None:
        self._state = state
        self._root = root_inode
        self._known: dict[bytes, int | None] = {b"": root_inode}

    def at(self, path: bytes) -> int | None:
        """The inode at a path, None if there is none."""
        if not path:
            return self._root
        above, _, name = path.rpartition(b"/")
        parent = self._known.get(above)
        if parent is None and above not in self._known:
            parent = self._directory(above)
        return None if parent is None else self._state.child(parent, name)

    def _directory(self, path: bytes) -> int | None:
        if len(self._known) > REMEMBERED:
            self._known = {b"": self._root}
        inode: int | None = self._root
        at = b""
        for part in path.split(b"/"):
            at = join(at, part)
            if inode is not None and at in self._known:
                inode = self._known[at]
            elif inode is not None:
                inode = self._known[at] = self._state.child(inode, part)
        self._known[path] = inode
        return inode


def held(catalog: Catalog, root_id: int, snapshot_id: int) -> Callable[[bytes], bool]:
    """Says of a path whether a snapshot has it, and so whether it counts although a rule leaves it out."""
    row = rows.root(catalog, root_id)
    if row is None or row.inode_id is None:
        return lambda _: False
    inodes = Inodes(StoredState(catalog, snapshot_id), row.inode_id)
    return lambda path: inodes.at(path) is not None


def spared(catalog: Catalog, root_id: int, uid: str) -> Callable[[bytes], bool]:
    """`held` for the snapshot of a root with this uid (`Rules.spared`); if it is gone, of no path."""
    for row in rows.snapshot_rows(catalog, root_id) if uid else ():
        if row.uid.hex() == uid:
            return held(catalog, root_id, row.id)
    return lambda _: False


def walk(
    children: Callable[[int], Iterator[Entry]],
    inode: int,
    path: bytes,
    *,
    stop: Container[bytes] = (),
) -> Iterator[tuple[bytes, Entry]]:
    """Everything below a directory, parents first, by name, but for ``stop`` and what is below.

    ``children`` gives the entries of a directory; of those on the way down no more is held than it
    reads ahead, and one path, for those of all would grow with the square of the depth.

    Raises DamageError where a catalog that was tampered with leads back to a directory further up.
    """
    stack = [children(inode)]
    way = {inode: None}  # in order, so that the last goes first
    above = path
    while stack:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop()
            way.popitem()
            above = above.rpartition(b"/")[0]
            continue
        here = join(above, entry.name)
        if here in stop:
            continue
        yield here, entry
        if entry.kind == Kind.DIR:
            if entry.inode in way:
                raise leads_back(here)
            way[entry.inode] = None
            stack.append(children(entry.inode))
            above = here


def leads_back(path: bytes) -> DamageError:
    """What is wrong with a catalog in which a directory is below itself."""
    return DamageError(
        f"the catalog is damaged: {quote(path)} lies within itself", subject=quote(path),
        hint="run snapfs verify",
    )  # fmt: skip
