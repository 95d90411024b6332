"""``snapfs roots``: registered directories."""

from __future__ import annotations

import os
from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example, Family
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Changing, Common
from snapfs.cli.frame.params import argument, option
from snapfs.cli.frame.states import States
from snapfs.cli.frame.where import open_to_read, open_to_write
from snapfs.cli.render.roots import print_root, print_root_summaries
from snapfs.delete import DeleteOptions, remove_root
from snapfs.errors import Exit, NotFoundError
from snapfs.fs.machine import host_id
from snapfs.model.names import check_name
from snapfs.model.quote import quote, quote_text
from snapfs.model.units import format_count, format_size
from snapfs.repository.edits import move_root, rename_root


@dataclass(frozen=True, slots=True)
class ListArguments(Common):
    pass


@dataclass(frozen=True, slots=True)
class RenameArguments(Changing):
    old: str = argument("ROOT", required=True, completes="root", about="label or path of the root")
    label: str = argument("LABEL", required=True, parse=check_name, about="its new label")


@dataclass(frozen=True, slots=True)
class MoveArguments(Changing):
    old: str = argument("ROOT", required=True, completes="root", about="label or path of the root")
    directory: str = argument("DIR", required=True, completes="directory", about="where it is now")
    host: str | None = option(
        "--host", metavar="HOST", setting=True, about="host it is on (default: this machine's id)"
    )


@dataclass(frozen=True, slots=True)
class RemoveArguments(Changing):
    old: str = argument("ROOT", required=True, completes="root", about="label or path of the root")


def run_list(arguments: ListArguments, invocation: Invocation) -> int:
    del arguments
    with open_to_read(invocation) as repository:
        print_root_summaries(invocation, repository)
    return Exit.DONE


def run_rename(arguments: RenameArguments, invocation: Invocation) -> int:
    with open_to_write(invocation) as repository:
        root = States(invocation, repository).named_root(arguments.old)
        if not arguments.dry_run:
            root = rename_root(repository, root, arguments.label)
        print_root(invocation, repository, root, dry_run=arguments.dry_run)
    return Exit.DONE


def run_move(arguments: MoveArguments, invocation: Invocation) -> int:
    with open_to_write(invocation) as repository:
        states = States(invocation, repository)
        root = states.named_root(arguments.old)
        path = states.resolve(arguments.directory)
        if not os.path.isdir(path):
            raise NotFoundError(
                f"{quote_text(arguments.directory)} is no directory", subject=arguments.directory
            )
        if not arguments.dry_run:
            root = move_root(repository, root, path, arguments.host or host_id())
        print_root(invocation, repository, root, dry_run=arguments.dry_run)
    return Exit.DONE


def run_remove(arguments: RemoveArguments, invocation: Invocation) -> int:
    with open_to_write(invocation) as repository:
        states = States(invocation, repository)
        root = states.named_root(arguments.old)
        if not (arguments.yes or arguments.dry_run):
            chain = states.chain(root)
            names = [f"  {snapshot.name}" for snapshot in chain]
            title = f"{root.label}, {quote(root.path or b'a stream')}, in {quote(repository.path)}:"
            invocation.confirm(
                [title, *names],
                f"Remove the root and its {format_count(len(chain), 'snapshot')}?",
                yes=False,
            )
        with invocation.progress() as progress:
            options = DeleteOptions(dry_run=arguments.dry_run, command_line=invocation.words)
            result = remove_root(repository, root, options=options, progress=progress)
    if invocation.json:
        invocation.emit("delete/1", result)
    else:
        verb = "would remove" if arguments.dry_run else "removed"
        count = format_count(len(result.snapshots), "snapshot")
        invocation.out.line(root.label)
        invocation.say(
            f"{verb} {root.label} and {count}, {format_size(result.freed_bytes)} freed; "
            "the directory itself is as it was"
        )
    return Exit.DONE


COMMAND = Family(
    commands={
        "list": Command(
            arguments=ListArguments,
            run=run_list,
            synopsis=("roots [list]",),
            description="Lists roots with directory, number of snapshots, the newest and its size.",
            examples=(Example("snapfs roots", "all of them"),),
            schemas=("roots/1",),
        ),
        "rename": Command(
            arguments=RenameArguments,
            run=run_rename,
            synopsis=("roots rename ROOT LABEL",),
            description="Gives a root another label.",
            examples=(
                Example("snapfs roots rename photos pictures", "pictures@latest from now on"),
            ),
            schemas=("root/1",),
        ),
        "move": Command(
            arguments=MoveArguments,
            run=run_move,
            synopsis=("roots move ROOT DIR [--host HOST]",),
            description="Follows a directory that got a new path, or that is on this host from now on. "
            "Nothing is moved on disk.",
            examples=(Example("snapfs roots move photos /mnt/photos", "it is there now"),),
            schemas=("root/1",),
        ),
        "remove": Command(
            arguments=RemoveArguments,
            run=run_remove,
            synopsis=("roots remove ROOT",),
            description="Removes a root and all its snapshots from the repository, after asking. The "
            "directory itself stays as it is. A root with a pinned snapshot is not removed.",
            examples=(Example("snapfs roots remove old-photos", "free what only it needs"),),
            schemas=("delete/1",),
        ),
    },
    default="list",
    description="""\
A root is a directory that was snapshotted once. It has a label, its base name made unique, with which
references begin: `photos@latest`.""",
)
