"""What stands at each candidate's path now, and what speaks against touching it: the input of the plan."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from snapfs.catalog.database import Catalog
from snapfs.catalog.spill import Spill, SpilledMap
from snapfs.fs.handles import open_below
from snapfs.inplace.guard import is_sound
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind
from snapfs.model.kinds import State as Mark
from snapfs.model.path import join, parent_of, within
from snapfs.revert.candidates import Candidate, Candidates
from snapfs.threeway import Conflict, Item, Outcome, Why, changed, decide, is_dir, order_key
from snapfs.tree.differences import differences
from snapfs.tree.state import REMEMBERED, Inodes, Paths, State


class Trees(NamedTuple):
    """The three states of one root, all with the ids of its chain."""

    before: State
    after: State
    live: State
    root_inode: int
    before_at: int
    """snapshot that ``before`` is"""
    top_fd: int
    """the open directory"""
    mounts: tuple[bytes, ...]
    """paths of what is mounted in it"""


class _Above(NamedTuple):
    """A live directory, or what is in its place."""

    inode: int | None
    is_directory: bool
    unseen: bool
    """it, or one above it, cannot be read"""


class _Names:
    """A state asked for paths, inodes by path, and the names of one inode."""

    def __init__(self, state: State, root_inode: int) -> None:
        self.state = state
        self.inodes = Inodes(state, root_inode)
        self._paths = Paths(state, root_inode)

    def at(self, path: bytes) -> Entry | None:
        """What is at a path."""
        inode = self.inodes.at(path)
        return None if inode is None else self.state.entry(inode)

    def group(self, entry: Entry) -> list[bytes]:
        """All names of an inode."""
        return [path for _, path in self._paths.of_inode(entry.inode)]


class Look:
    """Makes an item of each candidate."""

    def __init__(self, catalog: Catalog, trees: Trees, candidates: Candidates) -> None:
        self._catalog = catalog
        self._trees = trees
        self._candidates = candidates
        self._before = _Names(trees.before, trees.root_inode)
        self._after = _Names(trees.after, trees.root_inode)
        self._live = _Names(trees.live, trees.root_inode)
        self._above: dict[bytes, _Above] = {}
        self._sound: tuple[bytes | None, bool] = None, True

    def items(self, spill: Spill) -> SpilledMap[Item]:
        """All items by `order_key`."""
        made: SpilledMap[Item] = spill.map(_plain, _item)
        for key, candidate in self._candidates.pairs():
            made[key] = self._look(candidate)
        return made

    def _look(self, candidate: Candidate) -> Item:
        path = candidate.path
        above = self._directory(parent_of(path)) if path else _Above(None, True, False)
        live = self._entry(path, above)
        linked_as_other = self._linked_alike(self._before, candidate.before, live)
        mates: tuple[bytes, ...] = ()
        if not linked_as_other and candidate.before is not None and live is not None:
            mates = self._mates(candidate.before, live)
        item = Item(
            path=path,
            base=candidate.after,
            other=candidate.before,
            live=live,
            move=candidate.move,
            linked_as_base=self._linked_alike(self._after, candidate.after, live),
            linked_as_other=linked_as_other,
            mates=mates,
            unseen=above.unseen,
            has_directory=above.is_directory,
            on_the_way=candidate.on_the_way,
        )
        outcome = decide(item)
        if outcome is Outcome.APPLY:
            outcome = self._bar(item) or outcome
        return item._replace(outcome=outcome)

    # --- what is there -------------------------------------------------------------------------

    def _entry(self, path: bytes, above: _Above) -> Entry | None:
        state = self._trees.live
        if not path:
            return state.entry(self._trees.root_inode)
        if above.inode is None or not above.is_directory:
            return None
        inode = state.child(above.inode, path.rpartition(b"/")[2])
        return None if inode is None else state.entry(inode)

    def _directory(self, path: bytes) -> _Above:
        known = self._above
        found = known.get(path)
        if found is not None:
            return found
        if len(known) > REMEMBERED:
            known.clear()
        way = [path]
        while way[-1] and way[-1] not in known:
            way.append(parent_of(way[-1]))
        for at in reversed(way):
            if at in known:
                continue
            above = known[parent_of(at)] if at else _Above(None, True, False)
            entry = self._entry(at, above)
            known[at] = _Above(
                None if entry is None else entry.inode,
                is_dir(entry),
                above.unseen or (entry is not None and entry.state == Mark.UNREAD),
            )
        return known[path]

    def _linked_alike(self, then: _Names, old: Entry | None, live: Entry | None) -> bool:
        """Whether a name is linked to the same ones, of those that both states have."""
        if old is None or live is None or Kind.DIR in (old.kind, live.kind):
            return True
        one, two = then.group(old), self._live.group(live)
        if len(one) < 2 and len(two) < 2:
            return True
        here = {path for path in one if self._live.inodes.at(path) is not None}
        return here == {path for path in two if then.inodes.at(path) is not None}

    def _mates(self, before: Entry, live: Entry) -> tuple[bytes, ...]:
        """Names that it is to be linked to, and, where that is all there is to do, not to be linked to."""
        was, now = set(self._before.group(before)), set(self._live.group(live))
        mates = {path for path in was - now if self._live.inodes.at(path) is not None}
        if not changed(before, live):
            mates |= {path for path in now - was if self._before.inodes.at(path) is not None}
        return tuple(sorted(mates))

    # --- what speaks against it ----------------------------------------------------------------

    def _bar(self, item: Item) -> Conflict | None:
        if item.path and not self._is_sound(parent_of(item.path)):
            return Conflict(Why.DAMAGED)
        for path in item.mates:
            if order_key(path) not in self._candidates and not self._links_with(item, path):
                return Conflict(Why.LINKED, path=path)
        if item.live is None:
            return None
        deletes = item.other is None or item.goes
        if deletes and any(within(item.path, mount) for mount in self._trees.mounts):
            return Conflict(Why.MOUNT)
        if item.goes:
            stays = self._stays(item)
            if stays is not None:
                return Conflict(Why.HOLDS, path=stays)
        return None

    def _is_sound(self, path: bytes) -> bool:
        """Whether it is sure what the directory held before: else nothing is brought or taken away there."""
        if self._sound[0] != path:
            entry = self._before.at(path)
            sound = (
                entry is None or not is_dir(entry)
                or is_sound(self._catalog, entry, self._trees.before_at)
            )  # fmt: skip
            self._sound = path, sound
        return self._sound[1]

    def _links_with(self, item: Item, path: bytes) -> bool:
        """Whether a link to a name that nothing is done to can be made; it cannot be taken away alone."""
        here, then = self._live.at(path), self._before.at(path)
        if here is None or then is None or differences(then, here):
            return False
        return item.live is None or here.inode != item.live.inode

    def _stays(self, item: Item) -> bytes | None:
        """Something in a directory that the change is not about: it came later, or was left out."""
        strangers = (
            name
            for name in self._names_in(item.path)
            if order_key(join(item.path, name)) not in self._candidates
        )
        first = min(strangers, default=None)
        return None if first is None else join(item.path, first)

    def _names_in(self, path: bytes) -> Iterator[bytes]:
        """What the disk has of a directory, excluded or not."""
        try:
            fd = open_below(self._trees.top_fd, path.split(b"/"))
        except OSError:
            return  # whoever removes it will tell
        try:
            with os.scandir(fd) as found:  # listdir would hold all of them
                for entry in found:
                    yield os.fsencode(entry.name)
        finally:
            os.close(fd)


def _plain(item: Item) -> tuple[Any, ...]:
    _, base, other, live, *rest, outcome = item
    return (
        item.path,
        None if base is None else tuple(base),
        None if other is None else tuple(other),
        None if live is None else tuple(live),
        *rest,
        outcome.value if isinstance(outcome, Outcome) else plain_conflict(_sure(outcome)),
    )


def _item(plain: tuple[Any, ...]) -> Item:
    path, base, other, live, *rest, outcome = plain
    return Item._make((
        path,
        None if base is None else Entry._make(base),
        None if other is None else Entry._make(other),
        None if live is None else Entry._make(live),
        *rest,
        _OUTCOMES.get(outcome) or conflict_of(outcome),
    ))  # fmt: skip


_OUTCOMES = {outcome.value: outcome for outcome in Outcome}


def _sure(conflict: Conflict | None) -> Conflict:
    assert conflict is not None
    return conflict


def plain_conflict(conflict: Conflict) -> tuple[Any, ...]:
    """A conflict as plain values."""
    return conflict.why.value, conflict.what, conflict.path


def conflict_of(plain: tuple[Any, ...]) -> Conflict:
    """The reverse of `plain_conflict`."""
    why, what, path = plain
    return Conflict(Why(why), tuple(what), path)
