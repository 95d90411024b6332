"""Comparing two states of a root."""

from __future__ import annotations

from snapfs.diff.operation import DiffOptions, diff
from snapfs.diff.rot import ROTTEN, LiveResult, against_live
from snapfs.diff.shown import ShowResult, show
from snapfs.diff.text import unified
from snapfs.tree.changes import Change

__all__ = [
    "ROTTEN",
    "Change",
    "DiffOptions",
    "LiveResult",
    "ShowResult",
    "against_live",
    "diff",
    "show",
    "unified",
]
