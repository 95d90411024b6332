"""snapfs: snapshots of any directory on any Linux filesystem."""

__version__ = "0.1.0"
