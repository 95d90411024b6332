"""What the repository offers for a word that is being typed: labels, snapshots, ranges, paths in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.paths import path_in
from snapfs.cli.frame.states import States
from snapfs.cli.frame.where import open_to_read
from snapfs.errors import SnapfsError
from snapfs.model.kinds import Kind
from snapfs.model.names import LATEST
from snapfs.model.reference import LATEST_POINT, read_reference
from snapfs.model.snapshot import StoredSide
from snapfs.tree.listing import list_tree

WORDS = frozenset({"reference", "file", "snapshot", "range", "state", "root", "root-or-directory"})
"""What the repository is asked for."""


def starting(typed: str, words: Iterable[str]) -> Iterator[str]:
    """Those that begin so."""
    return (word for word in words if word.startswith(typed))


def stored_words(what: str, typed: str, invocation: Invocation) -> Iterator[str]:
    """Full words for what is typed of a word that is ``what`` (one of ``WORDS``)."""
    with open_to_read(invocation) as repository:
        states = States(invocation, repository)
        if what in {"root", "root-or-directory"}:
            yield from starting(typed, (root.label for root in states.roots))
        elif what in {"reference", "file"} and ":" in typed:
            yield from _paths(typed, states)
        else:
            end = ":" if what == "file" else ""
            dots = _dots(typed) if what in {"range", "state"} else 0
            if dots:
                found = _range_ends(typed[:dots], typed[dots:], states)
            else:
                found = _snapshots(typed, states, end)
            yield from starting(typed, found)


def _snapshots(typed: str, states: States, end: str) -> Iterator[str]:
    """Snapshots of the root that is named, else of that I stand in; then the roots."""
    label, at, _ = typed.rpartition("@")
    if at:
        root = states.named_root(label)
        yield from (f"{label}@{name}{end}" for name in _names(states, root.id))
        return
    try:
        yield from (f"{name}{end}" for name in _names(states, states.root().id))
    except SnapfsError:
        pass
    yield from (f"{root.label}@" for root in states.roots)


def _dots(typed: str) -> int:
    """Where B begins in ``A..B``; 0 if it is no range."""
    at = typed.find("..")
    while at > 0:
        first = read_reference(typed[:at])
        if first is not None and first.path is None:
            return at + 2
        at = typed.find("..", at + 1)
    return 0


def _range_ends(start: str, typed: str, states: States) -> Iterator[str]:
    """Both ends are of one root, and it need not be named twice."""
    label, at, _ = typed.rpartition("@")
    first = read_reference(start.removesuffix(".."))
    root = states.root(label if at or first is None else first.root)
    yield from (f"{start}{label}{at}{name}" for name in _names(states, root.id))


def _names(states: States, root_id: int) -> list[str]:
    """Newest first, since that is what is meant most often."""
    chain = states.repository.snapshots(root_id)
    return [LATEST, *(snapshot.name for snapshot in reversed(chain))] if chain else []


def _paths(typed: str, states: States) -> Iterator[str]:
    """Names in the directory that PATH has come to."""
    folder, slash, _ = typed.rpartition("/")
    place = folder if slash and ":" in folder else typed[: _colon(typed)]
    reference = read_reference(place if ":" in place else f"{place}:", default=LATEST_POINT)
    if reference is None:
        return
    side = states.side(reference)
    head = f"{folder}/" if slash and ":" in folder else f"{place}:"
    path = path_in(states, reference, side.root)
    if not isinstance(side, StoredSide):
        return
    for listed in list_tree(states.repository, side, path, recursive=False):
        name = listed.path.rpartition(b"/")[2].decode("utf-8", "surrogateescape")
        word = head + name + ("/" if listed.entry.kind == Kind.DIR else "")
        if word.startswith(typed):
            yield word


def _colon(typed: str) -> int:
    """Where SNAPSHOT ends: the first colon after which a path may stand."""
    for at, char in enumerate(typed):
        if char == ":" and read_reference(f"{typed[:at]}:", default=LATEST_POINT) is not None:
            return at
    raise ValueError(typed)
