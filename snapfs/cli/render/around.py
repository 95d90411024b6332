"""What a command did to a directory, as ``around`` tells it."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.render.changes import DiffSummary, stat_line
from snapfs.cli.render.json import json_line


@dataclass(frozen=True, slots=True)
class Surrounded:
    """A command between two snapshots."""

    before: str
    """ROOT@SNAPSHOT as it was"""
    after: str | None
    """ROOT@SNAPSHOT as it was then; null if nothing has changed, or the command was not run"""
    command: tuple[str, ...]
    """the command and its words"""
    exit: int | None
    """its exit code, 128 and the signal's number for a signal; null if it was not run"""
    undo: str | None
    """a command line that takes back what it changed; null if nothing has, or if a purge meanwhile made it impossible"""


def print_around(invocation: Invocation, told: Surrounded, summary: DiffSummary) -> None:
    """On standard error: standard output is the command's."""
    if invocation.json:
        invocation.messages.line(json_line("around/1", told, summary))
    elif told.after is None:
        invocation.say("nothing has changed, so there is no snapshot after it")
    else:
        invocation.say(f"after: {told.after}: {stat_line(summary)}")
        if told.undo is not None:
            invocation.say(f"to take that back: {told.undo}")
