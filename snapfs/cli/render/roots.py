"""Registered roots as a table or as JSON lines."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.render.text import print_roots, reference
from snapfs.fs.machine import host_id
from snapfs.model.quote import quote
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
    invocation: Invocation, repository: Repository, root: Root, *, dry_run: bool
) -> None:
    """One root as it is now: its label on stdout."""
    if invocation.json:
        invocation.emit("root/1", root)
        return
    invocation.out.line(root.label)
    if dry_run:
        invocation.say(f"{root.label}: dry run, nothing changed in {quote(repository.path)}")
    else:
        where = quote(root.path) if root.path is not None else "a stream"
        invocation.say(f"{root.label} is {where}")
