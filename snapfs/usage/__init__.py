"""What the space is used for: by snapshots, by sets of them, by paths."""

from __future__ import annotations

from snapfs.usage.operation import (
    PathOptions,
    PathUsage,
    SetUsage,
    SnapshotUsage,
    UsageResult,
    usage,
    usage_by_path,
    usage_of_set,
)

__all__ = [
    "PathOptions",
    "PathUsage",
    "SetUsage",
    "SnapshotUsage",
    "UsageResult",
    "usage",
    "usage_by_path",
    "usage_of_set",
]
