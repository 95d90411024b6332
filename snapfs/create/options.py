"""What `create` is asked and what it answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from snapfs.model.snapshot import Root, Snapshot


@dataclass(frozen=True, slots=True)
class CreateOptions:
    """How to take a snapshot. ``time_ns`` None: now. Sizes in bytes."""

    name: str | None = None
    message: str = ""
    tags: tuple[str, ...] = ()
    time_ns: int | None = None
    exclude: tuple[bytes, ...] = ()
    exclude_from: tuple[bytes, ...] = ()
    exclude_caches: bool = False
    exclude_if_present: tuple[bytes, ...] = ()
    one_file_system: bool = False
    exclude_larger_than: int | None = None
    skip_if_unchanged: bool = False
    dry_run: bool = False
    explain: tuple[bytes, ...] = ()
    checksum: bool = False
    ignore_ctime: bool = False
    ignore_inode: bool = False
    changed: Iterable[bytes] | None = None
    """paths, absolute or from the root, to look at alone; the rest is taken as unchanged"""


@dataclass(frozen=True, slots=True)
class Explained:
    """Whether a path is left out, and by which rule."""

    path: bytes
    """path from the root"""
    excluded: bool
    """whether it is left out"""
    rule: str
    """the rule that decided, empty if none did"""
    source: str
    """where the rule stands"""


@dataclass(frozen=True, slots=True)
class CreateResult:
    """What taking a snapshot did. Sizes in bytes."""

    root: Root
    """the root"""
    snapshot: Snapshot | None
    """the new snapshot; null for a dry run, or if nothing changed and that was to be skipped"""
    unchanged: bool
    """nothing differs from the snapshot before"""
    first: bool
    """it is the first of its root"""
    files: int
    """regular files"""
    dirs: int
    """directories"""
    others: int
    """symlinks, pipes, sockets and devices"""
    total_bytes: int
    """size of all files"""
    new: int
    """names that the snapshot before does not have; what was renamed is new and removed"""
    changed: int
    """inodes that differ from the snapshot before, one of several names counted once"""
    removed: int
    """names that only the snapshot before has"""
    read_bytes: int
    """size of the files that were read, holes counted"""
    stored_bytes: int
    """growth of the packs"""
    metadata_bytes: int
    """growth of catalog and journal"""
    unused_rules: tuple[str, ...]
    """patterns that matched nothing; none are named where not all was looked at"""
    whole: bool
    """whether all was looked at, and not only what was listed"""
    damaged: bool
    """whether packs of the repository are missing or cut off, and the directory was not read whole"""
    explained: tuple[Explained, ...]
    """answers to --explain"""
    problems: int
    """entries that could not be captured whole, and ignore files that could not be read"""
    duration_ns: int
    """time it took"""
