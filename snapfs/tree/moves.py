"""When one inode under two paths is one thing that moved: the rule that diff and log share."""

from __future__ import annotations

from collections.abc import Iterator

from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind
from snapfs.tree.state import State

Pairs = Iterator[tuple[Entry | None, Entry | None]]


def same_thing(a: State, b: State, before: Entry, after: Entry) -> bool:
    """Whether an inode is the same thing in state ``a`` and in ``b``: inode numbers are reused.

    A directory is if at least one name in it stayed, or both are empty; anything else if its content did.
    """
    if before.kind != after.kind:
        return False
    if before.kind == Kind.DIR:
        both = beside(a.children(before.inode), b.children(after.inode))
        first = next(both, None)
        return first is None or None not in first or any(None not in pair for pair in both)
    if before.kind == Kind.FILE:
        return before.content == after.content and before.size == after.size
    return before.target == after.target and before.rdev == after.rdev


def beside(one: Iterator[Entry], two: Iterator[Entry]) -> Pairs:
    """The entries of two directories by name: those of one name together."""
    a, b = next(one, None), next(two, None)
    while a is not None or b is not None:
        if b is None or (a is not None and a.name < b.name):
            yield a, None
            a = next(one, None)
        elif a is None or b.name < a.name:
            yield None, b
            b = next(two, None)
        else:
            yield a, b
            a, b = next(one, None), next(two, None)
