"""The paths that a change is about, with what each was before and after it.

A diff tells a directory that moved in one line; here every path in it counts for itself, at its old place
and at its new one, each knowing the other. What the rules of one of the two snapshots left out was neither
made nor removed by the change: it only was not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from snapfs.catalog.spill import Spill, SpilledMap
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind
from snapfs.model.path import parent_of, within
from snapfs.threeway import is_dir, order_key
from snapfs.tree.changes import Change
from snapfs.tree.state import State, walk


class Candidate(NamedTuple):
    """A path that differs between the two snapshots. None is nothing of that name."""

    path: bytes
    before: Entry | None
    after: Entry | None
    move: bytes | None = None
    """the other end, if it moved"""
    on_the_way: bool = False
    """not asked for, but a directory that what was asked for needs"""


Candidates = SpilledMap[Candidate]
LeftOut = Callable[[bytes, bool], bool]
"""Says of a path, and whether it is a directory, that a snapshot does not have it because of its rules."""


def _plain(one: Candidate) -> tuple[Any, ...]:
    before, after = one.before, one.after
    return (
        one.path,
        None if before is None else tuple(before),
        None if after is None else tuple(after),
        one.move,
        one.on_the_way,
    )


def _candidate(plain: tuple[Any, ...]) -> Candidate:
    path, before, after, move, on_the_way = plain
    return Candidate(
        path,
        None if before is None else Entry._make(before),
        None if after is None else Entry._make(after),
        move,
        on_the_way,
    )


class Collector:
    """Finds the candidates, by `order_key` of their paths."""

    def __init__(self, spill: Spill, before: State, after: State, tops: tuple[bytes, ...]) -> None:
        """``before`` and ``after`` are the states of the two snapshots; ``tops`` the paths asked for, none: all."""
        self._tops = tops
        self._spill = spill
        self._before = before
        self._after = after
        self._found: Candidates = spill.map(_plain, _candidate)
        self.left_out = 0
        """paths that only one of the two has because the other did not look at them"""

    def collect(
        self,
        changes: Callable[[], Iterator[Change]],
        left_out_before: LeftOut,
        left_out_after: LeftOut,
    ) -> None:
        """Take in a diff, which is read twice."""
        for change in changes():
            old = change.old_path
            if old is not None and (self._concerns(old) or self._concerns(change.path)):
                self._move(change)
        for change in changes():
            if change.old_path is not None or not self._concerns(change.path):
                continue
            if order_key(change.path) in self._found:
                continue
            one = Candidate(change.path, change.old, change.new)
            missing = (
                left_out_before if one.before is None
                else left_out_after if one.after is None
                else None
            )  # fmt: skip
            entry = one.before or one.after
            if missing is not None and missing(one.path, is_dir(entry)):
                self.left_out += 1
                continue
            self._found[order_key(one.path)] = one

    def _concerns(self, path: bytes) -> bool:
        """Whether a path lies in what was asked for, or leads there."""
        return not self._tops or any(within(path, top) or within(top, path) for top in self._tops)

    def _move(self, change: Change) -> None:
        old, new = change.old_path, change.path
        before, after = change.old, change.new
        assert old is not None
        assert before is not None
        assert after is not None
        self._put(Candidate(old, before, None, new))
        self._put(Candidate(new, None, after, old))
        if before.kind != Kind.DIR:
            return
        for path, entry in walk(self._before.children, before.inode, old):
            self._put(Candidate(path, entry, None))
        for path, entry in walk(self._after.children, after.inode, new):
            there = old + path[len(new) :]
            one = self._found.get(order_key(there))
            together = one is not None and one.before is not None and (
                one.before.inode == entry.inode and one.move is None
            )  # fmt: skip
            self._put(Candidate(path, None, entry, there if together else None))
            if one is not None and together:
                self._found[order_key(there)] = one._replace(move=path)

    def _put(self, one: Candidate) -> None:
        """What moved out of a directory that moved is met twice: the move that is its own counts."""
        known = self._found.get(order_key(one.path))
        if known is None or (known.move is None and one.move is not None):
            self._found[order_key(one.path)] = one

    def candidates(self) -> Candidates:
        """Those that were asked for, with the other ends of moves and the directories that these need."""
        if not self._tops:
            return self._found
        chosen: Candidates = self._spill.map(_plain, _candidate)
        for key, one in self._found.pairs():
            if any(within(one.path, top) for top in self._tops):
                chosen[key] = one
                self._choose_with(chosen, one)
        return chosen

    def _choose_with(self, chosen: Candidates, one: Candidate) -> None:
        needing = [one]
        if one.move is not None:
            end = self._found.get(order_key(one.move))
            if end is not None:
                chosen[order_key(end.path)] = end
                needing.append(end)
        for each in needing:
            path = each.path if each.before is not None else b""
            while path:
                path = parent_of(path)
                key = order_key(path)
                above = self._found.get(key)
                if above is None or not is_dir(above.before) or is_dir(above.after):
                    break
                if key not in chosen:
                    chosen[key] = above._replace(on_the_way=True)
