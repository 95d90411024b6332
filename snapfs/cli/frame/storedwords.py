"""What the repository offers for a word that is being typed: labels, snapshots, ranges, paths in them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from snapfs.cli.frame.declared import COMMON
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.params import params_of
from snapfs.cli.frame.paths import ordinary_path, path_in
from snapfs.cli.frame.settings import Environment
from snapfs.cli.frame.shellwords import starting
from snapfs.cli.frame.states import States
from snapfs.cli.frame.streams import Messages, Output, Streams
from snapfs.cli.frame.where import open_to_read
from snapfs.errors import SnapfsError
from snapfs.model.kinds import Kind
from snapfs.model.names import LATEST
from snapfs.model.reference import LATEST_POINT, read_reference
from snapfs.model.snapshot import Side, StoredSide


def stored_words(
    what: str, typed: str, words: Sequence[str], operands: Sequence[str]
) -> Iterator[str]:
    """Full words for what is typed of a word that is ``what`` (one of ``complete.WORDS``).

    ``operands`` are the arguments before it.
    """
    invocation = _invocation(words)
    with open_to_read(invocation) as repository:
        states = States(invocation, repository)
        if what in {"root", "root-or-directory"}:
            yield from starting(typed, (root.label for root in states.roots))
        elif what == "stored-path":
            yield from _ordinary_paths(typed, operands[0], states)
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


def _invocation(words: Sequence[str]) -> Invocation:
    """Enough of an invocation to open the repository that the words mean."""
    given: dict[str, str | None] = {}
    by_name = {name: one for one in COMMON if not one.is_flag for name in one.names}
    for word, after in pairwise(words[:-1]):
        name, equals, text = word.partition("=")
        if word in by_name:
            given[by_name[word].field] = after
        elif equals and name in by_name:
            given[by_name[name].field] = text
    common = Common(repo=given.get("repo"), root=given.get("root"), profile=given.get("profile"))
    environment = Environment(os.environb)
    if common.repo is None:
        settings = environment.settings(common.profile)
        repo = settings(next(p for p in params_of(Common) if p.field == "repo"))
        common = replace(common, repo=repo.texts[0] if repo else None)
    return Invocation("completion", (), common, {}, environment, Streams(Output(), Messages()))


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
    yield from _listed(typed, head, side, path_in(states, reference, side.root), states)


def _ordinary_paths(typed: str, word: str, states: States) -> Iterator[str]:
    """Names that the snapshot ``word`` has where an ordinary path has come to."""
    reference = read_reference(word)
    if reference is None or reference.path is not None:
        return
    side = states.side(reference)
    folder, slash, _ = typed.rpartition("/")
    head = folder + slash
    yield from _listed(typed, head, side, ordinary_path(states, head or ".", side.root), states)


def _listed(typed: str, head: str, side: Side, path: bytes, states: States) -> Iterator[str]:
    """What is in a directory of a snapshot, as words that begin with ``head``."""
    if not isinstance(side, StoredSide):
        return
    # What reads trees is of no use for names.
    from snapfs.tree.listing import list_tree

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
