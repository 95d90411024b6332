"""`find`: paths over all history, each with the range of snapshots in which it was so.

Three ways lead to the names that may fit: the rows of all names that have some bytes of the pattern in
them, the inodes whose sizes, times or contents fit, or the directories that a pattern's beginning names.
What stands under these names is then told by spans (`tree.history`), a hundred inodes at a time; no query
is asked for each file, and none for each snapshot. Results are put in order on disk where they are many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, NamedTuple

from snapfs.catalog import compiled as sql
from snapfs.catalog import rows, view
from snapfs.catalog.database import Catalog
from snapfs.catalog.spill import Spill, SpilledMap
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind, State
from snapfs.model.snapshot import Root, Snapshot
from snapfs.repository.opened import Repository
from snapfs.search.sieve import FindOptions, Glob, Sieve
from snapfs.tree.differences import differences
from snapfs.tree.history import (
    AT_ONCE,
    Chain,
    Place,
    Places,
    Span,
    at_path,
    chain_of,
    cut,
    versions,
)

_PENDING = 1000
"""Stays whose inodes are looked up together."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a path was from one snapshot up to another."""

    root: Root
    """the root"""
    path: bytes
    """path from the root"""
    first: Snapshot
    """the snapshot in which it is so first"""
    last: Snapshot
    """the last one in which it is so"""
    entry: Entry
    """what is there"""
    digest: bytes
    """of the bytes of a file; empty for anything else"""
    newest: bool
    """whether it is so in the newest snapshot"""


class _Stay(NamedTuple):
    """An inode at a path for a while."""

    chain: Chain
    inode: int
    path: bytes
    span: Span


class _Version(NamedTuple):
    first: int
    end: int
    entry: Entry
    digest: bytes


def _plain(version: _Version) -> tuple[Any, ...]:
    return version.first, version.end, tuple(version.entry), version.digest


def _from_plain(values: tuple[Any, ...]) -> _Version:
    first, end, entry, digest = values
    return _Version(first, end, Entry._make(entry), digest)


def find(repository: Repository, roots: Sequence[Root], options: FindOptions) -> Iterator[Found]:
    """What fits, by root and path in byte order, then by time."""
    catalog = repository.catalog
    with closing(Spill()) as spill, catalog.read():
        found = ((root.id, chain_of(catalog, root.id)) for root in roots)
        known = {id_: chain for id_, chain in found if chain is not None}
        snapshots = {id_: rows.snapshots(catalog, id_) for id_ in known}
        search = _Search(catalog, known, options, spill)
        search.run()
        for root in sorted(roots, key=lambda root: root.label):
            chain = snapshots.get(root.id, ())
            for path, version in search.found(root.id) if chain else ():
                yield Found(
                    root, path, chain[version.first], chain[version.end - 1],
                    version.entry, version.digest, version.end == len(chain),
                )  # fmt: skip


class _Search:
    """One search in one read."""

    def __init__(
        self, catalog: Catalog, known: dict[int, Chain], options: FindOptions, spill: Spill
    ) -> None:
        self._catalog = catalog
        self._chains = {id_: chain for id_, chain in known.items() if chain.snapshots}
        self._options = options
        self._sieve = Sieve(options)
        self._places = Places(catalog, self._chains)
        self._pending: list[_Stay] = []
        self._found: dict[int, SpilledMap[_Version]] = {
            id_: spill.map(_plain, _from_plain) for id_ in known
        }
        self._live: dict[tuple[int, bytes], bool] = {}

    def run(self) -> None:
        """Look everywhere where something may be."""
        options = self._options
        globs = self._sieve.globs
        walked = [one for one in globs if one.literal_prefix()]
        if options.digests:
            self._by_inodes(self._inodes_of_contents())
        elif globs and len(walked) == len(globs):
            for one in walked:
                for chain in self._chains.values():
                    self._walk(chain, one)
        elif options.about_inodes and not (globs and all(one.part for one in globs)):
            self._by_inodes(self._fitting_inodes())
        else:
            for part in {one.part for one in globs} or {b""}:
                self._by_rows(self._catalog.execute(sql.FIND_NAMES, {"part": part}))
            self._tops()
        self._flush()

    def found(self, root_id: int) -> Iterator[tuple[bytes, _Version]]:
        """Versions of each path, those that differ in nothing that matters together."""
        chain = self._chains.get(root_id)
        pairs = self._found[root_id].pairs()
        for path, group in groupby(pairs, key=lambda pair: pair[0].rpartition(b"\0")[0]):
            for version in _joined(one for _, one in group):
                if chain is not None and self._is_wanted(chain, path, version):
                    yield path, version

    def _is_wanted(self, chain: Chain, path: bytes, version: _Version) -> bool:
        options = self._options
        if options.at is not None:
            position = chain.position(options.at)
            if position is None or not version.first <= position < version.end:
                return False
        return not options.deleted or (
            version.end < chain.whole.end and not self._is_there(chain, path)
        )

    # --- where to look ------------------------------------------------------------------------

    def _inodes_of_contents(self) -> Iterator[int]:
        for low, high in self._options.digests:
            contents = self._catalog.execute(sql.FIND_CONTENTS, {"low": low, "high": high})
            for (content,) in contents.fetchall():
                for (inode,) in self._catalog.execute(sql.TOUCHED_INODES, {"content": content}):
                    yield inode

    def _fitting_inodes(self) -> Iterator[int]:
        least, most = self._options.sizes
        since, until = self._options.seconds
        params = {"least": least, "most": most, "since": since, "until": until}
        return (row[0] for row in self._catalog.execute(sql.FIND_INODES, params))

    def _by_inodes(self, inodes: Iterable[int]) -> None:
        left = iter(inodes)
        while some := list(islice(left, AT_ONCE)):
            params = some + [0] * (AT_ONCE - len(some))
            self._by_rows(self._catalog.execute(sql.HISTORY_NAMES, params + params))
        self._tops()

    def _by_rows(self, found: Iterable[tuple[int, bytes, int | None, int | None]]) -> None:
        """Rows of names, those of each together."""
        parent, name, chain, may_match = 0, b"", None, False
        values: list[tuple[int | None, int | None]] = []
        for above, called, at, inode in found:
            if above != parent or called != name:
                if values and chain is not None:
                    self._by_name(chain, parent, name, values)
                if above != parent:
                    chain = self._places.chain(above)
                parent, name, values = above, called, []
                may_match = self._sieve.may_match(called)
            if may_match:
                values.append((at, inode))
        if values and chain is not None:
            self._by_name(chain, parent, name, values)

    def _by_name(
        self, chain: Chain, parent: int, name: bytes, values: list[tuple[int | None, int | None]]
    ) -> None:
        for span, _, inode in chain.held(values):
            if inode is not None:
                for place in self._places.of_name(chain, parent, name, span):
                    self._stay(chain, inode, place)

    def _tops(self) -> None:
        """The roots themselves have no name; only what asks for no name finds them."""
        if not self._sieve.globs:
            for chain in self._chains.values():
                if chain.root.inode_id is not None:
                    self._pending.append(_Stay(chain, chain.root.inode_id, b"", chain.whole))

    # --- along a path -------------------------------------------------------------------------

    def _walk(self, chain: Chain, one: Glob) -> None:
        """Where a pattern's beginning is literal only what it names is gone through."""
        prefix = one.literal_prefix()
        tops = at_path(self._catalog, chain, b"/".join(prefix))
        if len(prefix) == len(one.parts):
            for inode, place in tops:
                self._stay(chain, inode, place)
            return
        depth = len(one.parts) - len(prefix)
        deep = any(b"**" in part for part in one.parts[len(prefix) :])
        level = {inode for inode, _ in tops}
        seen: set[int] = set()
        while level and (deep or depth):
            depth -= 1
            below: set[int] = set()
            for directory in sorted(level - seen):
                below.update(self._children(chain, directory))
            seen |= level
            level = below

    def _children(self, chain: Chain, directory: int) -> Iterator[int]:
        """Look at what was ever in a directory; what has something in it itself is given."""
        read = self._catalog.execute(sql.HISTORY_CHILDREN, {"parent": directory})
        for (parent, name), values in groupby(read, key=lambda row: (row[0], row[1])):
            kept = list(values)
            self._by_name(chain, parent, name, [(row[2], row[3]) for row in kept])
            yield from (row[3] for row in kept if row[4])

    # --- what is there ------------------------------------------------------------------------

    def _stay(self, chain: Chain, inode: int, place: Place) -> None:
        if self._sieve.matches(place.path):
            self._pending.append(_Stay(chain, inode, place.path, place.span))
            if len(self._pending) >= _PENDING:
                self._flush()

    def _flush(self) -> None:
        """Look up what the inodes of the pending stays were, and keep what fits."""
        by_chain: dict[int, list[_Stay]] = {}
        for stay in self._pending:
            by_chain.setdefault(stay.chain.root.root.id, []).append(stay)
        self._pending.clear()
        for root_id, stays in by_chain.items():
            chain = stays[0].chain
            kept = versions(self._catalog, chain, list({stay.inode: None for stay in stays}))
            for stay in stays:
                for version in kept.get(stay.inode, ()):
                    both = cut(stay.span, version.span)
                    entry, digest = version.entry, version.digest
                    if both is None or not self._sieve.fits(stay.path, entry, digest):
                        continue
                    digest = digest if entry.kind == Kind.FILE else b""
                    # The number keeps versions of one path apart, in order; no path has a NUL in it.
                    key = b"%s\0%08x" % (stay.path, both.first)
                    self._found[root_id][key] = _Version(*both, entry, digest)

    def _is_there(self, chain: Chain, path: bytes) -> bool:
        """Whether the newest snapshot has something at a path."""
        key = chain.root.root.id, path
        if key not in self._live:
            if len(self._live) > 10 * _PENDING:
                self._live.clear()
            assert chain.root.inode_id is not None
            found = view.lookup(self._catalog, chain.root.inode_id, path, None)
            self._live[key] = found is not None
        return self._live[key]


def _joined(versions_: Iterable[_Version]) -> Iterator[_Version]:
    now: _Version | None = None
    for version in versions_:
        if now is not None and _joins(now, version):
            now = now._replace(end=version.end)
            continue
        if now is not None:
            yield now
        now = version
    if now is not None:
        yield now


def _joins(one: _Version, two: _Version) -> bool:
    """Whether a version goes on as another: nothing that a line shows of it differs."""
    if one.end != two.first or one.digest != two.digest:
        return False
    old, new = one.entry, two.entry
    if old.state != new.state and State.UNREAD in {old.state, new.state}:
        return False
    what = differences(old, new)
    return not what or (new.kind == Kind.DIR and what == ("mtime",))
