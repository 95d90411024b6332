"""Taking a snapshot."""

from __future__ import annotations

from snapfs.create.operation import create
from snapfs.create.options import CreateOptions, CreateResult, Explained

__all__ = ["CreateOptions", "CreateResult", "Explained", "create"]
