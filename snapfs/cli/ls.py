"""``snapfs ls``: a directory as it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.hints import for_missing_paths, for_paths, refuse_slash
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.params import argument, flag
from snapfs.cli.frame.paths import path_in
from snapfs.cli.frame.states import States
from snapfs.cli.frame.streams import encode
from snapfs.cli.frame.where import open_to_read
from snapfs.cli.render.entries import Owners, attributes, long_fields
from snapfs.cli.render.table import plain_lines
from snapfs.cli.render.text import Named, reference
from snapfs.errors import Exit, UsageError
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind, State
from snapfs.model.quote import quote
from snapfs.model.snapshot import StoredSide
from snapfs.progress import Problem
from snapfs.tree.listing import Listed, list_tree, stat_path

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
    if arguments.zero and arguments.json:
        raise UsageError("ls: --null and --json exclude each other", subject="--null")
    with open_to_read(invocation) as repository:
        states = States(invocation, repository)
        with for_paths(states, arguments.place):
            wanted = states.reference(arguments.place)
            side = states.side(wanted)
        path = path_in(states, wanted, side.root)
        refuse_slash(repository, side, path, wanted.path)
        top = stat_path(repository, side, path)
        unread = [path] if top is not None and _is_unread(top) else []
        listing = _noting(
            list_tree(repository, side, path, recursive=arguments.recursive),
            unread,
            below=arguments.recursive,
        )
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
        with invocation.progress() as progress:
            for missing in unread:
                progress.problem(Problem(missing, 0, "the snapshot could not read this directory"))
    return Exit.PARTIAL if unread else Exit.DONE


def _noting(listing: Iterable[Listed], unread: list[bytes], *, below: bool) -> Iterator[Listed]:
    """The same entries; directories whose children are missing in the list go into ``unread``."""
    for listed in listing:
        if below and _is_unread(listed.entry):
            unread.append(listed.path)
        yield listed


def _is_unread(entry: Entry) -> bool:
    return entry.kind == Kind.DIR and entry.state == State.UNREAD


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

Names with blanks or control characters are quoted as the shell reads them. A directory whose entries
the snapshot could not read is named, and the exit code is 3.""",
    examples=(
        Example("snapfs ls", "the top of the newest snapshot"),
        Example("snapfs ls latest~3:src -l", "a directory, three snapshots back"),
        Example("snapfs ls 2026-06-01:./ -R", "what was below the working directory that day"),
    ),
    schemas=("ls/1",),
)
