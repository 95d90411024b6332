"""One path in three states, and what the rule says of it alone."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind, State
from snapfs.threeway.conflict import Conflict, Why
from snapfs.tree.differences import differences


class Outcome(Enum):
    """What the rule says where there is no conflict."""

    DONE = "done"
    """It is as in the other state already."""
    APPLY = "apply"
    """It is as in the base, and is made as in the other state."""


class Item(NamedTuple):
    """A path that the change is about. None is nothing of that name."""

    path: bytes
    base: Entry | None
    """what the change began with"""
    other: Entry | None
    """what it made of that"""
    live: Entry | None
    """what is there now"""
    move: bytes | None = None
    """the path of its other end, if the change moved it"""
    linked_as_base: bool = True
    """whether its name is linked to the same ones as in the base, of those that both have"""
    linked_as_other: bool = True
    """the same of the other state"""
    mates: tuple[bytes, ...] = ()
    """names that it can only be linked to, or parted from, if they are made as in the other state too"""
    unseen: bool = False
    """it lies in a live directory that cannot be read"""
    has_directory: bool = True
    """there is a live directory to make it in"""
    on_the_way: bool = False
    """it was not asked for, and only made if something in it is"""
    outcome: Outcome | Conflict | None = None
    """what `decide` has said, or why it cannot be done whatever the states say"""

    @property
    def goes(self) -> bool:
        """Whether a directory is to go, which it can only if all in it does."""
        return is_dir(self.live) and not is_dir(self.other)

    @property
    def comes(self) -> bool:
        """Whether a name is to be made."""
        return self.live is None and self.other is not None


def is_dir(entry: Entry | None) -> bool:
    """Whether there is a directory."""
    return entry is not None and entry.kind == Kind.DIR


def decide(item: Item) -> Outcome | Conflict:
    """The three-way rule for one path.

    The times of a directory follow what is in it: alone they are neither a difference nor a conflict.
    """
    return _decide(item) if item.outcome is None else item.outcome


def _decide(item: Item) -> Outcome | Conflict:
    base, other, live = item.base, item.other, item.live
    if live is None and other is None and not item.unseen:
        return Outcome.DONE
    if base is not None and base.state == State.UNREAD:
        return Conflict(Why.UNREAD_BASE)
    if other is not None and other.state == State.UNREAD:
        return Conflict(Why.UNREAD_OTHER)
    if is_dir(base) and is_dir(other) and not _differ(base, other):
        return Outcome.DONE
    if item.unseen or (live is not None and live.state == State.UNREAD):
        return Conflict(Why.UNREAD_LIVE)
    if item.linked_as_other and not _differ(other, live):
        return Outcome.DONE
    if live is None:
        return Outcome.APPLY if base is None else Conflict(Why.GONE)
    if base is None:
        return Conflict(Why.CAME)
    what = changed(base, live)
    if not item.linked_as_base:
        what = (*what, "links")
    if what:
        return Conflict(Why.CHANGED, what)
    return Outcome.APPLY


def _differ(one: Entry | None, two: Entry | None) -> bool:
    if one is None or two is None:
        return one is not two
    return bool(changed(one, two))


def changed(one: Entry, two: Entry) -> tuple[str, ...]:
    """What differs, but for the time of a directory."""
    what = differences(one, two)
    if "mtime" in what and is_dir(two):
        return tuple(word for word in what if word != "mtime")
    return what


def order_key(path: bytes) -> bytes:
    """Sorts paths by directory: all names of one together, directories depth first, each before its own.

    No name has a NUL in it, and none is empty.
    """
    if not path:
        return b""
    above, _, name = path.rpartition(b"/")
    return b"%b\0\0%b" % (above.replace(b"/", b"\0"), name)
