"""The paths that a run is to look at, where all else is taken as unchanged (``create --changed-from``).

A path stands for itself and all below it. They are kept as keys in which a NUL stands for each slash: in
the order of such keys what is below a path follows it at once, so that a walk that goes through the names
of each directory in order meets them one after another, and a million paths need not be held.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from snapfs.catalog.spill import Spill, SpilledMap
from snapfs.fs.matching import CACHE_TAG
from snapfs.fs.rules import IGNORE_FILE, Rules

_SEPARATOR = b"\0"

T = TypeVar("T")


def _key(path: bytes) -> bytes:
    return path.replace(b"/", _SEPARATOR)


class Listed:
    """A set of paths from the root."""

    def __init__(self, spill: Spill, rules: Rules) -> None:
        """``spill`` is closed by the caller, when the run is over."""
        self._keys: SpilledMap[int] = spill.map()
        self._deciding = {IGNORE_FILE, *rules.if_present, *([CACHE_TAG] if rules.caches else [])}

    def add(self, path: bytes) -> None:
        """Have a path looked at. What says of a whole directory what is left out there stands for it."""
        above, _, name = path.rpartition(b"/")
        self._keys[_key(above if name in self._deciding else path)] = 1

    def add_new(self, path: bytes) -> bool:
        """Have a path looked at, if it is not to be looked at yet; whether that is so."""
        if self.covers(path):
            return False
        self.add(path)
        return True

    def covers(self, path: bytes) -> bool:
        """Whether all at a path is looked at."""
        key = _key(path)
        while key and key not in self._keys:
            key = key.rpartition(_SEPARATOR)[0]
        return key in self._keys

    @property
    def everything(self) -> bool:
        """Whether the root itself is listed."""
        return b"" in self._keys

    def keys(self) -> Iterator[bytes]:
        """Those that are not below others, in order; nothing is to be added meanwhile."""
        last: bytes | None = None
        for key, _ in self._keys.pairs():
            if last is None or not _within(key, last):
                last = key
                yield key

    def left(self, rules: Rules, met: Rules) -> Rules:
        """What a snapshot keeps of rules: as it was ``met`` where the run looked, as in ``rules`` elsewhere."""
        return replace(
            met,
            standing=tuple(self._joined(rules.standing or (), met.standing or (), _first)),
            marked=tuple(self._joined(rules.marked, met.marked, _first)),
            large=tuple(self._joined(rules.large, met.large, _itself, passing=False)),
        )

    def _joined(
        self,
        before: Collection[T],
        met: Collection[T],
        path_of: Callable[[T], bytes],
        *,
        passing: bool = True,
    ) -> Iterable[T]:
        """``met`` and those of ``before`` that were not looked at; with ``passing`` what is on the way to
        a listed path was.
        """
        by_key = sorted((_key(path_of(item)), item) for item in before)
        keys = self.keys()
        last: bytes | None = None
        following = next(keys, None)
        kept: list[T] = []
        for key, item in by_key:
            while following is not None and following <= key:
                last, following = following, next(keys, None)
            covered = last is not None and _within(key, last)
            passed = not key or (following is not None and _within(following, key))
            if not covered and not (passing and passed):
                kept.append(item)
        return sorted([*kept, *met], key=path_of)


def _within(key: bytes, top: bytes) -> bool:
    return not top or key == top or key.startswith(top + _SEPARATOR)


def _first(pair: tuple[bytes, object]) -> bytes:
    return pair[0]


def _itself(path: bytes) -> bytes:
    return path


class Cursor:
    """Goes through listed keys in order, directory by directory."""

    def __init__(self, keys: Iterator[bytes]) -> None:
        self._keys = keys
        self._next = next(keys, None)

    def names(self, directory: bytes, most: int) -> tuple[list[bytes], bool]:
        """The next names that are to be looked at in a directory, given by its `prefix`, and whether the last
        of them only leads to others. Of these `skip` must be called when they have been gone through.
        """
        found: list[bytes] = []
        while self._next is not None and self._next.startswith(directory) and len(found) < most:
            name, leads, _ = self._next[len(directory) :].partition(_SEPARATOR)
            found.append(name)
            if leads:
                return found, True
            self._next = next(self._keys, None)
        return found, False

    def skip(self, directory: bytes) -> None:
        """Go past all that is left below a directory, given by its `prefix`."""
        while self._next is not None and self._next.startswith(directory):
            self._next = next(self._keys, None)


def prefix(parts: Iterable[bytes]) -> bytes:
    """What the keys below the directory have in front whose path has these parts."""
    return b"".join([part + _SEPARATOR for part in parts])
