"""Taking a snapshot."""

from __future__ import annotations

from snapfs.create.operation import create
from snapfs.create.options import CreateOptions, CreateResult, Explained
from snapfs.create.source import CommandSource, InputSource
from snapfs.create.stream import create_stream, is_file_name

__all__ = [
    "CommandSource",
    "CreateOptions",
    "CreateResult",
    "Explained",
    "InputSource",
    "create",
    "create_stream",
    "is_file_name",
]
