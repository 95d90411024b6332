"""``snapfs roots list``: every registered directory."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.where import open_to_read
from snapfs.cli.render.roots import print_root_summaries
from snapfs.errors import Exit


@dataclass(frozen=True, slots=True)
class Arguments(Common):
    pass


def run(arguments: Arguments, invocation: Invocation) -> int:
    del arguments
    with open_to_read(invocation) as repository:
        print_root_summaries(invocation, repository)
    return Exit.DONE


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("roots [list]",),
    description="Lists roots with directory, number of snapshots, the newest and its size.",
    examples=(Example("snapfs roots", "all of them"),),
    schemas=("roots/1",),
)
