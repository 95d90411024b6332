"""A plan as directories in depth-first order, which is how `materialize` takes it.

Only directories in which something is done are entered, with the names that it is done to; everything else
in them is left as it is. Names are kept by `order_key`, directories by what the keys of all names in them
begin with, so that both come in one order and are read side by side, once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from snapfs.catalog import streams
from snapfs.catalog.database import Catalog
from snapfs.catalog.spill import Spill, SpilledMap
from snapfs.materialize.wanted import Part, WantedDir
from snapfs.model.entry import Entry
from snapfs.model.path import join, parent_of, within
from snapfs.revert.look import Trees
from snapfs.threeway import Item, Settled, changed, is_dir, order_key
from snapfs.tree.differences import differences
from snapfs.tree.state import Inodes, Paths, State

V = TypeVar("V")


class _Visit(NamedTuple):
    """A directory that may have to be entered."""

    path: bytes
    touched: bool
    """names in it are made, replaced or go"""
    entered: bool
    """it has to be, whether or not it changes itself"""


class Steps:
    """What is to be done, made of a settled plan."""

    def __init__(
        self,
        catalog: Catalog,
        trees: Trees,
        settled: Settled,
        tops: tuple[bytes, ...],
        spill: Spill,
    ) -> None:
        """Directories outside of ``tops``, if there are any, keep their times whatever is done in them."""
        self._tops = tops
        self._trees = trees
        self._settled = settled
        self._spill = spill
        self._linked = streams.Linked(catalog, trees.before_at, everything=False)
        self._before = Inodes(trees.before, trees.root_inode)
        self._live = Inodes(trees.live, trees.root_inode)
        self._paths_before = Paths(trees.before, trees.root_inode)
        self._paths_live = Paths(trees.live, trees.root_inode)
        self._visits: SpilledMap[_Visit] = spill.map(tuple, _Visit._make)
        self._makes: SpilledMap[Entry] = spill.map(tuple, Entry._make)
        self._goes: SpilledMap[bytes] = spill.map()
        self._linked_to: SpilledMap[bool] = spill.map()
        self._wanted: SpilledMap[WantedDir] = spill.map(_plain, _wanted)
        for item in settled.items():
            if _is_throughout(item) or _came_back(item):
                self._visit(item.path)  # the change may have moved its time, whatever else
            if settled.applies(item) and not settled.goes_with_directory(item):
                self._add(item)
        for key, visit in self._visits.pairs():
            directory = self._directory(visit)
            if directory is not None:
                self._wanted[key] = directory
        self._lead_to_all()

    @property
    def any(self) -> bool:
        """Whether there is anything to do."""
        return bool(self._wanted)

    def mended(self) -> Iterator[bytes]:
        """Paths of the directories that get other attributes or times, or are made."""
        for key, directory in self._wanted.pairs():
            if directory.part is Part.SOME:
                yield _path(key)

    def linked_to(self) -> Iterator[bytes]:
        """Paths of files that stand, to which names are linked that come back."""
        return (path for path, _ in self._linked_to.pairs())

    def directories(self) -> Iterator[WantedDir]:
        """What `materialize` is to do."""
        makes, goes = _Groups(self._makes.pairs()), _Groups(self._goes.pairs())
        for key, directory in self._wanted.pairs():
            names = key + b"\0\0"
            yield directory._replace(children=makes.group(names), gone=goes.group(names))

    # --- names ---------------------------------------------------------------------------------

    def _add(self, item: Item) -> None:
        path, other = item.path, item.other
        if other is None:
            self._goes[order_key(path)] = _name(path)
        elif is_dir(other):
            self._visit(path)
            if is_dir(item.live):
                return
        else:
            self._makes[order_key(path)] = other._replace(name=_name(path))
            if other.inode in self._linked:
                self._link_to_what_stands(item, other)
        self._visit(parent_of(path), touched=True, entered=True)

    def _visit(self, path: bytes, *, touched: bool = False, entered: bool = False) -> None:
        key = _key(path)
        known = self._visits.get(key)
        if known is None:
            self._visits[key] = _Visit(path, touched, entered)
        elif (touched, entered) != (known.touched, known.entered):
            self._visits[key] = _Visit(path, touched or known.touched, entered or known.entered)

    def _link_to_what_stands(self, item: Item, other: Entry) -> None:
        """A name that comes back is linked to those of its file that are there and as they were.

        All names that these have now, and keep, are told to `materialize`, so that it keeps them together.
        """
        for path in _group(self._paths_before, other.inode):
            known = self._settled.item(path)
            if path == item.path or (known is not None and self._settled.applies(known)):
                continue
            live = _at(self._live, self._trees.live, path)
            if live is None or is_dir(live) or differences(other, live):
                continue
            for name in _group(self._paths_live, live.inode):
                known = self._settled.item(name)
                if known is not None and self._settled.applies(known):
                    continue  # it goes, or is told as what it is to be
                self._makes[order_key(name)] = other._replace(name=_name(name))
                self._visit(parent_of(name), entered=True)
                self._linked_to[name] = True
            return

    # --- directories ---------------------------------------------------------------------------

    def _directory(self, visit: _Visit) -> WantedDir | None:
        """A directory as it is to be in the end; None if it need not be entered."""
        item = self._settled.item(visit.path)
        applies = item is not None and self._settled.applies(item)
        if item is not None and item.other is not None and applies and not is_dir(item.live):
            return _named(visit.path, item.other, Part.SOME)
        live = _at(self._live, self._trees.live, visit.path)
        other = _at(self._before, self._trees.before, visit.path)
        assert live is not None
        wanted = live
        if other is not None and applies:
            wanted = _with_time_of(live, other)
        if other is not None and is_dir(other) and self._gets_its_time(visit, item, live, other):
            wanted = _with_time_of(other, wanted)
        differs = bool(changed(wanted, live)) or _time(wanted) != _time(live)
        if not differs and not visit.entered:
            return None
        return _named(visit.path, wanted, Part.SOME if differs else Part.WAY)

    def _gets_its_time(self, visit: _Visit, item: Item | None, live: Entry, other: Entry) -> bool:
        """Whether a directory gets the time that it had: if it then holds the same names again, and its time
        is that of the change, moves now anyway, or was left by a run that was killed before it could set it.
        """
        if self._tops and not any(within(visit.path, top) for top in self._tops):
            return False
        as_changed = item is not None and (
            _came_back(item) if item.base is None else _time(live) == _time(item.base)
        )
        return (visit.touched or as_changed) and self._will_hold_the_same(visit.path, live, other)

    def _will_hold_the_same(self, path: bytes, live: Entry, other: Entry) -> bool:
        now, then = (
            state.names_in(entry.inode)
            for state, entry in ((self._trees.live, live), (self._trees.before, other))
        )
        for name, is_there in _either(now, then):
            if is_there:
                if order_key(join(path, name)) not in self._goes:
                    return False
            else:
                coming = self._settled.item(join(path, name))
                if coming is None or not self._settled.applies(coming):
                    return False
        return True

    def _lead_to_all(self) -> None:
        """Enter what lies on the way, and name each directory that is entered in the one above it."""
        ways: SpilledMap[WantedDir] = self._spill.map(_plain, _wanted)
        for key, directory in self._wanted.pairs():
            path = _path(key)
            if path:
                self._makes[order_key(path)] = directory.entry
            while path:
                path = parent_of(path)
                above = _key(path)
                if above in self._wanted or above in ways:
                    break
                live = _at(self._live, self._trees.live, path)
                assert live is not None
                ways[above] = _named(path, live, Part.WAY)
                if path:
                    self._makes[order_key(path)] = ways[above].entry
        for key, directory in ways.pairs():
            self._wanted[key] = directory


class _Groups(Generic[V]):
    """Values in order of keys, given out by what the keys begin with, in that order."""

    def __init__(self, pairs: Iterator[tuple[bytes, V]]) -> None:
        self._pairs = pairs
        self._next = next(pairs, None)

    def group(self, prefix: bytes) -> Iterator[V]:
        """Those of one group; what was not asked for before is passed over."""
        while self._next is not None and self._next[0] < prefix:
            self._next = next(self._pairs, None)
        while self._next is not None and self._next[0].startswith(prefix):
            value = self._next[1]
            self._next = next(self._pairs, None)
            yield value


def _either(one: Iterator[bytes], two: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Names that only one of two has, each with whether it is the first."""
    a, b = next(one, None), next(two, None)
    while a is not None or b is not None:
        if b is None or (a is not None and a < b):
            assert a is not None
            yield a, True
            a = next(one, None)
        elif a is None or b < a:
            yield b, False
            b = next(two, None)
        else:
            a, b = next(one, None), next(two, None)


def _is_throughout(item: Item) -> bool:
    """Whether there is a directory in all three states."""
    return is_dir(item.base) and is_dir(item.other) and is_dir(item.live)


def _came_back(item: Item) -> bool:
    """Whether a directory that the change took away is there again as it was."""
    other, live = item.other, item.live
    if item.base is not None or other is None or live is None:
        return False
    return is_dir(other) and is_dir(live) and not changed(live, other)


def _key(path: bytes) -> bytes:
    """Sorts directories depth first, each before what is in it: what `order_key` of its names begins with."""
    return path.replace(b"/", b"\0")


def _path(key: bytes) -> bytes:
    return key.replace(b"\0", b"/")


def _name(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]


def _group(paths: Paths, inode: int) -> list[bytes]:
    """All names of an inode, in order."""
    return sorted(path for _, path in paths.of_inode(inode))


def _at(inodes: Inodes, state: State, path: bytes) -> Entry | None:
    inode = inodes.at(path)
    return None if inode is None else state.entry(inode)


def _time(entry: Entry) -> tuple[int, int]:
    return entry.mtime_s, entry.mtime_nsec


def _with_time_of(time: Entry, entry: Entry) -> Entry:
    return entry._replace(mtime_s=time.mtime_s, mtime_nsec=time.mtime_nsec)


def _named(path: bytes, entry: Entry, part: Part) -> WantedDir:
    depth = path.count(b"/") + 1 if path else 0
    return WantedDir(depth, entry._replace(name=_name(path)), (), part)


def _plain(directory: WantedDir) -> tuple[Any, ...]:
    return directory.depth, tuple(directory.entry), directory.part.value


def _wanted(plain: tuple[Any, ...]) -> WantedDir:
    depth, entry, part = plain
    return WantedDir(depth, Entry._make(entry), (), Part(part))
