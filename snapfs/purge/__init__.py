"""``purge``: drop a path from all snapshots, from the journal and from every other file of the repository."""

from snapfs.purge.operation import check_purge, plan_purge, purge
from snapfs.purge.options import Alias, Elsewhere, PurgeOptions, PurgeResult

__all__ = [
    "Alias",
    "Elsewhere",
    "PurgeOptions",
    "PurgeResult",
    "check_purge",
    "plan_purge",
    "purge",
]
