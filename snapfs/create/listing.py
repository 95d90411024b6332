"""Where a path leads that a tool has listed.

Tools that know what has changed print absolute paths (fanotify), or paths from the top of what they watch
(git, watchman, ``rsync --files-from``); few print them from where they were started. So a path is absolute or
from the root, whatever the working directory is. The names that lead to the root may be any that do, symlinks
among them; below it every name is taken as it is written, for what lies behind a symlink is another path of
the root or not in it.
"""

from __future__ import annotations

import os

from snapfs.errors import UsageError
from snapfs.model.quote import quote


class Placing:
    """Listed paths as paths from one root."""

    def __init__(self, root: bytes, root_fd: int, label: str | None) -> None:
        """``root`` is its path, open as ``root_fd``; ``label`` None: it has none yet."""
        self._root = root
        self._name = label or quote(root)
        self._tops = [root]
        st = os.fstat(root_fd)
        self._identity = (st.st_dev, st.st_ino)

    def __call__(self, path: bytes) -> bytes:
        """Raises UsageError for a path that leads out of the root."""
        below = self._below(os.path.normpath(path)) if path.startswith(b"/") else path
        normal = None if below is None else os.path.normpath(below or b".")
        if normal is None or normal == b".." or normal.startswith(b"../"):
            where = "" if self._name == quote(self._root) else f" ({quote(self._root)})"
            raise UsageError(
                f"{quote(path)} is listed and not in {self._name}{where}",
                subject=quote(path),
                hint="list paths from its root, or absolute ones; nothing was done",
            )
        return b"" if normal == b"." else normal

    def _below(self, path: bytes) -> bytes | None:
        """The rest of an absolute path behind the root, None if it does not lead there."""
        for top in self._tops:
            rest = _rest(top, path)
            if rest is not None:
                return rest
        end = 0
        while end < len(path):
            end = path.find(b"/", end + 1)
            end = len(path) if end < 0 else end
            try:
                st = os.stat(path[:end])
            except OSError:
                return None
            if (st.st_dev, st.st_ino) == self._identity:
                self._tops.append(path[:end])
                return path[end + 1 :]
        return None


def _rest(top: bytes, path: bytes) -> bytes | None:
    if path == top:
        return b""
    start = top.rstrip(b"/") + b"/"
    return path[len(start) :] if path.startswith(start) else None
