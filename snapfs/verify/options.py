"""What `verify` is asked and what it answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """How much to read. Without either only headers, tables and indexes of packs are."""

    data: bool = False
    """read and check every stored byte"""
    sample: float | None = None
    """read and check a random share of the segments, 0 to 1"""

    @property
    def share(self) -> float:
        """The share of segments that is read whole."""
        return 1.0 if self.data else self.sample or 0.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong."""

    where: str
    """file, relative to the repository"""
    segment: int | None
    """number of the segment in its pack, from 0"""
    offset: int | None
    """place in the file, in bytes"""
    what: str
    """what is wrong"""


@dataclass(frozen=True, slots=True)
class DamagedFile:
    """A file (or a directory's list of entries) that cannot be restored as it was."""

    root: str
    """label of the root"""
    path: bytes
    """path from the root"""
    snapshots: tuple[str, ...]
    """names of the snapshots in which the damage shows, oldest first"""


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """What was checked and what is wrong. Sizes in bytes."""

    packs: int
    """pack files"""
    segments: int
    """segments"""
    blocks: int
    """blocks"""
    read_bytes: int
    """bytes of packs that were read"""
    findings: tuple[Finding, ...]
    """what is wrong"""
    damaged: tuple[DamagedFile, ...]
    """what it touches, by root and path"""
    duration_ns: int
    """time it took"""
    problems: int
    """number of things that are wrong"""
