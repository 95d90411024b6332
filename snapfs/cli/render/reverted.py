"""What ``revert`` asks and prints."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.render.restored import Undo, undo_command
from snapfs.cli.render.text import Mode, reference
from snapfs.model.quote import quote, quote_text
from snapfs.model.snapshot import StoredSide
from snapfs.model.units import format_count, format_duration, format_size
from snapfs.repository.opened import Repository
from snapfs.revert import Left, RevertPlan, RevertResult, Undone

SHOWN = 20
"""Conflicts that a question shows; more are only counted."""


@dataclass(frozen=True, slots=True)
class Reverted:
    """What is undone."""

    root: str
    """label of the root"""
    first: str
    """ROOT@SNAPSHOT that the changes began with"""
    last: str
    """ROOT@SNAPSHOT that they led to"""


def reverted_range(a: StoredSide, b: StoredSide) -> Reverted:
    """The two snapshots by name."""
    return Reverted(a.root.label, reference(a.root, a.snapshot), reference(b.root, b.snapshot))


def print_line(invocation: Invocation, line: Undone | Left) -> None:
    """One path on standard output, as it comes."""
    if not invocation.json:
        invocation.out.line(line_of(line))
    elif isinstance(line, Left):
        invocation.emit("revert-conflict/1", line)
    else:
        invocation.emit("revert-step/1", line)


def line_of(line: Undone | Left) -> str:
    """``C TAB PATH TAB reason``; ``M TAB PATH TAB what,what``."""
    last = line.reason if isinstance(line, Left) else ",".join(line.what)
    path = quote(line.path or b".")
    return "\t".join(part for part in (line.letter, path, last) if part)


def question(a: StoredSide, b: StoredSide, plan: RevertPlan, shown: list[Left]) -> list[str]:
    """What would be done: what is undone, where, how many entries; the conflicts."""
    lines = plan_lines(a, b, plan)
    lines += [f"  {line_of(one)}" for one in shown]
    if plan.conflicts > len(shown):
        lines.append(f"  and {format_count(plan.conflicts - len(shown), 'more conflict')}")
    return lines


def plan_lines(a: StoredSide, b: StoredSide, plan: RevertPlan) -> list[str]:
    """The counts of a plan."""
    counts = f"create {plan.create:,}, overwrite {plan.overwrite:,}, delete {plan.delete:,}"
    if plan.times:
        counts += f", set back {format_count(plan.times, 'directory time')}"
    if plan.problems:
        counts += f"; {format_count(plan.problems, 'problem')}"
    lines = [
        f"Undo in {quote(plan.target)} what happened from {reference(a.root, a.snapshot)} to "
        f"{reference(b.root, b.snapshot)}:",
        f"  {counts}; {format_size(plan.total_bytes)} to write; "
        f"{format_count(plan.conflicts, 'conflict')}",
    ]
    if plan.left_out:
        lines.append(f"  {_left_out(plan.left_out)}")
    return lines


def print_plan(invocation: Invocation, a: StoredSide, b: StoredSide, plan: RevertPlan) -> None:
    """The answer to ``--dry-run``, after the paths."""
    if invocation.json:
        invocation.emit("revert-plan/1", reverted_range(a, b), plan, Mode(dry_run=True))
        return
    for line in plan_lines(a, b, plan):
        invocation.say(line)
    invocation.say("dry run, nothing was changed")


def print_reverted(
    invocation: Invocation,
    repository: Repository,
    a: StoredSide,
    b: StoredSide,
    result: RevertResult,
) -> None:
    """The summary on stderr, then the command that undoes it on stdout, as the last line."""
    undo = None
    if result.safety is not None and (result.applied or result.problems):
        undo = undo_command(invocation, repository, a.root, result.safety, result.touched)
    if invocation.json:
        invocation.emit("revert/1", reverted_range(a, b), result, Undo(undo))
        return
    if result.applied or result.conflicts or result.problems:
        invocation.say(_summary(a, b, result))
    else:
        invocation.say("nothing to do: nothing of that is there any more")
    if result.left_out:
        invocation.say(_left_out(result.left_out))
    if undo is not None:
        invocation.say("To undo it:")
        invocation.out.line(undo)


def _summary(a: StoredSide, b: StoredSide, result: RevertResult) -> str:
    counts = (
        (result.created, "created"),
        (result.overwritten, "overwritten"),
        (result.deleted, "deleted"),
    )
    told = [f"{count:,} {word}" for count, word in counts if count]
    if result.times:
        told.append(f"{format_count(result.times, 'directory time')} set back")
    done = ", ".join(told)
    what = f"{reference(a.root, a.snapshot)}..{b.snapshot.name}"
    parts = [f"{what} in {quote(result.target)}: {done or 'nothing done'}"]
    if result.applied:
        parts.append(
            f"wrote {format_size(result.written_bytes)} in {format_duration(result.duration_ns)}"
        )
    if result.conflicts:
        are = "it is" if result.conflicts == 1 else "they are"
        parts.append(f"{format_count(result.conflicts, 'conflict')} left as {are}")
    if result.problems:
        parts.append(format_count(result.problems, "problem"))
    if result.safety is not None:
        parts.append(f"the state before is {quote_text(reference(a.root, result.safety))}")
    return "; ".join(parts)


def _left_out(count: int) -> str:
    return (
        f"not touched: {format_count(count, 'path')} that one of the two snapshots does not have "
        "because of its rules"
    )
