"""``snapfs roots move``: follow a directory that got a new path."""

from __future__ import annotations

import os
from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Changing
from snapfs.cli.frame.params import argument, flag, option
from snapfs.cli.frame.states import States
from snapfs.cli.frame.where import open_to_write
from snapfs.cli.render.roots import print_root
from snapfs.errors import Exit, NotFoundError
from snapfs.fs.machine import host_id
from snapfs.model.names import parse_text
from snapfs.model.quote import quote_text
from snapfs.repository.edits import move_root


@dataclass(frozen=True, slots=True)
class Arguments(Changing):
    old: str = argument("ROOT", required=True, completes="root", about="label or path of the root")
    directory: str = argument("DIR", required=True, completes="directory", about="where it is now")
    host: str | None = option(
        "--host",
        metavar="HOST",
        parse=parse_text,
        setting=True,
        about="host it is on (default: this machine's id)",
    )
    nested: bool = flag("--nested", about="also to a directory inside or around another root")


def run(arguments: Arguments, invocation: Invocation) -> int:
    with open_to_write(invocation) as repository:
        states = States(invocation, repository)
        root = states.named_root(arguments.old)
        path = states.resolve(arguments.directory)
        if not os.path.isdir(path):
            raise NotFoundError(
                f"{quote_text(arguments.directory)} is no directory", subject=arguments.directory
            )
        moved = move_root(
            repository,
            root,
            path,
            arguments.host or host_id(),
            nested=arguments.nested,
            dry_run=arguments.dry_run,
        )
        print_root(invocation, repository, root, moved, dry_run=arguments.dry_run)
    return Exit.DONE


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("roots move ROOT DIR [--host HOST] [--nested]",),
    description="Follows a directory that got a new path, or that is on this host from now on. "
    "Nothing is moved on disk.",
    examples=(Example("snapfs roots move photos /mnt/photos", "it is there now"),),
    schemas=("root/1",),
)
