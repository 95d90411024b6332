"""``snapfs`` alone: where I stand, and what to type next."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.command import Command
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.states import States
from snapfs.cli.frame.where import choose, open_to_read
from snapfs.cli.render.roots import none_of
from snapfs.cli.render.table import plain_lines
from snapfs.cli.render.text import create_line, entry_counts, local_time, reference, remarks
from snapfs.errors import Exit, NoRepositoryError
from snapfs.model.quote import quote
from snapfs.model.snapshot import Root, Snapshot
from snapfs.model.units import format_size
from snapfs.repository.opened import repository_at

_FIRST = (
    ("snapfs create DIR", "take a snapshot of a directory"),
    ("snapfs list", "see what there is"),
    ("snapfs restore latest:FILE --to DIR", "get a file back"),
)
_NEXT = (
    ("snapfs diff", "what changed since"),
    ("snapfs create", "take the next one"),
    ("snapfs restore latest:FILE --to DIR", "get a file back"),
)


@dataclass(frozen=True, slots=True)
class Arguments(Common):
    pass


@dataclass(frozen=True, slots=True)
class Standing:
    """Where I stand, and what to type next."""

    repository: bytes | None
    """path of the repository; null if there is none yet"""
    newest: str | None
    """ROOT@SNAPSHOT of the newest snapshot of the root I stand in"""
    next: tuple[str, ...]
    """command lines that make sense now"""


def run(arguments: Arguments, invocation: Invocation) -> int:
    del arguments
    path = _path(invocation)
    if path is None or not repository_at(path):
        return _first(invocation, None)
    with open_to_read(invocation) as repository:
        states = States(invocation, repository)
        root = states.root() if invocation.common.root is not None else states.standing_in()
        chain = states.chain(root) if root is not None else ()
        if root is None:
            return _first(invocation, repository.path, states.not_here())
        if not chain:
            return _none_yet(invocation, repository.path, root)
        _newest(invocation, repository.path, reference(root, chain[-1]), chain[-1])
    return Exit.DONE


def _path(invocation: Invocation) -> bytes | None:
    try:
        return choose(invocation).path
    except NoRepositoryError:
        return None


def _none_yet(invocation: Invocation, repository: bytes, root: Root) -> int:
    command = (create_line(root), "take the first one")
    if invocation.json:
        invocation.emit("start/1", Standing(repository, None, (invocation.again(command[0]),)))
        return Exit.DONE
    invocation.out.line(f"{none_of([root], repository)}. What to type next:")
    _print_commands(invocation, (command,))
    return Exit.DONE


def _first(invocation: Invocation, repository: bytes | None, why: str = "") -> int:
    if invocation.json:
        commands = tuple(invocation.again(line) for line, _ in _FIRST)
        invocation.emit("start/1", Standing(repository, None, commands))
        return Exit.DONE
    invocation.out.line("snapfs takes snapshots of directories. Three first commands:")
    _print_commands(invocation, _FIRST)
    if repository is None:
        invocation.out.line("There is no repository yet; the first create makes it.")
    else:
        invocation.out.line(f"This directory is in no root of {quote(repository)}.")
    if why:
        invocation.out.line(invocation.again(why))
    return Exit.DONE


def _newest(invocation: Invocation, repository: bytes, name: str, newest: Snapshot) -> None:
    if invocation.json:
        commands = tuple(invocation.again(line) for line, _ in _NEXT)
        invocation.emit("start/1", Standing(repository, name, commands))
        return
    time = local_time(newest.created_ns, invocation.clock)
    counts = entry_counts(newest.files, newest.dirs, newest.others)
    for line in (
        f"{name} of {time}: {counts}, {format_size(newest.total_bytes)}",
        remarks(newest),
        f"in {quote(repository)}. What to type next:",
    ):
        if line:
            invocation.out.line(line)
    _print_commands(invocation, _NEXT)


def _print_commands(invocation: Invocation, commands: tuple[tuple[str, str], ...]) -> None:
    rows = [(f"  {invocation.again(line)}", what) for line, what in commands]
    for line in plain_lines((), [*rows, ("  snapfs --help", "all commands")]):
        invocation.out.line(line)


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("",),
    description="""\
Without a command snapfs shows the newest snapshot of the root I stand in and what to type next, or the
first commands.""",
    schemas=("start/1", "version/1"),
)
