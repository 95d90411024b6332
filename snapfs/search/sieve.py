"""What `find` looks for: patterns of paths, and conditions on what is there."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from snapfs.errors import UsageError
from snapfs.fs.patterns import Pattern, is_malformed, literal_part, parse_glob
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind
from snapfs.model.moment import NS
from snapfs.model.quote import quote

LARGEST = (1 << 63) - 1
_SMALLEST_S, _LARGEST_S = -(1 << 63), LARGEST


@dataclass(frozen=True, slots=True)
class FindOptions:
    """What to look for; whatever is not given does not matter. Sizes in bytes.

    ``patterns``: one of them is to match: without a slash the last name, with one the path from the
    root. ``digests``: ranges of content digests, one of which is to have that of a file. ``newer_ns`` and
    ``older_ns`` are bounds of the mtime, themselves left out. ``at`` is a snapshot's number: only what it
    has. ``deleted``: only paths that the newest snapshot of their root does not have.
    """

    patterns: tuple[bytes, ...] = ()
    ignore_case: bool = False
    kinds: frozenset[Kind] = frozenset()
    larger: int | None = None
    smaller: int | None = None
    newer_ns: int | None = None
    older_ns: int | None = None
    digests: tuple[tuple[bytes, bytes], ...] = ()
    at: int | None = None
    deleted: bool = False

    @property
    def about_inodes(self) -> bool:
        """Whether inodes alone can tell much of what does not fit."""
        bounds = (self.larger, self.smaller, self.newer_ns, self.older_ns)
        return any(bound is not None for bound in bounds)

    @property
    def sizes(self) -> tuple[int, int]:
        """The smallest and the largest size that fits."""
        least = 0 if self.larger is None else self.larger + 1
        return least, LARGEST if self.smaller is None else self.smaller - 1

    @property
    def seconds(self) -> tuple[int, int]:
        """Seconds from and to which the mtime may be; the nanoseconds are for `Sieve.fits`."""
        since = _SMALLEST_S if self.newer_ns is None else self.newer_ns // NS
        return since, _LARGEST_S if self.older_ns is None else self.older_ns // NS


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern ready for use."""

    pattern: Pattern
    regex: re.Pattern[bytes]
    parts: tuple[bytes, ...]
    """its names, as they are written; one for a pattern of a last name"""

    @property
    def part(self) -> bytes:
        """Bytes that are in every last name that it matches; empty if nothing is known of it."""
        last = self.parts[-1]
        return b"" if last == b"**" else literal_part(last)

    def literal_prefix(self) -> tuple[bytes, ...]:
        """The names in front in which nothing is left open."""
        if self.pattern.by_name:
            return ()
        prefix: list[bytes] = []
        for part in self.parts:
            plain = _plain(part)
            if plain is None:
                break
            prefix.append(plain)
        return tuple(prefix)


def _plain(part: bytes) -> bytes | None:
    """The one name that a part of a pattern matches, None for any other."""
    if any(byte in part for byte in b"*?["):
        return None
    plain = re.sub(rb"\\(.)", rb"\1", part, flags=re.DOTALL)
    return plain if plain and not part.endswith(b"\\") else None


def glob(text: bytes, *, ignore_case: bool) -> Glob:
    """A pattern as a person writes it; with ``ignore_case`` its letters are those of either case.

    Raises UsageError for one that matches nothing at all.
    """
    pattern = parse_glob(folded(text) if ignore_case else text, "")
    if is_malformed(pattern):
        raise UsageError(
            f"{quote(text)} can match nothing", subject=quote(text),
            hint="a bracket is open, or a backslash stands at its end; a backslash takes the meaning away",
        )  # fmt: skip
    body = pattern.text.removesuffix(b"/").removeprefix(b"/")
    if ignore_case:
        # Nothing in it is certain in every name but what has no case.
        body = re.sub(rb"[A-Za-z\x80-\xff]", b"?", body)
    return Glob(pattern, re.compile(pattern.regex, re.DOTALL), tuple(body.split(b"/")))


def folded(name: bytes) -> bytes:
    """A name without the difference between letters of either case."""
    return os.fsencode(os.fsdecode(name).casefold())


class Sieve:
    """Says of paths and of what is there whether they are looked for."""

    def __init__(self, options: FindOptions) -> None:
        self._options = options
        self.globs: Sequence[Glob] = [
            glob(text, ignore_case=options.ignore_case) for text in options.patterns
        ]
        names, paths = (
            [one.pattern.regex for one in self.globs if one.pattern.by_name is by_name]
            for by_name in (True, False)
        )
        self._name = re.compile(b"|".join(names), re.DOTALL) if names else None
        self._path = re.compile(b"|".join(paths), re.DOTALL) if paths else None
        self._for_dirs = any(one.pattern.dirs_only for one in self.globs)

    def may_match(self, name: bytes) -> bool:
        """Whether something called so may fit a pattern, wherever it is."""
        if self._path is not None or self._name is None:
            return True
        return bool(self._name.fullmatch(self._folded(name)))

    def matches(self, path: bytes) -> bool:
        """Whether a path fits a pattern, but for what only a directory fits."""
        if not self.globs:
            return True
        path = self._folded(path)
        name = path.rpartition(b"/")[2]
        return (self._name is not None and bool(self._name.fullmatch(name))) or (
            self._path is not None and bool(self._path.fullmatch(path))
        )

    def _folded(self, path: bytes) -> bytes:
        return folded(path) if self._options.ignore_case else path

    def _hit(self, one: Glob, path: bytes) -> bool:
        subject = path.rpartition(b"/")[2] if one.pattern.by_name else path
        return bool(one.regex.fullmatch(self._folded(subject)))

    def fits(self, path: bytes, entry: Entry, digest: bytes) -> bool:
        """Whether what is at a path that `matches` is wanted."""
        options = self._options
        if options.kinds and entry.kind not in options.kinds:
            return False
        if self._for_dirs and entry.kind != Kind.DIR:
            hits = (one for one in self.globs if self._hit(one, path))
            if all(one.pattern.dirs_only for one in hits):
                return False
        if options.about_inodes and not self._within(entry):
            return False
        if not options.digests:
            return True
        return entry.kind == Kind.FILE and any(
            low <= digest <= high for low, high in options.digests
        )

    def _within(self, entry: Entry) -> bool:
        options = self._options
        if options.larger is not None or options.smaller is not None:
            least, most = options.sizes
            if entry.kind != Kind.FILE or not least <= entry.size <= most:
                return False
        mtime_ns = entry.mtime_s * NS + entry.mtime_nsec
        if options.newer_ns is not None and mtime_ns <= options.newer_ns:
            return False
        return options.older_ns is None or mtime_ns < options.older_ns
