"""What deleting gains, as ``delete`` and ``roots remove`` say it."""

from __future__ import annotations

from snapfs.delete import DeleteResult
from snapfs.model.units import format_size


def gain(freed_bytes: int, reclaimable_bytes: int) -> str:
    """Before the question."""
    return (
        f"This frees {format_size(freed_bytes)} now; "
        f"{format_size(reclaimable_bytes)} more lie in packs that are still needed."
    )


def what_stays(result: DeleteResult) -> list[str]:
    """After it: what is not freed, and why."""
    parts = []
    if result.pending_bytes:
        parts.append(f"{format_size(result.pending_bytes)} wait for the next run, readers are busy")
    if result.reclaimable_bytes:
        parts.append(
            f"{format_size(result.reclaimable_bytes)} of dead blocks lie in packs still needed"
        )
    return parts
