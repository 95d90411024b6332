"""`diff`: two snapshots of a root, or a snapshot and the live directory.

Between snapshots only the diff rows between them are looked at. The live directory is captured into a
stage that is never committed, with the rules of the snapshot it is compared with, and read as an
overlay over the head.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from snapfs.capture.live import stage_live
from snapfs.catalog import compiled as sql
from snapfs.catalog import rows
from snapfs.catalog.spill import Spill
from snapfs.errors import NotFoundError, UsageError
from snapfs.fs.rules import Rules
from snapfs.model.kinds import Kind
from snapfs.model.path import within
from snapfs.model.snapshot import LiveSide, Side, StoredSide
from snapfs.progress import Progress
from snapfs.repository.opened import Repository
from snapfs.tree.between import Between
from snapfs.tree.changes import Change, Differ, Key
from snapfs.tree.state import StagedState, StoredState, held

MAX_ID = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class DiffOptions:
    """What to show. ``paths`` are from the root, () is all."""

    paths: tuple[bytes, ...] = ()
    all: bool = False
    checksum: bool = False


def diff(
    repository: Repository, a: Side, b: Side, options: DiffOptions, *, progress: Progress
) -> Iterator[Change]:
    """What changed from ``a`` to ``b``, in byte order of path.

    Raises UsageError for two live sides or different roots, NotFoundError if the live directory is
    gone.
    """
    if a.root.id != b.root.id:
        raise UsageError(
            f"{a.root.label} and {b.root.label} are different roots",
            hint="diff compares states of one root",
        )
    if isinstance(a, LiveSide) and isinstance(b, LiveSide):
        return iter(())
    if isinstance(a, LiveSide) or isinstance(b, LiveSide):
        stored = b if isinstance(a, LiveSide) else a
        assert isinstance(stored, StoredSide)
        inverted = isinstance(a, LiveSide)
        changes = _against_live(repository, stored, options, progress, inverted=inverted)
    else:
        changes = _between(repository, a, b)
    return (one for one in changes if _wanted(one, options))


def _wanted(change: Change, options: DiffOptions) -> bool:
    if not options.all and change.letter == "M" and _only_time_of_directory(change):
        return False
    if not options.paths:
        return True
    return any(_concerns(change, top) for top in options.paths)


def _concerns(change: Change, top: bytes) -> bool:
    """Whether a path or anything below it changed; all below a directory that moved did."""
    if within(change.path, top):
        return True
    if change.old_path is None:
        return False
    return within(change.old_path, top) or within(top, change.old_path) or within(top, change.path)


def _only_time_of_directory(change: Change) -> bool:
    new = change.new
    return new is not None and new.kind == Kind.DIR and change.what == ("mtime",)


def _between(repository: Repository, a: StoredSide, b: StoredSide) -> Iterator[Change]:
    """Two snapshots; the chain decides which is the older."""
    if a.snapshot.id == b.snapshot.id:
        return
    catalog = repository.catalog
    with closing(Spill()) as spill:
        with catalog.read():
            row = rows.root(catalog, a.root.id)
            if row is None or row.inode_id is None:
                raise NotFoundError(f"root {a.root.label} has no snapshot", subject=a.root.label)
            between = Between(catalog, row, spill, a.snapshot.id, b.snapshot.id)
        yield from between.changes()


def _against_live(
    repository: Repository,
    stored: StoredSide,
    options: DiffOptions,
    progress: Progress,
    *,
    inverted: bool,
) -> Iterator[Change]:
    catalog = repository.catalog
    row = rows.root(catalog, stored.root.id)
    if row is None or row.inode_id is None or stored.root.path is None:
        raise NotFoundError(f"root {stored.root.label} has no snapshot", subject=stored.root.label)
    with closing(Spill()) as spill:
        with repository.locks.hold_blocks(repository.lock_wait_s):
            kept = rows.snapshot_row(catalog, stored.snapshot.id)
            stage_live(
                repository,
                row,
                Rules() if kept is None else Rules.from_text(kept.rules),
                spare=held(catalog, stored.root.id, stored.snapshot.id),
                checksum=options.checksum,
                progress=progress,
            )
            with catalog.read():
                now = rows.root(catalog, stored.root.id)
                if now is None or now.head_id != row.head_id:
                    raise NotFoundError(
                        "the root got another snapshot meanwhile", hint="run it again"
                    )
                params = {"root": stored.root.id, "from": stored.snapshot.id, "until": MAX_ID}
                names: Iterator[Key] = catalog.execute(sql.CHANGED_NAMES_LIVE, params)
                inodes = (found[0] for found in catalog.execute(sql.CHANGED_INODES_LIVE, params))
                at = None if stored.snapshot.id == row.head_id else stored.snapshot.id
                old = StoredState(catalog, at)
                differ = Differ(old, StagedState(catalog), row.inode_id, spill)
                differ.run(names, inodes)
        yield from differ.inverted() if inverted else differ.changes()
