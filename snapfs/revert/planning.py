"""From two snapshots and a live state to a plan: candidates, items, conflicts, steps.

All of it reads one transaction, and lies in one spill that the caller closes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from snapfs.catalog import rows
from snapfs.catalog.database import Catalog
from snapfs.catalog.rows import RootRow, SnapshotRow
from snapfs.catalog.spill import Spill, SpilledMap
from snapfs.errors import NotFoundError
from snapfs.fs.matching import RuleMatcher
from snapfs.fs.mounts import mounts_below
from snapfs.fs.rules import Rules
from snapfs.materialize.wanted import Moved
from snapfs.model.path import within
from snapfs.model.snapshot import Root, Snapshot
from snapfs.revert.candidates import Collector, LeftOut
from snapfs.revert.look import Look, Trees, conflict_of, plain_conflict
from snapfs.revert.moves import moved_back
from snapfs.revert.options import Left, RevertOptions, Undone
from snapfs.revert.steps import Steps
from snapfs.threeway import Conflict, Item, Settled, changed, settle
from snapfs.tree.between import Between
from snapfs.tree.state import State, StoredState, spared

MOST_TOUCHED = 20
"""Paths outside of those asked for that an undo names; with more it is about the whole root."""


class Ends:
    """The two snapshots with their rows, as they are in the catalog now."""

    def __init__(self, catalog: Catalog, root: Root, a: Snapshot, b: Snapshot) -> None:
        """Raises NotFoundError if one of them is gone."""
        row = rows.root(catalog, root.id)
        if row is None or row.inode_id is None:
            raise NotFoundError(f"root {root.label} has no snapshot", subject=root.label)
        self.row: RootRow = row
        self.root_inode = row.inode_id
        self.a, self.b = _row(catalog, a), _row(catalog, b)

    @property
    def rules(self) -> Rules:
        """Those that the live tree is seen with: of the snapshot that it is compared with."""
        return Rules.from_text(self.b.rules)


def _row(catalog: Catalog, snapshot: Snapshot) -> SnapshotRow:
    row = rows.snapshot_row(catalog, snapshot.id)
    if row is None:
        raise NotFoundError(f"snapshot {snapshot.name} is gone", subject=snapshot.name)
    return row


class Plan:
    """What is to be undone, and what is in the way."""

    def __init__(
        self,
        catalog: Catalog,
        ends: Ends,
        live: State,
        top_fd: int,
        options: RevertOptions,
        spill: Spill,
    ) -> None:
        """``live`` is the state of the directory open as ``top_fd``."""
        self._ends = ends
        self._options = options
        self._spill = spill
        before, after = StoredState(catalog, ends.a.id), StoredState(catalog, ends.b.id)
        between = Between(catalog, ends.row, spill, ends.a.id, ends.b.id)
        collector = Collector(spill, before, after, options.paths)
        collector.collect(between.changes, *_left_out(catalog, ends))
        self.left_out = collector.left_out
        trees = Trees(
            before, after, live, ends.root_inode, ends.a.id, top_fd, _mounts(ends.row.root)
        )
        items: SpilledMap[Item] = Look(catalog, trees, collector.candidates()).items(spill)
        conflicts: SpilledMap[Conflict] = spill.map(plain_conflict, conflict_of)
        self._settled: Settled = settle(items, conflicts)
        self.steps = Steps(catalog, trees, self._settled, options.paths, spill)
        self.conflicts = sum(1 for _ in self._settled.conflicts())

    @property
    def may_go_on(self) -> bool:
        """Whether there is anything to do, and no conflict that forbids it."""
        return self.steps.any and not (self._options.all_or_nothing and self.conflicts)

    def moved(self) -> Moved:
        """What goes only once it is back where it was."""
        return moved_back(self._settled, self._spill)

    def told(self) -> Iterator[Undone]:
        """What is done, in byte order of the paths; a directory that goes stands for all in it."""
        ordered: SpilledMap[tuple[str, tuple[str, ...]]] = self._spill.map()
        for item in self._settled.applied():
            ordered[item.path] = _done_to(item)
        for path, (letter, what) in ordered.pairs():
            yield Undone(letter, path, what)

    def left(self) -> Iterator[Left]:
        """The conflicts, in byte order of the paths."""
        ordered: SpilledMap[Conflict] = self._spill.map(plain_conflict, conflict_of)
        for item, conflict in self._settled.conflicts():
            ordered[item.path] = conflict
        for path, conflict in ordered.pairs():
            reason = conflict.text(self._ends.b.name, self._ends.a.name)
            yield Left("C", path, conflict.why, reason)

    def touched(self) -> tuple[bytes, ...]:
        """Paths that all that is done lies in: of those asked for, and what is done with them elsewhere."""
        asked = self._options.paths
        if not asked:
            return (b"",)
        tops: dict[bytes, None] = {}
        for path in chain((item.path for item in self._settled.applied()), self.steps.linked_to()):
            if not any(within(path, top) for top in tops):
                tops[next((top for top in asked if within(path, top)), path)] = None
                if len(tops) > len(asked) + MOST_TOUCHED:
                    return (b"",)
        for path in self.steps.mended():
            tops.update(dict.fromkeys(top for top in asked if within(path, top)))
        return tuple(tops)


def _done_to(item: Item) -> tuple[str, tuple[str, ...]]:
    """Letter, and what differs now."""
    live, other = item.live, item.other
    if live is None:
        return "+", ()
    if other is None:
        return "-", ()
    what = changed(live, other)
    return "M", what if item.linked_as_other else (*what, "links")


def _mounts(root: Root) -> tuple[bytes, ...]:
    assert root.path is not None
    return tuple(os.path.relpath(mount.point, root.path) for mount in mounts_below(root.path))


def _nothing_left_out(_path: bytes, _is_dir: bool) -> bool:
    return False


def _left_out(catalog: Catalog, ends: Ends) -> tuple[LeftOut, LeftOut]:
    """Of both snapshots; where the rules are the same, what one has and the other not really came or went."""
    a, b = Rules.from_text(ends.a.rules), ends.rules
    if replace(a, spared="") == replace(b, spared=""):
        return _nothing_left_out, _nothing_left_out
    root_id = ends.row.root.id
    return _leaves_out(catalog, root_id, a), _leaves_out(catalog, root_id, b)


def _leaves_out(catalog: Catalog, root_id: int, rules: Rules) -> LeftOut:
    matcher = RuleMatcher(rules)
    brought = spared(catalog, root_id, rules.spared)
    return lambda path, is_directory: matcher.excludes(path, is_directory) and not brought(path)
