"""``snapfs roots``: registered directories."""

from __future__ import annotations

from snapfs.cli.frame.command import Family
from snapfs.cli.frame.commands import Listed

COMMAND = Family(
    members=(
        Listed("roots list", "care", "list registered directories"),
        Listed("roots rename", "care", "give a root another label"),
        Listed("roots move", "care", "follow a directory that got a new path"),
        Listed("roots remove", "care", "forget a root and all its snapshots"),
    ),
    default="list",
    description="""\
A root is a directory that was snapshotted once. It has a label with which references begin, as
`photos@latest`: its base name, made valid and unique (snapfs(1), ROOTS), until it is renamed.""",
)
