"""Which part of a snapshot is wanted, as directories in depth-first preorder for `materialize`.

Every directory that is read as a whole is checked against the digest that its parent, or the snapshot,
has of it: SQLite's own check misses half of all flipped bits.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from itertools import chain, islice

from snapfs.catalog import streams, view
from snapfs.catalog.database import Catalog
from snapfs.errors import DamageError, NotFoundError
from snapfs.fs.matching import RuleMatcher
from snapfs.fs.rules import RuleLine, Rules
from snapfs.inplace.guard import digested, each_digested, has_digest, makes_sense
from snapfs.materialize.wanted import Part, WantedDir
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind
from snapfs.model.path import join, within
from snapfs.model.quote import quote
from snapfs.tree.state import walk

HELD = 2048
"""Entries of one directory that are held at once."""


class Filter:
    """``--include`` and ``--exclude`` of a restore, in the language of the rules."""

    def __init__(self, include: Sequence[bytes], exclude: Sequence[bytes]) -> None:
        self._include = _matcher(include, "--include")
        self._exclude = _matcher(exclude, "--exclude")

    @property
    def empty(self) -> bool:
        return self._include is None and self._exclude is None

    def excluded(self, path: bytes, is_dir: bool) -> bool:
        """Whether the path, or a directory above it, is left out."""
        return self._exclude is not None and self._exclude.excludes(path, is_dir)

    def included(self, path: bytes, is_dir: bool) -> bool:
        """Whether the path, or a directory above it, is asked for."""
        return self._include is None or self._include.excludes(path, is_dir)

    def left_alone(self, path: bytes, is_dir: bool) -> bool:
        """Whether nothing is to be done to the path."""
        if self.empty:
            return False
        return self.excluded(path, is_dir) or not self.included(path, is_dir)

    def unused(self) -> Iterator[RuleLine]:
        """Patterns that matched nothing, once all has been gone through."""
        for matcher in (self._include, self._exclude):
            if matcher is not None:
                yield from matcher.unused()

    @property
    def picks(self) -> bool:
        """Whether only some entries are wanted, so that directories are ways to them."""
        return self._include is not None


def _matcher(patterns: Sequence[bytes], source: str) -> RuleMatcher | None:
    if not patterns:
        return None
    lines = tuple(RuleLine(pattern, source) for pattern in patterns)
    return RuleMatcher(Rules(patterns=lines, standing=()))


class Selection:
    """The wanted part of one snapshot."""

    def __init__(
        self,
        catalog: Catalog,
        root_inode: int,
        at: int | None,
        chosen: Filter,
    ) -> None:
        self._catalog = catalog
        self._root = root_inode
        self._at = at
        self._filter = chosen
        self.on_directory: Callable[[Entry], None] | None = None
        self._needed: set[bytes] = set()
        self._above: dict[int, None] = {}  # directories on the way down, in order

    def find(self, path: bytes, where: str) -> Entry:
        """The entry at a path from the root; raises NotFoundError, DamageError."""
        entry = self._lookup(path)
        if entry is None:
            name = quote(path)
            raise NotFoundError(
                f"{where} has no {name}", subject=name, hint="snapfs ls shows what it has"
            )
        if not makes_sense(entry if path else entry._replace(name=b"root")):
            name = quote(path or b".")
            raise DamageError(
                f"what the catalog says of {name} is damaged",
                subject=name,
                hint="run snapfs verify",
            )
        return entry

    def agrees(self, digest: bytes) -> bool:
        """Whether the root here is the one that a snapshot's digest is of."""
        root = self._lookup(b"")
        if root is None:
            return False
        return has_digest(digest, [digested((root._replace(name=b""), root.tree_digest or b""))])

    # --- shapes --------------------------------------------------------------------------------

    def content_of(self, path: bytes, where: str) -> Iterator[WantedDir]:
        """One directory whose content lands in the target, or one file as target/NAME."""
        entry = self.find(path, where)
        if entry.kind == Kind.DIR:
            self._prepare(entry, path)
            yield from self._tree(entry, path, 0)
            return
        yield WantedDir(0, self._plain(path), [entry._replace(name=path.rpartition(b"/")[2])],
                        Part.HOLDER)  # fmt: skip

    def at_paths(
        self,
        paths: Sequence[bytes],
        where: str,
        *,
        in_root: bool,
        may_go: Callable[[bytes], bool] = lambda _: False,
    ) -> Iterator[WantedDir]:
        """Several paths, each below the target as it is below the root.

        ``in_root``: the target is the root itself, so that directories on the way are its own.
        ``may_go`` says of a path that the snapshot does not have that it is to be deleted.
        """
        tops = _outermost(paths)
        if b"" in tops:
            yield from self.content_of(b"", where)
            return
        yield from self._way(b"", tops, 0, in_root, self.gone(tops, where, may_go))

    def gone(
        self, paths: Sequence[bytes], where: str, may_go: Callable[[bytes], bool]
    ) -> set[bytes]:
        """Those of the paths that are to be deleted; raises NotFoundError for one that is nowhere."""
        tops = _outermost(paths)
        gone = {path for path in tops if self._is_gone(path, may_go)}
        for path in tops:
            if path not in gone:
                self.find(path, where)
        return gone

    def _is_gone(self, path: bytes, may_go: Callable[[bytes], bool]) -> bool:
        """Whether the snapshot has the directory of a path and not the path, and it is to be deleted."""
        above = self._lookup(path.rpartition(b"/")[0])
        if above is None or above.kind != Kind.DIR or self._lookup(path) is not None:
            return False
        rows = streams.guarded_children(self._catalog, above.inode, self._at)
        return may_go(path) and has_digest(above.tree_digest, map(digested, rows))

    def _lookup(self, path: bytes) -> Entry | None:
        return view.lookup(self._catalog, self._root, path, self._at)

    def _plain(self, path: bytes) -> Entry:
        """A directory that is only there to hold what is restored."""
        above = path.rpartition(b"/")[0]
        found = self._lookup(above)
        assert found is not None
        return found

    def _way(
        self, path: bytes, tops: Sequence[bytes], depth: int, in_root: bool, gone: Container[bytes]
    ) -> Iterator[WantedDir]:
        """A directory that only leads to what is wanted, and what is wanted below it."""
        # No recursion over the depth of the tree: a stack of (path, tops below it, depth).
        stack: list[tuple[bytes, list[bytes], int]] = [(path, list(tops), depth)]
        while stack:
            here, below, level = stack.pop()
            entry = self.find(here, "snapshot")
            names = sorted({_next_part(here, top) for top in below})
            children = []
            inner: list[tuple[bytes, list[bytes], int]] = []
            whole: list[tuple[Entry, bytes]] = []
            going = []
            for name in names:
                child_path = join(here, name)
                if child_path in gone:
                    going.append(name)
                    continue
                child = self.find(child_path, "snapshot")._replace(name=name)
                children.append(child)
                if child_path in below:
                    whole.append((child, child_path))
                else:
                    inner.append(
                        (
                            child_path,
                            [t for t in below if t.startswith(child_path + b"/")],
                            level + 1,
                        )
                    )
            part = Part.HOLDER if level == 0 and not in_root else Part.WAY
            yield WantedDir(level, entry, children, part, going)
            for child, child_path in whole:
                if child.kind == Kind.DIR:
                    self._prepare(child, child_path)
                    yield from self._tree(child, child_path, level + 1)
            stack.extend(reversed(inner))

    # --- whole directories ---------------------------------------------------------------------

    def _prepare(self, top: Entry, path: bytes) -> None:
        """With ``--include``, find the directories that lead to something wanted."""
        if not self._filter.picks:
            return
        for found, entry in walk(self._each_child, top.inode, path):
            if self._filter.included(found, entry.kind == Kind.DIR):
                above = found.rpartition(b"/")[0]
                while above not in self._needed:
                    self._needed.add(above)
                    above = above.rpartition(b"/")[0]

    def _tree(self, top: Entry, path: bytes, depth: int) -> Iterator[WantedDir]:
        stack: list[tuple[bytes, Iterator[Entry]]] = [(path, iter((top,)))]
        while stack:
            above, directories = stack[-1]
            entry = next(directories, None)
            if entry is None:
                stack.pop()
                if stack:
                    self._above.popitem()
                continue
            self._above[entry.inode] = None
            here = path if len(stack) == 1 else join(above, entry.name)
            children, sound = self._children(entry, here)
            if self.on_directory is not None:
                self.on_directory(entry)
            part = Part.WHOLE
            if self._filter.picks and not (here and self._filter.included(here, True)):
                part = Part.WAY
            yield WantedDir(depth + len(stack) - 1, entry, children, part, doubtful=not sound)
            if isinstance(children, _ManyChildren):
                inner = children.directories()
            else:
                inner = iter([child for child in children if child.kind == Kind.DIR])
            stack.append((here, inner))

    def _children(self, entry: Entry, here: bytes) -> tuple[list[Entry] | _ManyChildren, bool]:
        """The wanted entries of a directory, of a large one one by one; whether its digest agrees."""
        rows = streams.guarded_children(self._catalog, entry.inode, self._at)
        found = list(islice(rows, HELD + 1))
        odd: list[Entry] = []  # whoever edits rows can make digests that agree with them
        sound = has_digest(entry.tree_digest, each_digested(chain(found, rows), odd)) and not odd
        if len(found) > HELD:
            return _ManyChildren(
                lambda after: self._wanted_children(entry, here, after, sound=sound)
            ), sound
        children = [child for child, _ in found if sound or self._is_possible(child)]
        if not self._filter.empty:
            children = [child for child in children if self._chosen(child, join(here, child.name))]
        return children, sound

    def _each_child(self, inode: int) -> Iterator[Entry]:
        return streams.each_child(self._catalog, inode, self._at)

    def _wanted_children(
        self, entry: Entry, here: bytes, after: bytes, *, sound: bool
    ) -> Iterator[Entry]:
        children = streams.each_child(self._catalog, entry.inode, self._at, after=after)
        if not sound:
            children = filter(self._is_possible, children)
        if self._filter.empty:
            return children
        return (child for child in children if self._chosen(child, join(here, child.name)))

    def _is_possible(self, child: Entry) -> bool:
        """Whether a row of a damaged catalog is one that could be restored at all."""
        return makes_sense(child) and child.inode not in self._above

    def _chosen(self, child: Entry, path: bytes) -> bool:
        is_dir = child.kind == Kind.DIR
        if self._filter.excluded(path, is_dir):
            return False
        return self._filter.included(path, is_dir) or (is_dir and path in self._needed)


class _ManyChildren:
    """The wanted entries of a directory that has too many to hold them; gone through once."""

    def __init__(self, children: Callable[[bytes], Iterator[Entry]]) -> None:
        """``children`` gives those after a name."""
        self._children = children
        self._directories: list[Entry] = []
        self._all = True

    def __iter__(self) -> Iterator[Entry]:
        held = self._directories
        for child in self._children(b""):
            if child.kind == Kind.DIR:
                if len(held) < HELD:
                    held.append(child)
                else:
                    self._all = False
            yield child

    def directories(self) -> Iterator[Entry]:
        """The directories among those that were gone through."""
        yield from self._directories
        if not self._all:
            last = self._directories[-1].name
            yield from (child for child in self._children(last) if child.kind == Kind.DIR)


def _outermost(paths: Sequence[bytes]) -> list[bytes]:
    """The paths without those that lie below another of them."""
    chosen: list[bytes] = []
    for path in sorted(set(paths), key=lambda one: one.split(b"/")):
        if not any(within(path, top) for top in chosen):
            chosen.append(path)
    return chosen


def _next_part(above: bytes, path: bytes) -> bytes:
    rest = path[len(above) + 1 :] if above else path
    return rest.split(b"/", 1)[0]
