"""What the outcome of one path means for others.

A directory goes only if all in it does; a name is made only in a directory; a move is undone at both ends
or at none, so that nothing is doubled and nothing lost, and so are links. Each of these only ever turns what was to be
applied into a conflict, so that going over it until nothing turns comes to one and the same end, whatever
the order. What there is to hold is in the caller's collections.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from snapfs.model.path import parent_of
from snapfs.threeway.conflict import Conflict, Why
from snapfs.threeway.item import Item, Outcome, decide, is_dir, order_key


class Items(Protocol):
    """Items by `order_key`."""

    def pairs(self) -> Iterator[tuple[bytes, Item]]:
        """All, in order of keys."""

    def get(self, key: bytes) -> Item | None:
        """One, None if there is none."""


class Conflicts(Protocol):
    """Conflicts by `order_key` of their paths."""

    def get(self, key: bytes) -> Conflict | None:
        """One, None if there is none."""

    def __setitem__(self, key: bytes, value: Conflict) -> None: ...

    def pairs(self) -> Iterator[tuple[bytes, Conflict]]:
        """All, in order of keys."""


class Settled:
    """The plan: items, each with its conflict or what is to be done."""

    def __init__(self, items: Items, conflicts: Conflicts) -> None:
        self._items = items
        self._conflicts = conflicts
        self._last: tuple[bytes, Item | None] | None = None

    def item(self, path: bytes) -> Item | None:
        """The item of a path."""
        return self._items.get(order_key(path))

    def above(self, path: bytes) -> Item | None:
        """The item of the directory of a path, remembered for the next path in it."""
        if not path:
            return None
        parent = parent_of(path)
        if self._last is None or self._last[0] != parent:
            self._last = parent, self.item(parent)
        return self._last[1]

    def applies(self, item: Item) -> bool:
        """Whether it is to be made as in the other state."""
        return decide(item) is Outcome.APPLY and self._conflicts.get(order_key(item.path)) is None

    def goes_with_directory(self, item: Item) -> bool:
        """Whether the directory that it is in goes, and all in it."""
        above = self.above(item.path)
        return above is not None and above.goes and self.applies(above)

    def items(self) -> Iterator[Item]:
        """All items, directories before what is in them."""
        return (item for _, item in self._items.pairs())

    def applied(self) -> Iterator[Item]:
        """What is to be done, a directory that goes for all in it."""
        for item in self.items():
            if self.applies(item) and not self.goes_with_directory(item):
                yield item

    def conflicts(self) -> Iterator[tuple[Item, Conflict]]:
        """What is left as it is, but for what follows from a directory told before: it stands for all in it."""
        for key, conflict in self._conflicts.pairs():
            item = self._items.get(key)
            if item is None or conflict.why is Why.UNASKED or self._follows(item, conflict):
                continue
            yield item, conflict

    def _follows(self, item: Item, conflict: Conflict) -> bool:
        if conflict.why is Why.NO_DIRECTORY:
            return self._conflict_above(item) is not None
        if conflict.why is Why.MOVED and item.move is not None:
            end = self.item(item.move)
            there = None if end is None else self._conflicts.get(order_key(end.path))
            above = self._conflict_above(item)
            return (
                end is not None and there is not None and there.why is Why.NO_DIRECTORY
                and self._follows(end, there)
                and above is not None and above.why is Why.MOVED
            )  # fmt: skip
        return False

    def _conflict_above(self, item: Item) -> Conflict | None:
        return self._conflicts.get(order_key(parent_of(item.path))) if item.path else None


def settle(items: Items, conflicts: Conflicts) -> Settled:
    """Fill ``conflicts``, which is empty."""
    return _Settling(items, conflicts).run()


class _Settling:
    def __init__(self, items: Items, conflicts: Conflicts) -> None:
        self._items = items
        self._conflicts = conflicts
        self._settled = Settled(items, conflicts)

    def run(self) -> Settled:
        ways = False
        for key, item in self._items.pairs():
            ways = ways or item.on_the_way
            outcome = decide(item)
            if isinstance(outcome, Conflict) and self._conflicts.get(key) is None:
                self._stick(item, outcome)
        while self._pass():
            pass
        if ways:
            self._leave_out_unasked()
        return self._settled

    def _leave_out_unasked(self) -> None:
        """Directories that only lead to what is made, where nothing is."""
        on_the_way: dict[bytes, Item] = {}
        for _, item in self._items.pairs():
            if not self._settled.applies(item):
                continue
            if item.on_the_way:
                on_the_way[item.path] = item
            elif on_the_way and item.other is not None:
                above = item.path
                while above:
                    above = parent_of(above)
                    on_the_way.pop(above, None)
        for path in on_the_way:
            self._conflicts[order_key(path)] = Conflict(Why.UNASKED)

    def _pass(self) -> bool:
        """Go over all once; whether there was a conflict that may mean something further up."""
        any_new = False
        for _, item in self._items.pairs():
            if self._settled.applies(item):
                hindrance = self._hindrance(item)
                if hindrance is not None:
                    self._stick(item, hindrance)
                    any_new = True
        return any_new

    def _hindrance(self, item: Item) -> Conflict | None:
        if item.comes and item.path:
            above = self._settled.above(item.path)
            if not self._will_be_directory(above, item.has_directory):
                return Conflict(Why.NO_DIRECTORY, path=parent_of(item.path))
        for path in item.mates:
            mate = self._settled.item(path)
            if mate is not None and self._conflicts.get(order_key(path)) is not None:
                return Conflict(Why.LINKED, path=path)
        return self._move(item)

    def _will_be_directory(self, item: Item | None, is_now: bool) -> bool:
        if item is None:
            return is_now
        return is_dir(item.other if self._settled.applies(item) else item.live)

    def _move(self, item: Item) -> Conflict | None:
        """Whether the other end of a move stands against it.

        Of a directory that moved only that counts whether there is one: what is in it speaks for itself.
        """
        end = None if item.move is None else self._settled.item(item.move)
        if end is None or self._settled.applies(end):
            return None
        if (
            item.other is None
        ):  # it is where the move led to, and goes if the old place is as it was
            outcome = decide(end)
            fine = is_dir(end.live) if is_dir(item.live) else (
                outcome is Outcome.DONE and self._conflicts.get(order_key(end.path)) is None
            )  # fmt: skip
        else:  # it is where the move began; at its other end is what came of it, or nothing any more
            # What was there before the move is there again after a run that was killed half-way.
            came_back = (
                end.other is not None and decide(end) is Outcome.DONE
                and self._conflicts.get(order_key(end.path)) is None
            )  # fmt: skip
            fine = came_back or (is_dir(end.live) and is_dir(item.other))
        return None if fine else Conflict(Why.MOVED, path=end.path)

    def _stick(self, item: Item, conflict: Conflict) -> None:
        todo = [(item, conflict)]
        while todo:
            one, why = todo.pop()
            key = order_key(one.path)
            if self._conflicts.get(key) is not None:
                continue
            self._conflicts[key] = why
            end = None if one.move is None else self._settled.item(one.move)
            if end is not None and self._settled.applies(end):
                hindrance = self._move(end)
                if hindrance is not None:
                    todo.append((end, hindrance))
            above = self._settled.item(parent_of(one.path)) if one.path else None
            if one.live is None or above is None or not above.goes:
                continue
            if self._settled.applies(above):
                todo.append((above, Conflict(Why.HOLDS, path=one.path)))
