"""Applying rules (``snapfs.fs.rules``) to a walk, directory by directory.

Where no rule can speak there is no object at all: a walk asks ``if rules is not None`` and nothing else.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Container
from dataclasses import replace
from typing import NamedTuple

from snapfs.fs.patterns import PatternSet, parse_patterns, split_lines
from snapfs.fs.rules import IGNORE_FILE, RuleLine, Rules, to_bytes, to_text
from snapfs.model.units import exact_size

CACHE_TAG = b"CACHEDIR.TAG"
_CACHE_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_IGNORE_BYTES = 1 << 20
MOST_LARGE = 16 * 1024
"""Files left out for their size that a snapshot remembers."""


class Verdict(NamedTuple):
    """What happens to one entry, and why: the rule and its source, both empty if none spoke."""

    excluded: bool
    rule: bytes
    source: str


_KEPT = Verdict(False, b"", "")


Trail = tuple[tuple[bytes, bytes, bytes | None], ...]
"""Name, path and .snapfsignore text of each directory that rules come down through: what `RuleMatcher.follow`
makes them again of, in another process.
"""


class Met(NamedTuple):
    """What a matcher has met on a part of a walk, for that of the whole."""

    found: dict[bytes, bytes]
    marked: dict[bytes, tuple[bytes, ...]]
    large: set[bytes]
    forgot: bool
    matched: set[int]


class DirRules:
    """The rules in force for the entries of one directory."""

    __slots__ = (
        "_ignore", "_matcher", "_name", "_parent", "_sets", "digest", "large", "only", "only_why",
    )  # fmt: skip

    def __init__(
        self,
        matcher: RuleMatcher,
        parent: DirRules | None,
        name: bytes,
        sets: tuple[tuple[PatternSet, int], ...],
        digest: bytes,
    ) -> None:
        self._matcher = matcher
        self._parent = parent
        self._name = name
        # Each with the number of directories from its own down to this one.
        self._sets = sets
        self._ignore: tuple[bytes, bytes | None] = (b"", None)
        self.only: frozenset[bytes] | None = None
        self.only_why = ""
        self.large: frozenset[bytes] = frozenset()
        """names that were too large when the snapshot was taken"""
        self.digest = digest
        """Changes with every rule in force here: part of the directory's fingerprint."""

    def excluded(self, name: bytes, is_dir: bool, size: int = 0) -> bool:
        """Whether to leave ``name`` out; ``size`` counts for regular files, give 0 for others."""
        if not is_dir and self._too_large(name, size):
            return True
        if self.only is not None:
            return name not in self.only
        for patterns, levels in self._sets:
            prefix = self._prefix(levels) if patterns.needs_path else b""
            decided = patterns.decide(name, prefix, is_dir)
            if decided is not None:
                return not decided.negated
        return False

    def explain(self, name: bytes, is_dir: bool, size: int = 0) -> Verdict:
        """As `excluded`, with the reason."""
        if not is_dir and self._too_large(name, size):
            limit = self._matcher.rules.larger_than or 0
            return Verdict(True, exact_size(limit).encode(), "--exclude-larger-than")
        if self.only is not None:
            return _KEPT if name in self.only else Verdict(True, min(self.only), self.only_why)
        for patterns, levels in self._sets:
            decided = patterns.decide(name, self._prefix(levels), is_dir)
            if decided is not None:
                return Verdict(not decided.negated, decided.text, decided.source)
        return _KEPT

    def only_now(self, name: bytes, is_dir: bool, size: int) -> bool:
        """Whether what is excluded is so for a marker or its size, and need not have been at other times."""
        return self.only is not None or (not is_dir and self._too_large(name, size))

    def see_left_out(self, name: bytes, is_dir: bool, size: int) -> None:
        """Remember what cannot be told later: that ``name`` is not in the snapshot for its size."""
        if is_dir or not self._too_large(name, size):
            return
        names = [name]
        here: DirRules | None = self
        while here is not None and here._parent is not None:
            names.append(here._name)
            here = here._parent
        self._matcher.see_large(b"/".join(reversed(names)))

    def _too_large(self, name: bytes, size: int) -> bool:
        larger_than = self._matcher.rules.larger_than
        return larger_than is not None and (size > larger_than or name in self.large)

    def _prefix(self, levels: int) -> bytes:
        """Path of this directory from the one ``levels`` further up, with a slash at its end.

        Made when it is asked for and remembered for one directory: held for each, the prefixes of a
        deep nest would take space that grows with its square.
        """
        if levels == 0:
            return b""
        cached = self._matcher.prefixes
        if cached[0] is not self:
            cached = self._matcher.prefixes = (self, {})
        prefix = cached[1].get(levels)
        if prefix is None:
            names = [b""]
            here: DirRules | None = self
            for _ in range(levels):
                assert here is not None
                names.append(here._name)
                here = here._parent
            prefix = cached[1][levels] = b"/".join(reversed(names))
        return prefix

    def derive(self, name: bytes) -> DirRules:
        """What holds in the subdirectory ``name`` before it is looked into."""
        sets = tuple((patterns, levels + 1) for patterns, levels in self._sets)
        return DirRules(self._matcher, self, name, sets, self.digest)

    def trail(self) -> Trail:
        """Where these rules come from."""
        found: list[tuple[bytes, bytes, bytes | None]] = []
        here: DirRules | None = self
        while here is not None:
            found.append((here._name, *here._ignore))
            here = here._parent
        return tuple(reversed(found))

    def add(self, patterns: PatternSet, path: bytes, text: bytes) -> DirRules:
        """With the patterns of a .snapfsignore file of this very directory, whose path is ``path``."""
        # Those given for the run stay in front.
        fixed = self._sets[:1] if self._matcher.has_run_patterns else ()
        sets = (*fixed, (patterns, 0), *self._sets[len(fixed) :])
        digest = hashlib.blake2b(self.digest + text, digest_size=16).digest()
        here = DirRules(self._matcher, self._parent, self._name, sets, digest)
        here._ignore = path, text
        return here


class RuleMatcher:
    """Applies rules to a walk. Calls to `top` and `enter` follow the walk down."""

    def __init__(
        self, rules: Rules, *, problem: Callable[[bytes, OSError], None] | None = None
    ) -> None:
        """``problem`` hears of .snapfsignore files that could not be read (path, error)."""
        self.rules = rules
        self.has_run_patterns = bool(rules.patterns)
        self.prefixes: tuple[DirRules | None, dict[int, bytes]] = (None, {})
        self._run_patterns = PatternSet(parse_patterns(rules.patterns))
        self._problem = problem
        self._fixed = None if rules.standing is None else dict(rules.standing)
        self._was_marked = dict(rules.marked)
        self._was_large: dict[bytes, set[bytes]] = {}
        for path in rules.large:
            directory, _, name = path.rpartition(b"/")
            self._was_large.setdefault(directory, set()).add(name)
        self._found: dict[bytes, bytes] = {}
        self._marked: dict[bytes, tuple[bytes, ...]] = {}
        self._large: set[bytes] = set()
        self.forgot = False
        """whether there were more large files than are remembered"""
        self._sets: dict[bytes, PatternSet] = {}
        markers = list(rules.if_present)
        self._markers = [*markers, CACHE_TAG] if rules.caches else markers

    def top(self, dir_fd: int | None, names: Container[bytes]) -> DirRules | None:
        """Rules for the root's entries, None if nothing can be left out of it.

        ``names`` are the root's entries; ``dir_fd`` is None where no live directory is at hand (then a
        cache tag is believed by its name).
        """
        here: DirRules | None = None
        if self.has_run_patterns or self.rules.larger_than is not None:
            here = self._uppermost(b"")
        return self._look_into(here, b"", b"", dir_fd, names)

    def enter(
        self,
        parent: DirRules | None,
        name: bytes,
        path: bytes,
        dir_fd: int | None,
        names: Container[bytes],
    ) -> DirRules | None:
        """Rules for the entries of the subdirectory ``name``, whose path from the root is ``path``."""
        here = None if parent is None else parent.derive(name)
        return self._look_into(here, name, path, dir_fd, names)

    def follow(self, trail: Trail) -> list[DirRules]:
        """The rules of a directory that another matcher of the same rules has looked into: those of each
        directory on the way, the last is its own.
        """
        found: list[DirRules] = []
        for name, path, text in trail:
            here = found[-1].derive(name) if found else self._uppermost(name)
            if text is not None:
                here = here.add(self._patterns_of(path, text), path, text)
            found.append(here)
        return found

    def excludes(self, path: bytes, is_dir: bool) -> bool:
        """Whether a path, or a directory above it, is left out, by all that is known without looking at it."""
        parts = path.split(b"/")
        here = self.top(None, ())
        for depth, name in enumerate(parts, start=1):
            below = depth < len(parts)
            if here is not None and here.excluded(name, below or is_dir):
                return True
            if below:
                here = self.enter(here, name, b"/".join(parts[:depth]), None, ())
        return False

    def met(self) -> Met:
        """What has been met so far."""
        return Met(
            self._found, self._marked, self._large, self.forgot, set(self._run_patterns.matched)
        )

    def absorb(self, met: Met) -> None:
        """Another matcher of the same rules has met this elsewhere."""
        self._found.update(met.found)
        self._marked.update(met.marked)
        for path in sorted(met.large):
            self.see_large(path)
        self.forgot = self.forgot or met.forgot
        self._run_patterns.matched.update(met.matched)

    def report(self, path: bytes, error: OSError) -> None:
        """A file with rules could not be read."""
        if self._problem is not None:
            self._problem(path, error)

    def _uppermost(self, name: bytes) -> DirRules:
        """Where rules begin: at the top, or in the first directory that has a file of them."""
        sets = ((self._run_patterns, 0),) if self.has_run_patterns else ()
        return DirRules(self, None, name, sets, self.rules.digest())

    def unused(self) -> tuple[RuleLine, ...]:
        """Patterns given for the run that have matched nothing so far."""
        matched = self._run_patterns.matched
        return tuple(
            RuleLine(pattern.text, pattern.source)
            for index, pattern in enumerate(self._run_patterns.patterns)
            if index not in matched
        )

    def see_large(self, path: bytes) -> None:
        """A file is left out for its size."""
        if len(self._large) < MOST_LARGE:
            self._large.add(path)
        else:
            self.forgot = self.forgot or path not in self._large

    def as_met(self) -> Rules:
        """The rules together with what the walk has met, as a snapshot keeps them."""
        return replace(
            self.rules,
            standing=tuple(sorted(self._found.items())),
            marked=tuple(sorted(self._marked.items())),
            large=tuple(sorted(self._large)),
        )

    def _look_into(
        self,
        here: DirRules | None,
        name: bytes,
        path: bytes,
        dir_fd: int | None,
        names: Container[bytes],
    ) -> DirRules | None:
        text = self._ignore_text(path, dir_fd, names)
        if text is not None:
            self._found[path] = text
            if here is None:
                here = self._uppermost(name)
            here = here.add(self._patterns_of(path, text), path, text)
        if self._markers:
            present = [marker for marker in self._markers if marker in names]
            if CACHE_TAG in present and CACHE_TAG not in self.rules.if_present:
                present = [marker for marker in present if marker != CACHE_TAG or _is_cache(dir_fd)]
            present = sorted({*present, *self._was_marked.get(path, ())})
            if present:
                self._marked[path] = tuple(present)
                if here is None:
                    here = self._uppermost(name)
                here.only = frozenset(present)
                cache = present == [CACHE_TAG] and self.rules.caches
                here.only_why = "--exclude-caches" if cache else "--exclude-if-present"
        if here is not None and path in self._was_large:
            here.large = frozenset(self._was_large[path])
        return here

    def _ignore_text(
        self, path: bytes, dir_fd: int | None, names: Container[bytes]
    ) -> bytes | None:
        if self._fixed is not None:
            return self._fixed.get(path)
        if dir_fd is None or IGNORE_FILE not in names:
            return None
        try:
            text = _read_regular(dir_fd, IGNORE_FILE, _MAX_IGNORE_BYTES + 1)
            if text is not None and len(text) > _MAX_IGNORE_BYTES:
                # Half of its rules would be other rules.
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            return text
        except OSError as error:
            self.report(path + b"/" + IGNORE_FILE if path else IGNORE_FILE, error)
            return None

    def _patterns_of(self, path: bytes, text: bytes) -> PatternSet:
        """The same text in many directories (or runs) is compiled once."""
        source = to_text(path + b"/" + IGNORE_FILE if path else IGNORE_FILE)
        key = to_bytes(source) + b"\0" + text
        found = self._sets.get(key)
        if found is None:
            found = PatternSet(parse_patterns((line, source) for line in split_lines(text)))
            self._sets[key] = found
        return found


def _read_regular(dir_fd: int, name: bytes, limit: int) -> bytes | None:
    """Bytes of a regular file, None for anything else: neither links nor pipes hold rules."""
    found = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    if not stat.S_ISREG(found.st_mode):
        return None
    fd = os.open(name, _READ_FLAGS, dir_fd=dir_fd)
    try:
        return os.read(fd, limit)
    finally:
        os.close(fd)


def _is_cache(dir_fd: int | None) -> bool:
    if dir_fd is None:
        return True
    try:
        start = _read_regular(dir_fd, CACHE_TAG, len(_CACHE_SIGNATURE))
    except OSError:
        return False
    return start == _CACHE_SIGNATURE
