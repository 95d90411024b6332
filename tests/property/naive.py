"""The naive model: every snapshot is a full copy, kept as a dict of paths.

It knows nothing of diffs, identities or folding; it says what each view is, what differs between two
of them, and which packs some snapshot still needs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.harness.trees import ALLOCATION, State

Path = bytes
NO_BYTES = hashlib.blake2b(digest_size=16).hexdigest()
"""Digest of a file of zeros and holes, which no pack holds."""
ONE_BLOCK = 250_000
"""A file up to this size is one block, or one for each of its ranges of data."""


@dataclass(frozen=True)
class Content:
    """The bytes of a file and where its data lies, as far as two of them can be told apart."""

    digest: str
    ranges: tuple[tuple[int, int], ...]
    size: int


def contents_of(state: State) -> set[Content]:
    """Contents of all files that have bytes other than zeros."""
    return {
        Content(fact["content"], tuple(fact[ALLOCATION]), fact["size"])
        for fact in state.facts.values()
        if fact["type"] == "file" and fact["size"] and fact["content"] != NO_BYTES
    }


@dataclass
class Packs:
    """In which packs the bytes of each content may be.

    A content that was dead when it came again may have been found in its old pack or stored anew;
    a large one is cut into blocks, which it may share with any other.
    """

    homes: dict[Content, set[str]] = field(default_factory=dict)

    def added(
        self, new: set[str], packs: set[str], contents: set[Content], live: set[Content]
    ) -> None:
        """A create that met these contents made ``new`` of ``packs``; snapshots had the ``live`` ones."""
        for content in contents - live:
            home = packs if content.size > ONE_BLOCK else new
            self.homes.setdefault(content, set()).update(home)
        assert all(self.homes.get(content) for content in contents), "a content is nowhere"

    def removed(self, packs: set[str]) -> None:
        """These packs are gone."""
        for homes in self.homes.values():
            homes -= packs

    def check(self, packs: set[str], live: set[Content]) -> None:
        """Exactly the packs are there that some snapshot needs."""
        needed = {pack for content in live for pack in self.homes[content]}
        assert packs <= needed, f"not needed: {packs - needed}"
        for content in live:
            assert self.homes[content] & packs, f"the bytes of {content} are gone"


def check_diff(
    told: Iterable[tuple[str, Path, Path | None, frozenset[str]]], before: State, after: State
) -> None:
    """The changes, applied to what was, explain all that is, and none of them is made up.

    A rename moves everything below it; every other difference has a line of its own.
    """
    renames: dict[Path, Path] = {}
    lines: dict[tuple[str, Path], frozenset[str]] = {}
    for letter, path, old, what in told:
        assert (letter, path) not in lines, f"told twice: {letter} {path!r}"
        lines[letter, path] = what
        if letter == "R":
            assert old is not None
            assert old in before.facts, old
            assert path in after.facts, path
            renames[path] = old
    for path, old in renames.items():
        assert ("+", path) not in lines, f"{path!r} is both renamed and new"
        assert ("-", old) not in lines, f"{old!r} is both renamed and gone"
    came_from = {path: _origin(path, renames, before) for path in after.facts}
    explained = {
        old for path, old in came_from.items() if old is not None and ("+", path) not in lines
    }
    for path, old in came_from.items():
        if ("+", path) in lines:
            # Under a directory that moved, what was replaced is gone at its old path.
            assert old is None or ("-", old) in lines, f"+ {path!r} came from {old!r}"
            continue
        assert old is not None, f"{path!r} is new, and nothing says so"
        _check_entry(path, old, lines, before, after)
    for path in before.facts:
        removed = ("-", path) in lines
        assert removed or path in explained, f"{path!r} is gone, and nothing says so"
    for letter, path in lines:
        if letter == "-":
            assert path in before.facts, f"- {path!r} was never there"
            assert path not in explained, f"- {path!r} is still there"
        elif letter == "+":
            assert path in after.facts
        elif letter == "M":
            old = came_from[path]
            assert old is not None
            assert _differs(path, old, before, after), f"M {path!r} and nothing differs"


def _origin(path: Path, renames: dict[Path, Path], before: State) -> Path | None:
    """Where an entry of the later state was in the earlier one, as the renames have it."""
    moved_away = set(renames.values())
    at, below = path, b""
    while at and at not in renames:
        at, _, tail = at.rpartition(b"/")
        below = b"/" + tail + below
    start = renames[at] if at else b""
    old = (start + below).removeprefix(b"/")
    if old not in before.facts:
        return None
    # What was there may itself have been carried off, alone or with something above it.
    on_the_way = old
    while on_the_way != start:
        if on_the_way in moved_away:
            return None
        on_the_way = on_the_way.rpartition(b"/")[0]
    return old


def _check_entry(
    path: Path,
    old: Path,
    lines: dict[tuple[str, Path], frozenset[str]],
    before: State,
    after: State,
) -> None:
    what = lines.get(("M", path), lines.get(("R", path)))
    differing = _differs(path, old, before, after)
    a, b = before.facts[old], after.facts[path]
    if differing - {"links", "holes", ALLOCATION}:
        assert what is not None, f"{path!r} differs in {differing}, and nothing says so"
    if what is None:
        return
    for key, word in (
        ("type", "type"),
        ("mode", "mode"),
        ("mtime", "mtime"),
        ("content", "content"),
    ):
        if key in differing and a["type"] == b["type"]:
            assert word in what, f"{path!r} differs in {differing}, told {set(what)}"
    if a["type"] != b["type"]:
        assert "type" in what


def _differs(path: Path, old: Path, before: State, after: State) -> set[str]:
    """Names of the facts that differ between two entries."""
    a, b = before.facts[old], after.facts[path]
    if a["type"] != b["type"]:
        return {"type"}
    found = {key for key in a.keys() | b.keys() if a.get(key) != b.get(key)}
    if "size" in found:
        found.add("content")
    if "content" not in found and ALLOCATION in found:
        # Where its holes are belongs to the content of a file.
        found = found - {ALLOCATION} | {"holes"}
    if before.groups.get(old) != after.groups.get(path):
        found.add("links")
    return found
