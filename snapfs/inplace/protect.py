"""What is never deleted from a live tree, although the snapshot does not have it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Container

from snapfs.fs.handles import Names, open_below, open_top
from snapfs.fs.matching import DirRules, RuleMatcher
from snapfs.fs.rules import Rules
from snapfs.model.path import join


def nothing_left_alone(_path: bytes, _is_dir: bool) -> bool:
    """Everything may be deleted that no rule keeps."""
    return False


class Protection:
    """What the rules of a snapshot leave out, what nothing was asked of, and the repository."""

    def __init__(
        self,
        rules: Rules,
        target: bytes,
        prefix: bytes,
        untouched: Callable[[bytes], bool],
        brought: Callable[[bytes], bool],
        left_alone: Callable[[bytes, bool], bool] = nothing_left_alone,
    ) -> None:
        """``prefix`` is the path from the root of what lands in ``target``; ``untouched`` says of a directory's
        path whether it is the repository's, ``brought`` of a path from the root whether it is there only
        because of the restore that is undone: no rule keeps that. ``left_alone`` says of a path, and whether it
        is a directory, that nothing was asked of it.
        """
        self._rules = rules
        self._matcher = RuleMatcher(rules)
        self._left_alone = left_alone
        self._target = target
        self._prefix = tuple(prefix.split(b"/")) if prefix else ()
        self._untouched = untouched
        self._brought = brought
        self._way: list[bytes] = []
        self._levels: list[DirRules | None] = []  # of the top, and of each directory on the way

    def __call__(self, parts: tuple[bytes, ...], name: bytes, is_dir: bool) -> bool:
        """Whether the live entry ``name`` in the directory ``parts`` below the target stays."""
        live = os.path.join(self._target, *parts, name)
        if is_dir and self._untouched(live):
            return True
        here = self._prefix + tuple(parts)
        path = join(b"/".join(here), name)
        if self._left_alone(path, is_dir):
            return True
        if self._brought(path):
            return False
        rules = self._rules_of(here)
        return rules is not None and rules.excluded(name, is_dir, self._size(live, is_dir))

    def _rules_of(self, parts: tuple[bytes, ...]) -> DirRules | None:
        way, levels = self._way, self._levels
        if not levels:
            fd, names = self._look(())
            levels.append(self._matcher.top(fd, names))
            self._close(fd)
        same = 0
        while same < min(len(way), len(parts)) and way[same] == parts[same]:
            same += 1
        del way[same:], levels[same + 1 :]
        for depth in range(same, len(parts)):
            path = b"/".join(parts[: depth + 1])
            fd, names = self._look(parts[: depth + 1])
            levels.append(self._matcher.enter(levels[-1], parts[depth], path, fd, names))
            way.append(parts[depth])
            self._close(fd)
        return levels[-1]

    def _look(self, parts: tuple[bytes, ...]) -> tuple[int | None, Container[bytes]]:
        """A live directory and its names, where a marker in it decides; else nothing is opened."""
        below = parts[len(self._prefix) :]
        if not (self._rules.caches or self._rules.if_present) or len(parts) < len(self._prefix):
            return None, ()
        try:
            top = open_top(self._target)
        except OSError:
            return None, ()
        try:
            fd = open_below(top, below)
            return fd, Names(fd)
        except OSError:
            return None, ()
        finally:
            os.close(top)

    @staticmethod
    def _close(fd: int | None) -> None:
        if fd is not None:
            os.close(fd)

    def _size(self, live: bytes, is_dir: bool) -> int:
        if self._rules.larger_than is None or is_dir:
            return 0
        try:
            st = os.lstat(live)
        except OSError:
            return 1 << 62  # cannot be examined: keep it
        return st.st_size if stat.S_ISREG(st.st_mode) else 0
