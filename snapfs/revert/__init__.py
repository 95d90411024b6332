"""Undoing on the live tree what happened between two snapshots."""

from __future__ import annotations

from snapfs.revert.operation import plan_revert, revert
from snapfs.revert.options import Left, RevertOptions, RevertPlan, RevertResult, Undone

__all__ = [
    "Left",
    "RevertOptions",
    "RevertPlan",
    "RevertResult",
    "Undone",
    "plan_revert",
    "revert",
]
