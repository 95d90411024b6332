"""Registered roots as a table or as JSON lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.render.text import Mode, create_line, print_roots, reference
from snapfs.fs.machine import host_id
from snapfs.model.quote import printable, quote
from snapfs.model.snapshot import Root, RootSummary
from snapfs.repository.opened import Repository


@dataclass(frozen=True, slots=True)
class RootState:
    """A registered directory and its snapshots."""

    snapshots: int
    """how many snapshots it has"""
    newest: str | None
    """ROOT@SNAPSHOT of the newest"""
    newest_created_ns: int | None
    """the time it stands for"""
    size: int | None
    """size of all its files"""


def print_root_summaries(invocation: Invocation, repository: Repository) -> None:
    """Every root with its count, newest snapshot and size."""
    summaries = repository.root_summaries()
    if invocation.json:
        for summary in summaries:
            invocation.emit("roots/1", summary.root, root_state(summary))
    elif summaries:
        print_roots(invocation.out, summaries, invocation.clock, host_id())
    else:
        invocation.say(
            f"no snapshots in {quote(repository.path)}; `snapfs create DIR` takes the first one"
        )


def none_of(roots: Sequence[Root], repository: bytes) -> str:
    """That there are no snapshots of these roots yet."""
    labels = ", ".join(root.label for root in roots) or "it"
    return f"no snapshots of {labels} in {quote(repository)}"


def say_none(invocation: Invocation, roots: Sequence[Root], repository: bytes) -> None:
    """That, and how to take the first one."""
    lines = [f"`{create_line(root)}`" for root in roots if root.path is None]
    directories = [root.label for root in roots if root.path is not None]
    if directories:
        lines.insert(0, f"`{' '.join(['snapfs create', *directories])}`")
    takes = "takes the first one" if len(lines) == 1 else "take the first ones"
    invocation.say(f"{none_of(roots, repository)}; {', '.join(lines)} {takes}")


def root_state(summary: RootSummary) -> RootState:
    """What is known of a root's snapshots, for ``--json``."""
    newest = summary.newest
    return RootState(
        snapshots=summary.snapshots,
        newest=reference(summary.root, newest) if newest else None,
        newest_created_ns=newest.created_ns if newest else None,
        size=newest.total_bytes if newest else None,
    )


def print_root(
    invocation: Invocation, repository: Repository, before: Root, after: Root, *, dry_run: bool
) -> None:
    """One root as it is now, or would be: its label on stdout."""
    if invocation.json:
        invocation.emit("root/1", after, Mode(dry_run))
        return
    invocation.out.line(after.label)
    if dry_run:
        where = quote(repository.path)
        would = _would(before, after)
        invocation.say(f"{before.label} would {would}; dry run, nothing changed in {where}")
    else:
        invocation.say(f"{after.label} is {_place(after)}")


def _would(before: Root, after: Root) -> str:
    if after.label != before.label:
        return f"be renamed to {after.label}"
    if (after.host, after.path) != (before.host, before.path):
        return f"be {_place(after)}"
    return "stay as it is"


def _place(root: Root) -> str:
    path = quote(root.path) if root.path is not None else "a stream"
    return path if root.host == host_id() else f"{path} on host {printable(root.host)}"
