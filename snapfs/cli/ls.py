"""``snapfs ls``: a directory as it was."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.hints import for_missing_paths, for_paths
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.params import argument, flag
from snapfs.cli.frame.paths import path_in
from snapfs.cli.frame.states import States, reference_or_usage
from snapfs.cli.frame.streams import encode
from snapfs.cli.frame.where import open_to_read
from snapfs.cli.render.entries import Owners, attributes, long_fields
from snapfs.cli.render.table import plain_lines
from snapfs.cli.render.text import Named, reference
from snapfs.errors import Exit
from snapfs.model.quote import quote
from snapfs.model.snapshot import StoredSide
from snapfs.tree.listing import Listed, list_tree

_BATCH = 1000
"""Lines of a long listing that are aligned together."""


@dataclass(frozen=True, slots=True)
class Arguments(Common):
    place: str | None = argument(
        "[SNAP][:PATH]", completes="reference",
        about="snapshot and path in it (default: the newest, its top)",
    )  # fmt: skip
    long: bool = flag("-l", "--long", about="mode, owner, group, size and time besides the name")
    recursive: bool = flag("-R", "--recursive", about="everything below, with paths from the root")
    zero: bool = flag("-0", "--null", about="raw names, each ended by NUL; with -l each field")


def run(arguments: Arguments, invocation: Invocation) -> int:
    with open_to_read(invocation) as repository:
        states = States(invocation, repository)
        with for_paths(states, arguments.place):
            wanted = reference_or_usage(arguments.place)
            side = states.side(wanted)
        path = path_in(states, wanted, side.root)
        listing = list_tree(repository, side, path, recursive=arguments.recursive)
        needs_owners = arguments.long or invocation.json
        owners: Owners = repository.owners(side.root.id) if needs_owners else ({}, {})
        with for_missing_paths(side) if isinstance(side, StoredSide) else nullcontext():
            if invocation.json:
                name = reference(side.root, side.snapshot) if isinstance(side, StoredSide) else "."
                for listed in listing:
                    shown = attributes(listed.path, listed.entry, owners)
                    invocation.emit("ls/1", Named(name, side.root.label), shown)
            else:
                _print(arguments, invocation, listing, owners)
    return Exit.DONE


def _print(
    arguments: Arguments, invocation: Invocation, listing: Iterable[Listed], owners: Owners
) -> None:
    out = invocation.out
    rows: list[list[str]] = []
    for listed in listing:
        path, entry = listed.path, listed.entry
        name = path if arguments.recursive else path.rpartition(b"/")[2]
        if arguments.zero:
            fields = (
                long_fields(name, entry, owners, invocation.clock)[:-1] if arguments.long else []
            )
            out.data(b"".join(encode(field) + b"\0" for field in fields) + name + b"\0")
        elif arguments.long:
            rows.append(long_fields(name, entry, owners, invocation.clock))
            if len(rows) == _BATCH:
                _print_aligned(invocation, rows)
        else:
            out.line(quote(name))
    _print_aligned(invocation, rows)


def _print_aligned(invocation: Invocation, rows: list[list[str]]) -> None:
    for line in plain_lines((), rows, right=(3,)):
        invocation.out.line(line)
    rows.clear()


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("ls [SNAP][:PATH] [-l] [-R] [-0]",),
    description="""\
Lists a directory as it was when the snapshot was taken, in byte order; for anything else, itself. PATH
begins at the root; `:./PATH` begins at the working directory.

Names with blanks or control characters are quoted as the shell reads them.""",
    examples=(
        Example("snapfs ls", "the top of the newest snapshot"),
        Example("snapfs ls latest~3:src -l", "a directory, three snapshots back"),
        Example("snapfs ls 2026-06-01:./ -R", "what was below the working directory that day"),
    ),
    schemas=("ls/1",),
)
