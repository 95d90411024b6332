"""What ``restore`` asks and prints."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.streams import encode
from snapfs.cli.frame.where import standard_place
from snapfs.cli.render.text import Mode, Named, reference
from snapfs.model.kinds import Kind
from snapfs.model.quote import quote, quote_text
from snapfs.model.snapshot import Root, Snapshot, StoredSide
from snapfs.model.units import format_count, format_duration, format_size
from snapfs.progress import Problem, Progress
from snapfs.repository.opened import Repository
from snapfs.restore import RestoreOptions, RestorePlan, RestoreResult
from snapfs.tree.listing import linked_elsewhere, stat_path

_MOST_LINKED = 20
"""Names that a command line to go back repeats; if there are more, it is about the whole root."""


class NoticingOwners:
    """Passes all on, and notices whether owners were refused."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._refused = False
        self.foretells = progress.foretells
        self.phase = progress.phase
        self.expect = progress.expect
        self.advance = progress.advance
        self.note = progress.note

    def problem(self, problem: Problem) -> None:
        self._refused = self._refused or problem.what.startswith("not set: owner ")
        self._progress.problem(problem)

    def hints(self) -> tuple[str, ...]:
        """What to do another time."""
        if not self._refused:
            return ()
        return ("owners could not be set here; --owner none restores without them",)


@dataclass(frozen=True, slots=True)
class Undo:
    """How to take the restore back."""

    undo: str | None
    """a command line; null if nothing was kept"""


def plan_lines(stored: StoredSide, plan: RestorePlan) -> list[str]:
    """What a restore would do: where, from what, how many entries."""
    counts = (
        f"create {plan.create:,}, overwrite {plan.overwrite:,}, "
        f"delete {plan.delete:,}, leave alone {plan.left_alone:,}"
    )
    if plan.problems:
        counts += f"; {format_count(plan.problems, 'problem')}"
    return [
        f"Restore {reference(stored.root, stored.snapshot)} into {quote(plan.target)}:",
        f"  {counts}; {format_size(plan.total_bytes)} to write",
    ]


def print_plan(invocation: Invocation, stored: StoredSide, plan: RestorePlan) -> None:
    """The answer to ``--dry-run``."""
    if invocation.json:
        named = Named(reference(stored.root, stored.snapshot), stored.root.label)
        invocation.emit("restore-plan/1", named, plan, Mode(dry_run=True))
        return
    for line in plan_lines(stored, plan):
        invocation.out.line(line)
    for path in plan.deletes:
        invocation.out.line(f"- {quote(path)}")
    invocation.say("dry run, nothing was changed")


def print_restored(
    invocation: Invocation,
    repository: Repository,
    root: Root,
    options: RestoreOptions,
    result: RestoreResult,
    *,
    hints: Sequence[str] = (),
) -> None:
    """The summary on stderr, then the command that undoes it on stdout, as the last line."""
    undo = None
    if result.safety is not None:
        undo = undo_command(invocation, repository, root, result.safety, options.paths)
    if invocation.json:
        named = Named(reference(root, result.snapshot), root.label)
        invocation.emit("restore/1", named, result, Undo(undo))
    else:
        invocation.say(_summary(root, result))
    for hint in hints:
        invocation.say(hint)
    if invocation.json:
        return
    if undo is not None:
        invocation.say("To undo it:")
        invocation.out.line(undo)


def say_kept(
    invocation: Invocation,
    repository: Repository,
    root: Root,
    paths: tuple[bytes, ...],
    safety: Snapshot,
    again: str | None = None,
) -> None:
    """On stderr, before anything is changed: what kills the run leaves nobody to tell it. ``again``: the
    command line that goes on with it then.
    """
    invocation.say(f"the state before is kept as {reference(root, safety)}")
    undo = undo_command(invocation, repository, root, safety, paths)
    invocation.say(f"should this be cut off, to go back to it: {undo}")
    if again is not None:
        invocation.say(f"or to go on: {invocation.again(again)}")


def say_way_back(
    invocation: Invocation,
    repository: Repository,
    root: Root,
    paths: tuple[bytes, ...],
    safety: Snapshot,
    *,
    done: str = "restored",
) -> None:
    """On stderr: it ended in the middle; where the state before it is. ``paths``: what it was about."""
    invocation.say(f"not all was {done}; the state before is {reference(root, safety)}")
    undo = undo_command(invocation, repository, root, safety, paths)
    invocation.say(f"To go back to it: {undo}")


def undo_command(
    invocation: Invocation,
    repository: Repository,
    root: Root,
    safety: Snapshot,
    restored: tuple[bytes, ...],
) -> str:
    """A command line that brings back the state that the safety snapshot holds."""
    place = encode(reference(root, safety))
    words = [b"snapfs"]
    if repository.path != standard_place(invocation):
        words += [b"-r", repository.resolved]
    words += [b"restore"]
    side = StoredSide(root, safety)
    paths = tuple(dict.fromkeys(_changed_at(repository, side, path) for path in restored))
    if paths:
        # A file that was restored alone is no longer the one that its other names have.
        linked = linked_elsewhere(repository, side, paths, _MOST_LINKED)
        paths = () if linked is None else (*paths, *linked)
    if len(paths) == 1 and paths[0]:
        words += [place + b":" + paths[0]]
    else:
        words += [place, *(os.path.join(root.path or b"/", path) for path in paths if path)]
    return " ".join(quote(word) for word in (*words, b"--in-place", b"--delete"))


def _changed_at(repository: Repository, side: StoredSide, path: bytes) -> bytes:
    """The path, or the first name on the way to it that is no directory in the snapshot."""
    while path:
        above = path.rpartition(b"/")[0]
        holder = stat_path(repository, side, above)
        if holder is not None and holder.kind == Kind.DIR:
            return path
        path = above
    return path


def _summary(root: Root, result: RestoreResult) -> str:
    counts = (
        (result.created, "created"),
        (result.overwritten, "overwritten"),
        (result.deleted, "deleted"),
        (result.unchanged, "already right"),
        (result.left_alone, "left alone"),
    )
    idle = "nothing done" if result.problems else "nothing to do"
    done = ", ".join(f"{count:,} {word}" for count, word in counts if count) or idle
    parts = [
        f"{reference(root, result.snapshot)} into {quote(result.target)}: {done}",
        f"wrote {format_size(result.written_bytes)} in {format_duration(result.duration_ns)}",
    ]
    if result.problems:
        parts.append(format_count(result.problems, "problem"))
    if result.safety is not None:
        parts.append(f"the state before is {quote_text(reference(root, result.safety))}")
    return "; ".join(parts)
