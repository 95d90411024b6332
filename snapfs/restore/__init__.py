"""Bringing back what a snapshot holds."""

from __future__ import annotations

from snapfs.materialize.wanted import Overwrite
from snapfs.restore.content import read_file
from snapfs.restore.operation import plan_restore, restore
from snapfs.restore.options import OwnerRule, RestoreOptions, RestorePlan, RestoreResult

__all__ = [
    "Overwrite",
    "OwnerRule",
    "RestoreOptions",
    "RestorePlan",
    "RestoreResult",
    "plan_restore",
    "read_file",
    "restore",
]
