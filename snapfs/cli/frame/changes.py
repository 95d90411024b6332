"""``A..B`` where it means what happened from snapshot A to snapshot B."""

from __future__ import annotations

from snapfs.cli.frame.states import States, for_three_dots
from snapfs.errors import NotFoundError, UsageError
from snapfs.model.quote import quote_text
from snapfs.model.reference import Live, read_range
from snapfs.model.snapshot import StoredSide


def read_changes(states: States, word: str) -> tuple[StoredSide, StoredSide]:
    """Both snapshots. Raises UsageError that says what to write, NotFoundError."""
    command = states.invocation.command
    try:
        ends = read_range(word)
    except ValueError as error:
        raise UsageError(str(error), subject=word) from error
    if ends is None:
        raise _no_range(states, word)
    if isinstance(ends[0].point, Live):
        raise UsageError(
            f"{command}: nothing happened since the directory as it is now", subject=word
        )
    with for_three_dots(word):
        first = states.snapshot(ends[0])
        if isinstance(ends[1].point, Live):
            name = f"{first.root.label}@{first.snapshot.name}"
            raise UsageError(
                f"{command}: to undo everything since {first.snapshot.name} is to go back to it",
                subject=word,
                hint=f"`snapfs restore {name} --in-place --delete` does",
            )
        last = states.snapshot(ends[1])
    if first.root != last.root:
        raise UsageError(f"{word}: both ends are snapshots of one root", subject=word)
    return first, last


def _no_range(states: States, word: str) -> UsageError:
    """One snapshot alone: some systems mean by it to go back to it, others to undo what it changed."""
    command = states.invocation.command
    error = UsageError(
        f"{command}: {quote_text(word)} does not say from which snapshot to which",
        subject=word,
        hint="write A..B: what happened from A to B is undone",
    )
    try:
        stored = states.snapshot(states.reference(word))
    except (NotFoundError, UsageError):
        return error
    name = f"{stored.root.label}@{stored.snapshot.name}"
    error.hint = f"`snapfs restore {name} --in-place --delete` goes back to it"
    if stored.snapshot.position:
        error.hint = f"`snapfs {command} {name}~1..{stored.snapshot.name}` undoes what it changed, {error.hint}"
    return error
