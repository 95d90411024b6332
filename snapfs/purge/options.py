"""How to purge, and what a purge says."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.model.snapshot import Root


@dataclass(frozen=True, slots=True)
class PurgeOptions:
    """How to purge."""

    deleted: bool = False
    """drop what deleted snapshots left of the paths, though no snapshot has them now"""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Alias:
    """Another path of something that was purged, under which it stays."""

    path: bytes
    """path from the root"""
    first: str
    """name of the first snapshot that has it there"""
    last: str
    """name of the last one"""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Another root whose snapshots have a purged path as well: nothing of it was touched."""

    label: str
    """label of the root"""
    path: bytes
    """path from that root; empty if the root itself lies in what was purged"""


@dataclass(frozen=True, slots=True)
class PurgeResult:
    """What a purge did, or would do. Sizes in bytes."""

    root: Root
    """the root"""
    paths: tuple[bytes, ...]
    """paths from the root that are in no snapshot any more"""
    snapshots: tuple[str, ...]
    """names of the snapshots that had one of them, oldest first"""
    pinned: tuple[str, ...]
    """those of them that are pinned"""
    entries: int
    """names that went: files, directories and others"""
    also_known: tuple[Alias, ...]
    """other paths of the same files and directories, under which they stay"""
    also_in: tuple[Elsewhere, ...]
    """other roots whose snapshots have them too"""
    shared_contents: int
    """contents that other files have as well, which keep them"""
    texts: int
    """command lines, messages and rules in which a name was replaced"""
    packs_rewritten: int
    """packs with dead bytes, of which the rest was written anew"""
    freed_bytes: int
    """what the packs folder shrinks by; with a dry run, about so much"""
    remaining: tuple[str, ...]
    """what may still hold bytes of it, and why"""
    duration_ns: int
    """time it took"""
    problems: int
    """how many things remain"""
