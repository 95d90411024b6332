"""From changed keys to changed paths: what is new, gone, moved, and what differs.

Input are the keys (directory entries and inodes) that may differ between two states; the work follows
their number, never the size of the tree. A move is reported as such only if the old name is gone, the
new one is new, and the content agrees; otherwise both names speak for themselves, and what hangs below
them is compared path by path.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from snapfs.diff.attributes import differences
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind
from snapfs.model.kinds import State as Mark
from snapfs.tree.state import Paths, State, join, lookup, walk


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


Key = tuple[int, bytes]


class Differ:
    """Compares state ``a`` with state ``b`` of one root."""

    def __init__(self, a: State, b: State, root_inode: int) -> None:
        self._a = a
        self._b = b
        self._root = root_inode
        self._paths_a = Paths(a, root_inode)
        self._paths_b = Paths(b, root_inode)
        self._found: dict[bytes, Change] = {}
        self._moved_from: set[bytes] = set()
        self._moved_to: set[bytes] = set()

    def run(self, names: Iterable[Key], inodes: Iterable[int]) -> list[Change]:
        """The changes among these keys, in byte order of their paths."""
        gone: dict[bytes, int] = {}
        come: dict[bytes, int] = {}
        for parent, name in names:
            before, after = self._a.child(parent, name), self._b.child(parent, name)
            if before == after:
                continue
            if before is not None:
                path = self._paths_a.of_name(parent, name)
                if path is not None:
                    gone[path] = before
            if after is not None:
                path = self._paths_b.of_name(parent, name)
                if path is not None:
                    come[path] = after
        self._moves(gone, come)
        for path in sorted(gone):
            if path not in self._moved_from:
                self._old_path(path, gone[path])
        for path in sorted(come):
            if path not in self._found:
                self._new_path(path, come[path])
        for inode in inodes:
            self._inode(inode)
        self._links(gone, come)
        return [self._found[path] for path in sorted(self._found)]

    def inverted(self) -> list[Change]:
        """What `run` found, the other way round: from ``b`` to ``a``."""
        turned = [self._invert(change) for change in self._found.values()]
        return sorted(turned, key=lambda one: one.path)

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

    def _moves(self, gone: dict[bytes, int], come: dict[bytes, int]) -> None:
        from_: dict[int, list[bytes]] = {}
        for path, inode in gone.items():
            from_.setdefault(inode, []).append(path)
        for path in sorted(come):
            inode = come[path]
            sources = sorted(from_.get(inode, ()))
            if not sources or lookup(self._a, self._root, path) is not None:
                continue
            old = next((one for one in sources if one not in self._moved_from), None)
            if old is None or lookup(self._b, self._root, old) is not None:
                continue
            before, after = self._a.entry(inode), self._b.entry(inode)
            if before is None or after is None or not self._agree(before, after):
                continue
            self._moved_from.add(old)
            self._moved_to.add(path)
            what = differences(before, after)
            self._found[path] = Change("R", path, old, what, before, after)

    def _agree(self, before: Entry, after: Entry) -> bool:
        """Whether two records of one inode can be the same thing: inode numbers are reused."""
        if before.kind != after.kind:
            return False
        if before.kind == Kind.DIR:
            old = {child.name for child in self._a.children(before.inode)}
            new = {child.name for child in self._b.children(after.inode)}
            return bool(old & new) or not (old or new)
        if before.kind == Kind.FILE:
            return before.content == after.content and before.size == after.size
        return before.target == after.target and before.rdev == after.rdev

    # --- paths ---------------------------------------------------------------------------------

    def _old_path(self, path: bytes, inode: int) -> None:
        """A path that lost the inode it had."""
        before = self._a.entry(inode)
        now = lookup(self._b, self._root, path)
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
        was = lookup(self._a, self._root, path)
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
            for below, child in walk(self._a, entry.inode, path, stop=self._moved_from):
                if below not in self._found and lookup(self._b, self._root, below) is None:
                    self._found[below] = Change("-", below, None, (), child, None)

    def _added(self, path: bytes, entry: Entry) -> None:
        if path in self._found:
            return
        self._found[path] = self._new(path, entry)
        if entry.kind == Kind.DIR:
            for below, child in walk(self._b, entry.inode, path, stop=self._moved_to):
                if below not in self._found and lookup(self._a, self._root, below) is None:
                    self._found[below] = self._new(below, child)

    def _new(self, path: bytes, entry: Entry) -> Change:
        letter = "!" if entry.state == Mark.UNREAD else "+"
        return Change(letter, path, None, (), None, entry)

    def _both(self, path: bytes, before: Entry, after: Entry) -> None:
        """A path that both states have, with different inodes."""
        todo = [(path, before, after)]
        while todo:
            at, old, new = todo.pop()
            if at in self._found:
                continue
            what = differences(old, new)
            if what or new.state == Mark.UNREAD:
                self._found[at] = self._changed(at, what, old, new)
            if Kind.DIR not in {old.kind, new.kind}:
                continue
            was = self._children(self._a, old)
            now = self._children(self._b, new)
            for name in was.keys() | now.keys():
                below = join(at, name)
                one, two = was.get(name), now.get(name)
                if one is None and two is not None:
                    self._added(below, two)
                elif two is None and one is not None:
                    self._removed(below, one)
                elif (
                    one is not None
                    and two is not None
                    and (one.inode != two.inode or one.kind != Kind.DIR)
                ):
                    todo.append((below, one, two))

    @staticmethod
    def _children(state: State, entry: Entry) -> dict[bytes, Entry]:
        if entry.kind != Kind.DIR:
            return {}
        return {child.name: child for child in state.children(entry.inode)}

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
            self._found.setdefault(b"", self._changed(b"", what, before, after))
            return
        for name, path in self._paths_b.of_inode(inode):
            if path in self._found or self._a.child(name.parent, name.name) != inode:
                continue
            if self._paths_a.of_name(name.parent, name.name) != self._came_from(path):
                continue  # a directory above took another's place: compared path by path
            self._found[path] = self._changed(path, what, before, after)

    def _came_from(self, path: bytes) -> bytes:
        """Where a path was before the moves that are reported."""
        above = path
        while above:
            if above in self._moved_to:
                old = self._found[above].old_path
                assert old is not None
                return old + path[len(above) :]
            above = above.rpartition(b"/")[0]
        return path

    # --- hard links ----------------------------------------------------------------------------

    def _links(self, gone: dict[bytes, int], come: dict[bytes, int]) -> None:
        """Names that both states have, but linked to others of them."""
        candidates: set[bytes] = set()
        for inode in {*gone.values(), *come.values()}:
            for state, paths in ((self._a, self._paths_a), (self._b, self._paths_b)):
                found = paths.of_inode(inode)
                entry = state.entry(inode)
                if len(found) > 1 and entry is not None and entry.kind != Kind.DIR:
                    candidates.update(path for _, path in found)
        for path in sorted(candidates):
            one, two = lookup(self._a, self._root, path), lookup(self._b, self._root, path)
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

    def _group(self, paths: Paths, inode: int) -> frozenset[bytes]:
        """The names of an inode that both states have."""
        return frozenset(
            path
            for _, path in paths.of_inode(inode)
            if lookup(self._a, self._root, path) is not None
            and lookup(self._b, self._root, path) is not None
        )


def _sure(entry: Entry | None) -> Entry:
    assert entry is not None
    return entry
