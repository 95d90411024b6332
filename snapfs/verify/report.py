"""What a verification has found so far, bounded in size however much is damaged."""

from __future__ import annotations

from dataclasses import dataclass, field

from snapfs.progress import Progress
from snapfs.verify.options import Finding

CATALOG = "catalog.db"
MOST_FINDINGS = 10_000
"""Further ones are counted, not kept."""


@dataclass(slots=True)
class Touched:
    """What damage reaches, by the catalog's ids; the files are looked up at the end."""

    packs: list[int] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    """names of packs in which anything is wrong, needed or not"""
    blocks: list[int] = field(default_factory=list)
    contents: list[int] = field(default_factory=list)
    inodes: list[int] = field(default_factory=list)
    directories: list[tuple[int, int | None]] = field(default_factory=list)
    """(inode, snapshot whose row it is, or None for the newest state)"""


class Report:
    """Collects findings and notes."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.findings: list[Finding] = []
        self._told: set[Finding] = set()
        self.touched = Touched()
        self.problems = 0
        self.read_bytes = 0

    def add(
        self, where: str, what: str, *, segment: int | None = None, offset: int | None = None
    ) -> None:
        """Something is wrong; what was told already, as a page that every rule needs, is not told again."""
        self.take(Finding(where, segment, offset, what))

    def take(self, finding: Finding) -> None:
        """The same, of a finding."""
        if finding in self._told:
            return
        self.problems += 1
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(finding)
            self._told.add(finding)

    def note(self, text: str) -> None:
        """Something is unusual and nothing is wrong with it."""
        self.progress.note(text)
