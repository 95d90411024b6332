"""The rule for one path, and what it means for others, without any tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import pytest

from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind, State
from snapfs.threeway import Conflict, Item, Outcome, Settled, Why, decide, order_key, settle


def entry(
    kind: Kind = Kind.FILE, *, content: int = 0, mode: int = 0o644, mtime: int = 0, **more: int
) -> Entry:
    return Entry(
        b"", 1, kind, mode, 0, 0, 0, b"", content, mtime, 0, 0, b"", content, more.get("state", 0),
        None, 0, 0, 0, 0, 1, None,
    )  # fmt: skip


V = TypeVar("V")
ONE, TWO, THREE = (entry(content=number) for number in (1, 2, 3))
DIR = entry(Kind.DIR, mode=0o755)


class Map(dict[bytes, V]):
    """As the spilled one, in order of keys."""

    def pairs(self) -> Iterator[tuple[bytes, V]]:
        return iter(sorted(self.items(), key=lambda pair: pair[0]))


def plan(*items: Item) -> tuple[Settled, dict[bytes, Why]]:
    settled = settle(Map((order_key(item.path), item) for item in items), Map())
    return settled, {item.path: conflict.why for item, conflict in settled.conflicts()}


@pytest.mark.parametrize(
    ("base", "other", "live", "outcome"),
    [
        (TWO, ONE, TWO, Outcome.APPLY),
        (TWO, ONE, ONE, Outcome.DONE),
        (TWO, ONE, THREE, Why.CHANGED),
        (TWO, ONE, None, Why.GONE),
        (TWO, ONE, DIR, Why.CHANGED),
        (TWO, None, TWO, Outcome.APPLY),
        (TWO, None, None, Outcome.DONE),
        (TWO, None, THREE, Why.CHANGED),
        (None, ONE, None, Outcome.APPLY),
        (None, ONE, ONE, Outcome.DONE),
        (None, ONE, THREE, Why.CAME),
        (DIR, ONE, DIR, Outcome.APPLY),
        (DIR, ONE, entry(Kind.DIR, mode=0o755, mtime=7), Outcome.APPLY),
        (DIR, ONE, entry(Kind.DIR, mode=0o700), Why.CHANGED),
        (DIR, entry(Kind.DIR, mode=0o755, mtime=7), entry(Kind.DIR, mode=0o700), Outcome.DONE),
        (entry(content=2, state=State.UNREAD), ONE, TWO, Why.UNREAD_BASE),
        (TWO, entry(content=1, state=State.UNREAD), TWO, Why.UNREAD_OTHER),
        (TWO, ONE, entry(content=2, state=State.UNREAD), Why.UNREAD_LIVE),
    ],
)
def test_one_path(
    base: Entry | None, other: Entry | None, live: Entry | None, outcome: Outcome | Why
) -> None:
    found = decide(Item(b"p", base, other, live))
    assert (found.why if isinstance(found, Conflict) else found) is outcome


def test_what_changed_is_told() -> None:
    later = entry(content=2, mode=0o600)
    assert decide(Item(b"p", TWO, ONE, later)) == Conflict(Why.CHANGED, ("mode",))
    unlinked = Item(b"p", TWO, ONE, TWO, linked_as_base=False)
    assert decide(unlinked) == Conflict(Why.CHANGED, ("links",))


def test_a_directory_goes_only_with_all_in_it() -> None:
    items = [
        Item(b"d", DIR, None, DIR),
        Item(b"d/e", DIR, None, DIR),
        Item(b"d/e/edited", TWO, None, THREE),
        Item(b"d/e/x", TWO, None, TWO),
        Item(b"d/f", DIR, None, DIR),
        Item(b"d/f/x", TWO, None, TWO),
    ]
    settled, conflicts = plan(*items)
    assert conflicts == {b"d": Why.HOLDS, b"d/e": Why.HOLDS, b"d/e/edited": Why.CHANGED}
    assert [item.path for item in settled.applied()] == [b"d/f", b"d/e/x"]


def test_a_directory_that_cannot_be_made_stands_for_what_belongs_into_it() -> None:
    settled, conflicts = plan(
        Item(b"d", None, DIR, ONE),
        Item(b"d/e", None, DIR, None, has_directory=False),
        Item(b"d/e/x", None, TWO, None, has_directory=False),
        Item(b"f/x", None, TWO, None, has_directory=False),
        Item(b"g", ONE, DIR, ONE),
        Item(b"g/x", None, TWO, None, has_directory=False),
    )
    assert conflicts == {b"d": Why.CAME, b"f/x": Why.NO_DIRECTORY}
    assert [item.path for item in settled.applied()] == [b"g", b"g/x"]


def test_a_move_is_undone_at_both_ends_or_none() -> None:
    moves: dict[bytes, tuple[Entry | None, Entry | None, set[Why]]] = {
        b"fine": (None, TWO, set()),
        b"edited": (None, THREE, {Why.MOVED, Why.CHANGED}),
        b"gone": (None, None, {Why.MOVED}),
        b"taken": (ONE, TWO, {Why.CAME, Why.MOVED}),
        b"back": (TWO, None, set()),
        b"copied": (TWO, TWO, set()),
    }
    items = []
    for name, (old, new, _) in moves.items():
        items.append(Item(name, None, TWO, old, move=b"new/" + name))
        items.append(Item(b"new/" + name, TWO, None, new, move=name))
    settled, conflicts = plan(*items)
    for name, (_, _, expected) in moves.items():
        assert {conflicts[path] for path in (name, b"new/" + name) if path in conflicts} == expected
    applied = {item.path for item in settled.applied()}
    assert applied == {b"fine", b"new/fine", b"new/copied"}


def test_conflicts_go_on_from_move_to_move() -> None:
    """What cannot go back stays in a directory, which is so in the way of what moved from its place."""
    settled, conflicts = plan(
        Item(b"a", None, ONE, THREE, move=b"d/a"),  # taken since
        Item(b"d", DIR, TWO, DIR),  # was a file, which is at e now
        Item(b"d/a", ONE, None, ONE, move=b"a"),
        Item(b"e", TWO, None, TWO, move=b"d"),
        Item(b"f", DIR, None, DIR),
        Item(b"z", TWO, ONE, TWO),
    )
    assert conflicts[b"d"] is Why.HOLDS
    assert conflicts[b"d/a"] is Why.MOVED
    assert conflicts[b"e"] is Why.MOVED
    assert [item.path for item in settled.applied()] == [b"f", b"z"]


def test_in_a_deep_nest_what_stays_is_found_at_once() -> None:
    paths = [b"/".join([b"d"] * depth) for depth in range(1, 400)]
    items = [Item(path, DIR, None, DIR) for path in paths]
    _, conflicts = plan(*items, Item(paths[-1] + b"/x", TWO, None, THREE))
    assert set(conflicts) == {*paths, paths[-1] + b"/x"}


def test_links_are_made_again_together() -> None:
    one = Item(b"one", TWO, TWO, TWO, linked_as_other=False, mates=(b"two",))
    _, conflicts = plan(one, Item(b"two", TWO, TWO, THREE, linked_as_other=False, mates=(b"one",)))
    assert conflicts == {b"one": Why.LINKED, b"two": Why.CHANGED}
    _, conflicts = plan(one, Item(b"two", TWO, TWO, TWO, linked_as_other=False, mates=(b"one",)))
    assert not conflicts


def test_a_directory_that_only_leads_there_is_made_if_it_leads_to_something() -> None:
    way = Item(b"d", None, DIR, None, on_the_way=True)
    settled, conflicts = plan(way, Item(b"d/x", None, ONE, None, has_directory=False))
    assert [item.path for item in settled.applied()] == [b"d", b"d/x"]
    moved = Item(b"d/x", None, ONE, None, move=b"e", has_directory=False)
    settled, conflicts = plan(way, moved, Item(b"e", ONE, None, TWO, move=b"d/x"))
    assert list(settled.applied()) == []
    assert conflicts == {b"d/x": Why.MOVED, b"e": Why.CHANGED}


def test_order_of_paths() -> None:
    """All names of a directory together, and before those of the directories in it."""
    paths = [b"", b"a", b"a-", b"b", b"a/x", b"a/y", b"a/x/1", b"a-/z"]
    assert sorted(sorted(paths), key=order_key) == paths
