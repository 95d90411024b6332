"""``snapfs roots rename``: another label for a root."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Changing
from snapfs.cli.frame.params import argument
from snapfs.cli.frame.states import States
from snapfs.cli.frame.where import open_to_write
from snapfs.cli.render.roots import print_root
from snapfs.errors import Exit
from snapfs.model.names import check_name
from snapfs.repository.edits import rename_root


@dataclass(frozen=True, slots=True)
class Arguments(Changing):
    old: str = argument("ROOT", required=True, completes="root", about="label or path of the root")
    label: str = argument("LABEL", required=True, parse=check_name, about="its new label")


def run(arguments: Arguments, invocation: Invocation) -> int:
    with open_to_write(invocation) as repository:
        root = States(invocation, repository).named_root(arguments.old)
        renamed = rename_root(repository, root, arguments.label, dry_run=arguments.dry_run)
        print_root(invocation, repository, root, renamed, dry_run=arguments.dry_run)
    return Exit.DONE


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("roots rename ROOT LABEL",),
    description="Gives a root another label.",
    examples=(Example("snapfs roots rename photos pictures", "pictures@latest from now on"),),
    schemas=("root/1",),
)
