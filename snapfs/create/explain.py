"""Which rule leaves a path out."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from snapfs.create.options import Explained
from snapfs.errors import NotFoundError
from snapfs.fs.handles import open_dir, sorted_names
from snapfs.fs.matching import DirRules, RuleMatcher, Verdict
from snapfs.fs.rules import Rules
from snapfs.model.quote import quote


def explain(root_fd: int, rules: Rules, paths: Sequence[bytes]) -> tuple[Explained, ...]:
    """For each path from the root, the verdict on it or on the directory above that is left out.

    Raises NotFoundError for a path that is not there.
    """
    for path in paths:
        _require(root_fd, path)
    return tuple(_explain(root_fd, RuleMatcher(rules), path) for path in paths)


def _require(root_fd: int, path: bytes) -> None:
    try:
        os.stat(path or b".", dir_fd=root_fd, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError) as error:
        name = quote(path)
        raise NotFoundError(f"there is no {name} in the directory", subject=name) from error
    except OSError:
        pass  # what cannot be reached is judged by its name


def _explain(root_fd: int, matcher: RuleMatcher, path: bytes) -> Explained:
    fd = os.dup(root_fd)
    parts = [part for part in path.split(b"/") if part]
    verdict = Verdict(False, b"", "")
    rules: DirRules | None = matcher.top(fd, sorted_names(fd))
    try:
        for depth, name in enumerate(parts):
            st = _stat(fd, name)
            is_dir = depth < len(parts) - 1 or (st is not None and stat.S_ISDIR(st.st_mode))
            size = st.st_size if st is not None and stat.S_ISREG(st.st_mode) else 0
            if rules is not None:
                verdict = rules.explain(name, is_dir, size)
                if verdict.excluded:
                    break
            if depth == len(parts) - 1:
                break
            below = open_dir(name, fd)
            os.close(fd)
            fd = below
            rules = matcher.enter(rules, name, b"/".join(parts[: depth + 1]), fd, sorted_names(fd))
    except OSError:
        pass  # what cannot be reached is judged by its name alone
    finally:
        os.close(fd)
    return Explained(path, verdict.excluded, os.fsdecode(verdict.rule), verdict.source)


def _stat(fd: int, name: bytes) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=fd, follow_symlinks=False)
    except OSError:
        return None
