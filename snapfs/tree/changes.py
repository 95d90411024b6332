"""From changed keys to changed paths: what is new, gone, moved, and what differs.

Input are the keys (directory entries and inodes) that may differ between two states; the work follows
their number, never the size of the tree, and of a great number most lies on disk. A move is reported as
such only if the old name is gone, the new one is new, and the content agrees; otherwise both names speak
for themselves, and what hangs below them is compared path by path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from snapfs.catalog.spill import Spill, SpilledMap
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind
from snapfs.model.kinds import State as Mark
from snapfs.model.path import join
from snapfs.tree.differences import differences
from snapfs.tree.moves import Pairs, beside, same_thing
from snapfs.tree.state import Inodes, Paths, State, leads_back, walk


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a diff."""

    letter: str
    """M changed, + new, - gone, R moved, ! could not be read"""
    path: bytes
    """path from the root; the new one of what moved"""
    old_path: bytes | None
    """the old path of what moved"""
    what: tuple[str, ...]
    """what differs"""
    old: Entry | None
    """what was there"""
    new: Entry | None
    """what is there"""

    @property
    def grown_bytes(self) -> int:
        """By how much the file grew, all of a new one; negative if it shrank or went."""
        return _file_bytes(self.new) - _file_bytes(self.old)


def _file_bytes(entry: Entry | None) -> int:
    return entry.size if entry is not None and entry.kind == Kind.FILE else 0


def _plain(change: Change) -> tuple[Any, ...]:
    """A change as numbers, bytes and tuples of them."""
    old, new = change.old, change.new
    return (
        change.letter, change.path, change.old_path, change.what,
        None if old is None else tuple(old), None if new is None else tuple(new),
    )  # fmt: skip


def _change(plain: tuple[Any, ...]) -> Change:
    """The reverse of `_plain`."""
    letter, path, old_path, what, old, new = plain
    return Change(
        letter, path, old_path, what,
        None if old is None else Entry._make(old), None if new is None else Entry._make(new),
    )  # fmt: skip


Key = tuple[int, bytes]


class Differ:
    """Compares state ``a`` with state ``b`` of one root."""

    def __init__(self, a: State, b: State, root_inode: int, spill: Spill) -> None:
        """``spill`` is closed by the caller, when the changes have been read."""
        self._a = a
        self._b = b
        self._root = root_inode
        self._paths_a = Paths(a, root_inode)
        self._paths_b = Paths(b, root_inode)
        self._inodes_a = Inodes(a, root_inode)
        self._inodes_b = Inodes(b, root_inode)
        self._spill = spill
        self._gone: SpilledMap[int] = spill.map()
        self._come: SpilledMap[int] = spill.map()
        self._gone_inodes = spill.groups()
        self._found: SpilledMap[Change] = spill.map(_plain, _change)
        self._moved_from: SpilledMap[int] = spill.map()
        self._moved_to: SpilledMap[bytes] = spill.map()
        self._last_above = b"", b""

    def run(self, names: Iterable[Key], inodes: Iterable[int]) -> None:
        """Find the changes among these keys; afterwards the states are not asked any more."""
        for parent, name in names:
            before, after = self._a.child(parent, name), self._b.child(parent, name)
            if before == after:
                continue
            if before is not None:
                path = self._paths_a.of_name(parent, name)
                if path is not None:
                    self._gone[path] = before
                    self._gone_inodes.add(before, path)
            if after is not None:
                path = self._paths_b.of_name(parent, name)
                if path is not None:
                    self._come[path] = after
        if self._gone:
            self._see_arrivals()
        self._moves()
        for path, inode in self._gone.pairs():
            if path not in self._moved_from:
                self._old_path(path, inode)
        for path, inode in self._come.pairs():
            if path not in self._found:
                self._new_path(path, inode)
        for inode in inodes:
            self._inode(inode)
        self._links()

    def changes(self) -> Iterator[Change]:
        """What `run` found, in byte order of the paths."""
        return (change for _, change in self._found.pairs())

    def inverted(self) -> Iterator[Change]:
        """The same the other way round: from ``b`` to ``a``."""
        turned: SpilledMap[Change] = self._spill.map(_plain, _change)
        for number, (_, change) in enumerate(self._found.pairs()):
            other = self._invert(change)
            # The number keeps two of one path apart; no path has a NUL in it.
            turned[b"%s\0%016d" % (other.path, number)] = other
        return (change for _, change in turned.pairs())

    def _invert(self, change: Change) -> Change:
        old, new = change.new, change.old
        if new is None:
            return Change("-", change.path, None, (), old, None)
        if old is None:
            return self._new(change.path, new)
        if change.old_path is not None:
            return Change("R", change.old_path, change.path, change.what, old, new)
        return self._changed(self._came_from(change.path), change.what, old, new)

    # --- moves ---------------------------------------------------------------------------------

    def _see_arrivals(self) -> None:
        """What came into a directory that is new: where the snapshot before was deleted, no key tells."""
        arrived: SpilledMap[int] = self._spill.map()
        for path, inode in self._come.pairs():
            entry = self._b.entry(inode)
            if entry is None or entry.kind != Kind.DIR or self._gone_inodes.get(inode):
                continue
            for below, child in walk(self._b.children, inode, path):
                if self._gone_inodes.get(child.inode):
                    arrived[below] = child.inode
        for path, inode in arrived.pairs():
            self._come[path] = inode

    def _moves(self) -> None:
        for path, inode in self._come.pairs():
            sources = self._gone_inodes.get(inode)
            if not sources or self._inodes_a.at(path) is not None:
                continue
            old = next((one for one in sources if one not in self._moved_from), None)
            if old is None or self._inodes_b.at(old) is not None:
                continue
            before, after = self._a.entry(inode), self._b.entry(inode)
            if before is None or after is None or not same_thing(self._a, self._b, before, after):
                continue
            self._moved_from[old] = inode
            self._moved_to[path] = old
            what = differences(before, after)
            self._found[path] = Change("R", path, old, what, before, after)

    # --- paths ---------------------------------------------------------------------------------

    def _old_path(self, path: bytes, inode: int) -> None:
        """A path that lost the inode it had."""
        before = self._a.entry(inode)
        now = self._inodes_b.at(path)
        if before is None:
            return
        if now is None:
            self._removed(path, before)
            return
        after = self._b.entry(now)
        if after is not None:
            self._both(path, before, after)

    def _new_path(self, path: bytes, inode: int) -> None:
        """A path that got another inode than it had."""
        after = self._b.entry(inode)
        was = self._inodes_a.at(path)
        if after is None:
            return
        before = None if was is None else self._a.entry(was)
        if before is None:
            self._added(path, after)
        else:
            self._both(path, before, after)

    def _removed(self, path: bytes, entry: Entry) -> None:
        if path in self._found or path in self._moved_from:
            return
        self._found[path] = Change("-", path, None, (), entry, None)
        if entry.kind == Kind.DIR:
            # What has moved away takes along all below it.
            for below, child in walk(self._a.children, entry.inode, path, stop=self._moved_from):
                if below not in self._found and self._inodes_b.at(below) is None:
                    self._found[below] = Change("-", below, None, (), child, None)

    def _added(self, path: bytes, entry: Entry) -> None:
        if path in self._found:
            return
        self._found[path] = self._new(path, entry)
        if entry.kind == Kind.DIR:
            for below, child in walk(self._b.children, entry.inode, path, stop=self._moved_to):
                if below not in self._found and self._inodes_a.at(below) is None:
                    self._found[below] = self._new(below, child)

    def _new(self, path: bytes, entry: Entry) -> Change:
        letter = "!" if entry.state == Mark.UNREAD else "+"
        return Change(letter, path, None, (), None, entry)

    def _both(self, path: bytes, before: Entry, after: Entry) -> None:
        """A path that both states have, with different inodes."""
        stack: list[tuple[bytes, Pairs]] = [(path, iter([(before, after)]))]
        way: dict[tuple[int, int], None] = {(0, 0): None}  # in order, so that the last goes first
        while stack:
            at, pairs = stack[-1]
            old, new = next(pairs, (None, None))
            some = new if old is None else old
            if some is None:
                stack.pop()
                way.popitem()
                continue
            here = path if len(stack) == 1 else join(at, some.name)
            if old is None:
                self._added(here, some)
            elif new is None:
                self._removed(here, some)
            elif here not in self._found and (
                len(stack) == 1 or old.inode != new.inode or old.kind != Kind.DIR
            ):
                what = differences(old, new)
                if what or new.state == Mark.UNREAD:
                    self._found[here] = self._changed(here, what, old, new)
                if Kind.DIR in {old.kind, new.kind}:
                    both = old.inode, new.inode
                    if both in way:
                        raise leads_back(here)
                    way[both] = None
                    was, now = self._children(self._a, old), self._children(self._b, new)
                    stack.append((here, beside(was, now)))

    @staticmethod
    def _children(state: State, entry: Entry) -> Iterator[Entry]:
        return state.children(entry.inode) if entry.kind == Kind.DIR else iter(())

    def _changed(self, path: bytes, what: tuple[str, ...], old: Entry, new: Entry) -> Change:
        letter = "!" if new.state == Mark.UNREAD else "M"
        return Change(letter, path, None, what, old, new)

    # --- inodes --------------------------------------------------------------------------------

    def _inode(self, inode: int) -> None:
        """An inode whose attributes may differ, at each of its names that both states have."""
        after = self._b.entry(inode)
        if after is None:
            return
        before = self._a.entry(inode)
        if before is None:
            return
        what = differences(before, after)
        unread = after.state == Mark.UNREAD
        if not what and not unread:
            return
        if inode == self._root:
            if b"" not in self._found:
                self._found[b""] = self._changed(b"", what, before, after)
            return
        for name, path in self._paths_b.of_inode(inode):
            if path in self._found or self._a.child(name.parent, name.name) != inode:
                continue
            if self._paths_a.of_name(name.parent, name.name) != self._came_from(path):
                continue  # a directory above took another's place: compared path by path
            self._found[path] = self._changed(path, what, before, after)

    def _came_from(self, path: bytes) -> bytes:
        """Where a path was before the moves that are reported."""
        if not self._moved_to:
            return path
        old = self._moved_to.get(path)
        if old is not None:
            return old
        above, slash, name = path.rpartition(b"/")
        if self._last_above[0] != above:
            self._last_above = above, self._directory_came_from(above)
        return self._last_above[1] + slash + name

    def _directory_came_from(self, path: bytes) -> bytes:
        above = path
        while above:
            old = self._moved_to.get(above)
            if old is not None:
                return old + path[len(above) :]
            above = above.rpartition(b"/")[0]
        return path

    # --- hard links ----------------------------------------------------------------------------

    def _links(self) -> None:
        """Names that both states have, but linked to others of them."""
        candidates: SpilledMap[int] = self._spill.map()
        for inode in self._touched():
            for state, paths in ((self._a, self._paths_a), (self._b, self._paths_b)):
                if len(state.names(inode)) < 2:
                    continue
                found = paths.of_inode(inode)
                entry = state.entry(inode)
                if len(found) > 1 and entry is not None and entry.kind != Kind.DIR:
                    for _, path in found:
                        candidates[path] = inode
        for path, _ in candidates.pairs():
            one, two = self._inodes_a.at(path), self._inodes_b.at(path)
            if one is None or two is None:
                continue
            if self._group(self._paths_a, one) == self._group(self._paths_b, two):
                continue
            known = self._found.get(path)
            if known is None:
                before, after = self._a.entry(one), self._b.entry(two)
                assert before is not None
                assert after is not None
                self._found[path] = self._changed(path, ("links",), before, after)
            elif known.letter == "M" and "type" not in known.what and "links" not in known.what:
                self._found[path] = self._changed(
                    path, (*known.what, "links"), _sure(known.old), _sure(known.new)
                )

    def _touched(self) -> Iterator[int]:
        """Inodes that lost or got a name."""
        for _, inode in self._gone.pairs():
            yield inode
        for _, inode in self._come.pairs():
            if inode not in self._gone_inodes:
                yield inode

    def _group(self, paths: Paths, inode: int) -> frozenset[bytes]:
        """The names of an inode that both states have."""
        return frozenset(
            path
            for _, path in paths.of_inode(inode)
            if self._inodes_a.at(path) is not None and self._inodes_b.at(path) is not None
        )


def _sure(entry: Entry | None) -> Entry:
    assert entry is not None
    return entry
