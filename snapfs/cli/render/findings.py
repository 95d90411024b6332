"""Where damage lies, in words."""

from __future__ import annotations

from snapfs.verify import Finding


def place(finding: Finding) -> str:
    """`` segment 3 at 4096``, as far as it is known."""
    segment = "" if finding.segment is None else f" segment {finding.segment}"
    return segment + ("" if finding.offset is None else f" at {finding.offset}")
