"""What is sent to a writing process. (A module of its own: the process runs ``worker`` as ``__main__``.)"""

from __future__ import annotations

from typing import NamedTuple

from snapfs.materialize.dirtable import NewDirs
from snapfs.materialize.filewriter import Piece


class Start(NamedTuple):
    """First message: the target's descriptor (inherited), and the terms."""

    top_fd: int
    target: bytes
    repository: bytes
    sparse: bool


class Batch(NamedTuple):
    """Files to make, as columns (a tuple of each field: rows cost five times as much to pickle)."""

    new_dirs: NewDirs
    columns: tuple[tuple[object, ...], ...]


class PieceBatch(NamedTuple):
    """A part of a large file."""

    new_dirs: NewDirs
    piece: Piece
