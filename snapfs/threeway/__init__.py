"""Applying a change to a tree that went on since: a three-way rule per path, and what follows for others.

The change leads from ``base`` to ``other``; ``live`` is what there is now. Nothing here reads or writes
anything: states come in as entries, a plan comes out.
"""

from __future__ import annotations

from snapfs.threeway.conflict import Conflict, Why
from snapfs.threeway.item import Item, Outcome, changed, decide, is_dir, order_key
from snapfs.threeway.settle import Settled, settle

__all__ = [
    "Conflict",
    "Item",
    "Outcome",
    "Settled",
    "Why",
    "changed",
    "decide",
    "is_dir",
    "order_key",
    "settle",
]
