"""Ways out that can be typed as they are printed: with the repository, the root and the path meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from snapfs.cli.frame.paths import ordinary_path
from snapfs.cli.frame.states import States
from snapfs.errors import NotFoundError, PinnedError, SnapfsError, UsageError
from snapfs.model.kinds import Kind
from snapfs.model.names import LATEST
from snapfs.model.quote import quote
from snapfs.model.snapshot import StoredSide
from snapfs.tree.listing import stat_path


@contextmanager
def for_paths(states: States, word: str | None, *, files_only: bool = False) -> Iterator[None]:
    """Where ``word`` is no snapshot but a path in the newest one, say how that is written."""
    try:
        yield
    except (NotFoundError, UsageError) as error:
        hint = None if word is None else _path_hint(states, word, files_only=files_only)
        if hint is not None:
            error.hint = hint
        raise


def _path_hint(states: States, word: str, *, files_only: bool) -> str | None:
    try:
        root = states.root()
        path = ordinary_path(states, word, root)
        found = stat_path(states.repository, StoredSide(root, states.chain(root)[-1]), path)
    except (SnapfsError, IndexError):
        return None
    if found is None:
        return None
    place = f"{LATEST}:{quote(path)}"
    if files_only and found.kind != Kind.FILE:
        return f"`snapfs ls {place}` shows it, and it is no file"
    return f"for the path write {place}"


@contextmanager
def for_missing_paths(stored: StoredSide) -> Iterator[None]:
    """Where a snapshot has no such path, say how to see what it has."""
    try:
        yield
    except NotFoundError as error:
        if error.hint.startswith("snapfs ls "):
            name = f"{stored.root.label}@{stored.snapshot.name}"
            error.hint = f"`snapfs ls {name}` shows what it has"
        raise


def refuse_pinned(chosen: Sequence[StoredSide]) -> None:
    """Raises PinnedError that says how to unpin them."""
    pinned = [f"{one.root.label}@{one.snapshot.name}" for one in chosen if one.snapshot.pinned]
    if pinned:
        raise PinnedError(
            f"pinned: {', '.join(pinned)}",
            subject=pinned[0],
            hint=f"`snapfs unpin {' '.join(pinned)}` comes first",
        )
