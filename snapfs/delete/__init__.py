"""Deleting snapshots and roots."""

from __future__ import annotations

from snapfs.delete.operation import (
    DeleteOptions,
    DeletePlan,
    DeleteResult,
    delete,
    plan_delete,
    remove_root,
)

__all__ = ["DeleteOptions", "DeletePlan", "DeleteResult", "delete", "plan_delete", "remove_root"]
