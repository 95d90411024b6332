"""The two states that ``diff`` compares, and the paths it is limited to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from snapfs.cli.frame.hints import stored_path
from snapfs.cli.frame.paths import ordinary_path, path_in
from snapfs.cli.frame.states import States, for_three_dots, live_side
from snapfs.errors import NotFoundError, SnapfsError, UsageError
from snapfs.model.quote import quote_text
from snapfs.model.reference import LATEST_POINT, Named, Reference, read_range, read_reference
from snapfs.model.snapshot import LiveSide, Side, StoredSide
from snapfs.tree.listing import stat_path


@dataclass(frozen=True, slots=True)
class Pair:
    """From ``first`` to ``second``; ``paths`` are relative to the root, none means all."""

    first: Side
    second: Side
    paths: tuple[bytes, ...]


def read_pair(states: States, words: Sequence[str], literal_paths: Sequence[str]) -> Pair:
    """States A and B from the first words, paths from the rest."""
    rest = list(words)
    of_states: list[bytes] = []
    first, second = _read_range(states, rest) or _read_states(states, rest, of_states)
    bare = (*rest, *literal_paths)
    paths = (*of_states, *(ordinary_path(states, word, first.root) for word in bare))
    return Pair(first, second, tuple(dict.fromkeys(paths)))


def _read_range(states: States, rest: list[str]) -> tuple[Side, Side] | None:
    """``A..B``, unless it is the name of something here (``../x``)."""
    try:
        ends = read_range(rest[0]) if rest else None
    except ValueError as error:
        if os.path.lexists(rest[0]):
            return None
        raise UsageError(str(error), subject=rest[0]) from error
    if ends is None:
        return None
    try:
        with for_three_dots(rest[0]):
            first, second = states.side(ends[0]), states.side(ends[1])
    except NotFoundError as error:
        if os.path.lexists(rest[0]):
            return None
        raise _or_a_path(states, rest[0], error) from error
    del rest[0]
    return _with_rules(first, second)


def _read_states(states: States, rest: list[str], paths: list[bytes]) -> tuple[Side, Side]:
    """A PATH that stands with a state limits the comparison and goes into ``paths``."""
    sides: list[Side] = []
    while rest and len(sides) < 2:
        side = _state(states, rest[0], after=sides, paths=paths)
        if side is None:
            break
        sides.append(side)
        del rest[0]
    if len(set(paths)) > 1:
        raise UsageError("diff compares a path with itself at another time, not with another one")
    if not sides:
        newest = states.snapshot(Reference(LATEST_POINT))
        return newest, live_side(newest.root, newest.snapshot)
    if len(sides) == 2:
        return _with_rules(sides[0], sides[1])
    only = sides[0]
    if isinstance(only, LiveSide):
        newest = states.snapshot(Reference(LATEST_POINT, only.root.label))
        return newest, live_side(only.root, newest.snapshot)
    return only, live_side(only.root, only.snapshot)


def _state(states: States, word: str, after: Sequence[Side], paths: list[bytes]) -> Side | None:
    """The state that a word names; None if it is a path instead."""
    try:
        reference = read_reference(word)
    except ValueError as error:
        raise UsageError(str(error), subject=word) from error
    if reference is None:
        return None
    is_number = isinstance(reference.point, Named) and reference.point.number is not None
    if reference.root is None and after and not is_number:
        # B is of the root of A unless it says otherwise; a number says it itself.
        reference = replace(reference, root=after[0].root.label)
    try:
        side = states.side(reference)
    except NotFoundError as error:
        if isinstance(reference.point, Named) and _is_path(states, word, after):
            return None
        raise _or_a_path(states, word, error) from error
    if reference.path is not None:
        paths.append(path_in(states, reference, side.root))
    return side


def _is_path(states: States, word: str, after: Sequence[Side]) -> bool:
    """Whether a word that names no state is there as a path, now or in a state it may be compared with."""
    if os.path.lexists(word) or stored_path(states, word) is not None:
        return True
    try:
        return any(
            stat_path(states.repository, side, ordinary_path(states, word, side.root)) is not None
            for side in after
        )
    except SnapfsError:
        return False


def _or_a_path(states: States, word: str, error: NotFoundError) -> NotFoundError:
    """Where ``word`` reads as a time or a range and is a path that a snapshot has, how that is written."""
    if stored_path(states, word) is not None:
        error.hint = f"for the path write {quote_text(f'./{word}')}, or put -- before it"
    return error


def _with_rules(first: Side, second: Side) -> tuple[Side, Side]:
    """A live tree is seen with the rules of the snapshot it is compared with."""
    if isinstance(first, LiveSide) and isinstance(second, StoredSide):
        return LiveSide(first.root, second.snapshot), second
    if isinstance(first, StoredSide) and isinstance(second, LiveSide):
        return first, LiveSide(second.root, first.snapshot)
    if isinstance(first, LiveSide) and isinstance(second, LiveSide):
        raise UsageError("both states are the live directory", hint="name a snapshot")
    return first, second
