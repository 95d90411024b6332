"""`log`: every version of a path, also where it was called otherwise before, or went on afterwards.

A path is looked up along the whole chain: it may mean one inode for a while, nothing for another, and
another inode after that. Where it begins or ends because the file was renamed, by the same rule by which
diff tells of a rename, the log goes on under the other name. What is asked follows the changes of that one
file, whatever the number of snapshots or files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from snapfs.catalog import rows
from snapfs.errors import NotFoundError
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind, State
from snapfs.model.quote import quote
from snapfs.model.snapshot import Root, Snapshot
from snapfs.repository.opened import Repository
from snapfs.search.lineage import Lineage, Stay
from snapfs.tree.differences import differences
from snapfs.tree.history import Version, chain_of, cut, versions


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What to show. ``all``: also versions of a directory that differ only in its own times."""

    all: bool = False


@dataclass(frozen=True, slots=True)
class LogVersion:
    """What a path was from one snapshot up to another."""

    first: Snapshot
    """the snapshot in which it is so first"""
    last: Snapshot
    """the last one in which it is so"""
    letter: str
    """M modified, + new, - gone, R moved, ! could not be read"""
    path: bytes
    """path from the root"""
    old_path: bytes | None
    """of what moved, the path before"""
    what: tuple[str, ...]
    """what differs from the version before"""
    entry: Entry | None
    """what is there; null where it is gone"""
    digest: bytes
    """of the bytes of a file, or of a directory's whole content; empty for anything else"""
    before: Entry | None
    """what was there before"""
    previous: Snapshot | None
    """the last snapshot with the version before"""


@dataclass(frozen=True, slots=True)
class LogResult:
    """All versions of a path, oldest first."""

    root: Root
    """the root"""
    path: bytes
    """the path that was asked for, from the root"""
    versions: tuple[LogVersion, ...]
    """its versions"""


def log(repository: Repository, root: Root, path: bytes, options: LogOptions) -> LogResult:
    """The versions of a path. Raises NotFoundError if no snapshot of the root has it."""
    catalog = repository.catalog
    with catalog.read():
        chain = chain_of(catalog, root.id)
        stays = [] if chain is None else Lineage(catalog, chain).of(path)
        if chain is None or not stays:
            raise NotFoundError(
                f"no snapshot of {root.label} has {quote(path or b'.')}",
                subject=quote(path),
                hint=f"snapfs find --root {root.label} looks for names",
            )
        kept = versions(catalog, chain, list(dict.fromkeys(stay.inode for stay in stays)))
        told = _Teller(kept, options).told(stays)
        snapshots = rows.snapshots(catalog, root.id)
    return LogResult(
        root,
        path,
        tuple(
            LogVersion(
                snapshots[one.first], snapshots[one.end - 1], one.letter, one.path, one.old_path,
                one.what, one.entry, one.digest, one.before,
                None if one.before is None else snapshots[one.first - 1],
            )
            for one in told
        ),
    )  # fmt: skip


@dataclass(slots=True)
class _Told:
    """A version by positions in the chain."""

    first: int
    end: int
    letter: str
    path: bytes
    old_path: bytes | None
    what: tuple[str, ...]
    entry: Entry | None
    digest: bytes
    before: Entry | None


class _Teller:
    """Makes versions of stays and of what the inodes were meanwhile."""

    def __init__(self, kept: dict[int, list[Version]], options: LogOptions) -> None:
        self._kept = kept
        self._options = options

    def told(self, stays: Sequence[Stay]) -> list[_Told]:
        """In order of time; what stays as it is is one version."""
        found: list[_Told] = []
        last_at: dict[bytes, _Told] = {}
        for stay in stays:
            path = stay.place.path
            now = last_at.get(path)
            if now is not None and now.end != stay.place.span.first:
                now = None
            came = None if stay.came_from is None else last_at.get(stay.came_from)
            for version in self._versions(stay):
                if now is not None and self._is_same(now, version):
                    now.end = version.end
                    continue
                _relate(version, came if now is None else now)
                found.append(version)
                now, came = version, None
                if stay.only_beginning:
                    break
            if now is None:
                continue
            last_at[path] = now
            if stay.ends_gone:
                found.append(
                    _Told(now.end, stay.gone_until, "-", path, None, (), None, b"", now.entry)
                )
        return sorted(found, key=lambda one: (one.first, one.letter != "-", one.path))

    def _versions(self, stay: Stay) -> Iterator[_Told]:
        """What the inode was in a stay."""
        for version in self._kept.get(stay.inode, ()):
            both = cut(version.span, stay.place.span)
            if both is not None:
                first, end = both
                yield _Told(
                    first, end, "+", stay.place.path, None, (), version.entry, version.digest, None
                )

    def _is_same(self, before: _Told, after: _Told) -> bool:
        old, new = _sure(before.entry), _sure(after.entry)
        if old.state != new.state and State.UNREAD in {old.state, new.state}:
            return False
        what = _what(before, after)
        return not what or (not self._options.all and new.kind == Kind.DIR and what == ("mtime",))


def _relate(version: _Told, before: _Told | None) -> None:
    """Say how a version came about."""
    if before is not None:
        version.letter = "M" if before.path == version.path else "R"
        version.old_path = None if before.path == version.path else before.path
        version.what = _what(before, version)
        version.before = before.entry
    if _sure(version.entry).state == State.UNREAD:
        version.letter = "!"


def _what(before: _Told, after: _Told) -> tuple[str, ...]:
    """Words for what differs; of a directory also that something below it does."""
    old, new = _sure(before.entry), _sure(after.entry)
    what = differences(old, new)
    if old.kind == new.kind == Kind.DIR and before.digest != after.digest:
        return ("content", *what)
    return what


def _sure(entry: Entry | None) -> Entry:
    assert entry is not None
    return entry
