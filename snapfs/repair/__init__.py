"""Mending a damaged repository: what can be had again is, what cannot is said."""

from __future__ import annotations

from snapfs.repair.operation import repair
from snapfs.repair.options import LostFile, RepairOptions, RepairResult

__all__ = ["LostFile", "RepairOptions", "RepairResult", "repair"]
