"""Where a path came from and where it went on: its stays under all names that it had.

A stay is an inode at a path for a while. Before it the same path may have meant another inode (an editor
saved by renaming), or the inode had another path: then it is followed there if diff would say that it was
renamed, that is if the old path is gone, the new one was free, and the content agrees (`tree.moves`). Where
only a directory above has another name, that directory is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from snapfs.catalog import view
from snapfs.catalog.database import Catalog
from snapfs.tree.history import Chain, Place, Places, at_path
from snapfs.tree.moves import same_thing
from snapfs.tree.state import StoredState


@dataclass(slots=True)
class Stay:
    """An inode at a path for a while."""

    inode: int
    place: Place
    came_from: bytes | None = None
    """the path before, if it was renamed at its beginning"""
    gone_until: int = 0
    """if the path then meant nothing: up to which position"""
    goes_on: bool = False
    """whether its end is the beginning of another stay"""
    only_beginning: bool = False
    """whether it only tells where the path went that came again later"""

    @property
    def ends_gone(self) -> bool:
        """Whether nothing was there afterwards."""
        return self.gone_until > 0


class Lineage:
    """Follows paths of one root (inside one read)."""

    def __init__(self, catalog: Catalog, chain: Chain) -> None:
        self._catalog = catalog
        self._chain = chain
        self._places = Places(catalog, {chain.root.root.id: chain})
        self._stays: dict[tuple[int, bytes], Stay] = {}
        self._held: dict[bytes, list[tuple[int, Place]]] = {}

    def of(self, path: bytes) -> list[Stay]:
        """All stays of a path and of what it was before, by time; what it became, unless it came again.

        Empty if the chain never had the path.
        """
        asked = [self._stay(inode, place) for inode, place in self._at(path)]
        for stay in asked:
            self._follow_back(stay)
        for stay in asked:
            self._follow_on(stay, to_the_end=stay is asked[-1])
        found = sorted(self._stays.values(), key=lambda stay: (stay.place.span, stay.place.path))
        self._see_ends(found)
        return found

    def _stay(self, inode: int, place: Place) -> Stay:
        return self._stays.setdefault((place.span.first, place.path), Stay(inode, place))

    def _follow_back(self, stay: Stay) -> None:
        while True:
            before = self._neighbour(stay, stay.place.span.first, stay.place.span.first - 1)
            if before is None:
                return
            if before.place.path != stay.place.path:
                stay.came_from = before.place.path
            before.goes_on = True
            stay = before

    def _follow_on(self, stay: Stay, *, to_the_end: bool) -> None:
        while True:
            known = len(self._stays)
            after = self._neighbour(stay, stay.place.span.end - 1, stay.place.span.end)
            if after is None:
                return
            stay.goes_on = True
            if after.place.path != stay.place.path:
                after.came_from = stay.place.path
                if not to_the_end:
                    after.only_beginning = len(self._stays) > known
                    return
            stay = after

    def _neighbour(self, stay: Stay, here: int, there: int) -> Stay | None:
        """What a stay was or became: ``here`` is its position at that end, ``there`` the one beyond."""
        if not 0 <= there < self._chain.whole.end:
            return None
        held = self._holder(stay.place.path, there)
        if held is not None:
            return self._stay(*held)
        at = min(here, there)
        for before, after in self._moves(stay.inode, at):
            ours, other = (before, after) if here < there else (after, before)
            if ours.path == stay.place.path and self._moved(stay.inode, before, after, at):
                return self._stay(stay.inode, other)
        return None

    def _moves(self, inode: int, at: int) -> Iterator[tuple[Place, Place]]:
        """Places of an inode at position ``at`` and the next that may be ends of one move.

        A name that stayed went with its directory. Of names that came and went the first goes with the
        first, as in a diff.
        """
        places = self._places.of(self._chain, inode)
        before, after = (
            {(one.parent, one.name): one for one in places if _has(one, position)}
            for position in (at, at + 1)
        )
        for key in before.keys() & after.keys():
            yield before[key], after[key]
        gone, come = (
            sorted((side[key] for key in side.keys() - other.keys()), key=lambda one: one.path)
            for side, other in ((before, after), (after, before))
        )
        for place in come:
            if not gone:
                return
            if self._is_free(place, at) and self._is_free(gone[0], at + 1):
                yield gone.pop(0), place

    def _moved(self, inode: int, older: Place, newer: Place, at: int) -> bool:
        """Whether a diff of position ``at`` and the next says that this was renamed, or a directory above."""
        if older.path == newer.path:
            return False
        while (older.parent, older.name) == (newer.parent, newer.name):
            inode = older.parent
            places = self._places.of_directory(self._chain, inode)
            one = next((place for place in places if _has(place, at)), None)
            two = next((place for place in places if _has(place, at + 1)), None)
            if one is None or two is None or one.path == two.path:
                return False
            if not (self._is_free(one, at + 1) and self._is_free(two, at)):
                return False
            older, newer = one, two
        a, b = (self._chain.snapshots[number].id for number in (at, at + 1))
        before, after = view.inode(self._catalog, inode, a), view.inode(self._catalog, inode, b)
        if before is None or after is None:
            return False
        states = StoredState(self._catalog, a), StoredState(self._catalog, b)
        return same_thing(*states, before, after)

    def _at(self, path: bytes) -> list[tuple[int, Place]]:
        if path not in self._held:
            self._held[path] = at_path(self._catalog, self._chain, path)
        return self._held[path]

    def _holder(self, path: bytes, position: int) -> tuple[int, Place] | None:
        """What is at a path at a position."""
        return next((one for one in self._at(path) if _has(one[1], position)), None)

    def _is_free(self, place: Place, position: int) -> bool:
        return self._holder(place.path, position) is None

    def _see_ends(self, found: Sequence[Stay]) -> None:
        """Which stays end in nothing, and for how long."""
        next_at: dict[bytes, int] = {}
        for stay in reversed(found):
            path, span = stay.place.path, stay.place.span
            end = next_at.get(path, self._chain.whole.end)
            if not (stay.goes_on or stay.only_beginning) and span.end < end:
                stay.gone_until = end
            next_at[path] = span.first


def _has(place: Place, position: int) -> bool:
    return place.span.first <= position < place.span.end
