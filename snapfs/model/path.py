"""Paths from a root: bytes with slashes between, ``b""`` for the root itself."""

from __future__ import annotations


def join(above: bytes, name: bytes) -> bytes:
    """The path of ``name`` in the directory ``above``."""
    return above + b"/" + name if above else name


def parent_of(path: bytes) -> bytes:
    """The directory of a path; that of the root is the root."""
    return path.rpartition(b"/")[0]


def within(path: bytes, top: bytes) -> bool:
    """Whether a path is ``top`` or below it; all are below ``b""``."""
    return not top or path == top or path.startswith(top + b"/")
