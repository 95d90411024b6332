"""The command line."""

from snapfs.cli import early  # noqa: F401 (before anything else of ours)
