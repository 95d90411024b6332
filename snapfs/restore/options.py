"""What `restore` is asked and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from snapfs.materialize.wanted import Overwrite
from snapfs.model.snapshot import Snapshot


class OwnerRule(Enum):
    """Whom restored entries belong to."""

    ID = "id"
    """the numbers of the snapshot"""
    NAME = "name"
    """the names that these numbers had where the snapshot was taken"""
    NONE = "none"
    """whoever runs the restore"""


@dataclass(frozen=True, slots=True)
class RestoreOptions:
    """What to restore and how.

    ``paths`` are from the root, () is the whole root. ``keep_paths``: each keeps its path from the
    root; otherwise the content of the one directory lands in ``to``, a file as ``to``/NAME.
    ``overwrite`` None: ``to`` must be empty; in place it means that everything is made as it was.
    """

    paths: tuple[bytes, ...] = ()
    keep_paths: bool = False
    to: bytes | None = None
    in_place: bool = False
    delete: bool = False
    overwrite: Overwrite | None = None
    safety: bool = True
    include: tuple[bytes, ...] = ()
    exclude: tuple[bytes, ...] = ()
    owner: OwnerRule = OwnerRule.ID
    sparse: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """What a restore would do."""

    target: bytes
    """directory that is written to"""
    create: int
    """entries that are not there"""
    overwrite: int
    """entries that are replaced or mended"""
    delete: int
    """entries that go"""
    left_alone: int
    """entries that are there and stay; one that the snapshot does not have counts with all in it as one"""
    total_bytes: int
    """bytes that are written"""
    problems: int
    """entries that could not be restored as they were"""
    deletes: tuple[bytes, ...]
    """what goes, from the target, a directory for all in it; the first thousand"""


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """What a restore did. Sizes in bytes."""

    target: bytes
    """directory that was written to"""
    snapshot: Snapshot
    """the snapshot restored from"""
    created: int
    """entries that were not there"""
    overwritten: int
    """entries that were replaced or mended"""
    deleted: int
    """entries that went"""
    left_alone: int
    """entries that were there and stayed by wish, or because the snapshot does not have them: with all in it as one"""
    unchanged: int
    """entries that were as wanted already"""
    written_bytes: int
    """size of the files that were written, holes counted"""
    safety: Snapshot | None
    """snapshot of what was there before"""
    problems: int
    """entries that could not be restored as they were"""
    duration_ns: int
    """time it took"""
