"""Ways out that can be typed as they are printed: with the repository, the root and the path meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from snapfs.cli.frame.paths import ordinary_path
from snapfs.cli.frame.states import States
from snapfs.errors import NotFoundError, PinnedError, SnapfsError, UsageError
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind
from snapfs.model.names import LATEST
from snapfs.model.quote import quote
from snapfs.model.snapshot import Root, Side, StoredSide
from snapfs.repository.opened import Repository
from snapfs.repository.runs import recorded
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
    found = stored_path(states, word) if word else None
    if found is None:
        return None
    root, path, entry = found
    try:
        meant = root == states.root()
    except SnapfsError:
        meant = False
    newest = LATEST if meant else f"{root.label}@{LATEST}"
    if not path:
        return f"that is root {root.label}; its newest is {root.label}@{LATEST}"
    place = f"{newest}:{quote(path)}"
    if files_only and entry.kind != Kind.FILE:
        return f"`snapfs ls {place}` shows it, and it is no file"
    return f"for the path write {place}"


def stored_path(states: States, word: str) -> tuple[Root, bytes, Entry] | None:
    """Root, path and entry of an ordinary path that the newest snapshot of a root has."""
    for root in _roots_of(states, word):
        try:
            path = ordinary_path(states, word, root)
            entry = stat_path(states.repository, StoredSide(root, states.chain(root)[-1]), path)
        except (SnapfsError, IndexError):
            continue
        if entry is not None:
            return root, path, entry
    return None


def _roots_of(states: States, word: str) -> Iterator[Root]:
    """A root that is the path itself, the one that is meant without another, one that holds it."""
    path = states.resolve(word)
    holding = states.holding(path, states.host)
    if holding is not None and holding.path == path:
        yield holding
    try:
        yield states.root()
    except SnapfsError:
        pass
    if holding is not None:
        yield holding


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


def refuse_slash(repository: Repository, side: Side, path: bytes, word: str | None) -> None:
    """Raises UsageError where ``word`` ends as only a directory may, and there is something else."""
    if not (word or "").endswith("/") or not path:
        return
    found = stat_path(repository, side, path)
    if found is not None and found.kind != Kind.DIR:
        raise UsageError(
            f"{quote(path)} is no directory", subject=quote(path), hint="leave out the / at its end"
        )


def refuse_pinned(repository: Repository, chosen: Sequence[StoredSide], *, dry_run: bool) -> None:
    """Raises PinnedError that says how to unpin them; a run that was refused is recorded."""
    pinned = [f"{one.root.label}@{one.snapshot.name}" for one in chosen if one.snapshot.pinned]
    if not pinned:
        return
    with recorded(repository, *sorted({one.root.id for one in chosen})) as note:
        note.silent = dry_run
        raise PinnedError(
            f"pinned: {', '.join(pinned)}",
            subject=pinned[0],
            hint=f"`snapfs unpin {' '.join(pinned)}` comes first",
        )
