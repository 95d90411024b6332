"""What `repair` is asked and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from snapfs.repository.beyond import LostChanges
from snapfs.verify import Finding


@dataclass(frozen=True, slots=True)
class LostFile:
    """A file whose bytes are lost in some snapshots; its name and attributes are still there."""

    root: str
    """label of the root"""
    path: bytes
    """path from the root"""
    snapshots: tuple[str, ...]
    """names of the snapshots in which it is lost, oldest first"""


@dataclass(frozen=True, slots=True)
class RepairOptions:
    """How to repair."""

    host: str
    """the machine whose directories may be looked into"""
    dry_run: bool = False
    suspects: frozenset[str] | None = None
    """packs in which something is wrong, if that was found out already; every byte of others is not read"""
    on_lost: Callable[[LostFile], None] | None = None
    """is told of each file that is lost, in order of root and path, before it is given up: a run that is killed
    then has told of it, or the next one does"""


@dataclass(frozen=True, slots=True)
class RepairResult:
    """What was wrong and what became of it. Sizes in bytes."""

    path: bytes
    """the repository"""
    findings: tuple[Finding, ...]
    """what was wrong"""
    config: bool
    """whether config was written again"""
    catalog: bool
    """whether the catalog was made again from the journal"""
    journal: bool
    """whether the journal was begun anew from the catalog"""
    packs: tuple[str, ...]
    """packs in which something was wrong"""
    set_aside: tuple[str, ...]
    """files that were moved out of the way, by their place in the repository now"""
    sound_blocks: int
    """blocks of these packs that could still be read there"""
    found_blocks: int
    """damaged blocks whose bytes were in another pack"""
    reread_blocks: int
    """damaged blocks whose bytes were in the directories themselves"""
    lost_blocks: int
    """damaged blocks whose bytes are nowhere"""
    lost_files: int
    """files that needed one of these, by root and path"""
    incomplete: tuple[str, ...]
    """snapshots in which files are lost, as root@snapshot"""
    lost_changes: LostChanges | None
    """changes that only a damaged part of the journal told of, where the catalog is lost as well"""
    remaining: tuple[Finding, ...]
    """what is wrong still"""
    read_bytes: int
    """bytes of packs that were read"""
    duration_ns: int
    """time it took"""

    @property
    def damaged(self) -> bool:
        """Whether there was anything to do."""
        return bool(self.findings or self.packs or self.set_aside or self.lost_changes)

    @property
    def whole(self) -> bool:
        """Whether everything is as it was before the damage."""
        return not (self.lost_files or self.lost_changes or self.remaining)
