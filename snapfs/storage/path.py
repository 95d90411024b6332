"""Paths made absolute."""

from __future__ import annotations

import os


def absolute(path: bytes) -> bytes:
    """An absolute path for what the system finds under ``path``.

    ``..`` after a symlink leads to the parent of its target, not of the link, so it cannot be left out
    of the text, as `os.path.abspath` does. A symlink that is not followed by ``..`` stays in the path.
    """
    if not path.startswith(b"/"):
        path = os.path.join(os.getcwdb(), path)
    parts = path.split(b"/")
    if b".." in parts:
        after = len(parts) - parts[::-1].index(b"..")
        path = os.path.join(os.path.realpath(b"/".join(parts[:after])), *parts[after:])
    return b"/" + os.path.normpath(path).lstrip(b"/")
