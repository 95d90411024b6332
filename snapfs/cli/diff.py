"""``snapfs diff``: what differs between two snapshots, or a snapshot and the directory."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.failure import answering
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.pairs import Pair, read_pair
from snapfs.cli.frame.params import argument, flag, literals
from snapfs.cli.frame.states import States
from snapfs.cli.frame.where import open_to_read
from snapfs.cli.render.changes import ChangePrinter, Form
from snapfs.diff import DiffOptions, diff
from snapfs.errors import Exit, NotFoundError, UsageError
from snapfs.model.quote import quote
from snapfs.model.snapshot import StoredSide
from snapfs.repository.opened import Repository
from snapfs.tree.listing import stat_path


@dataclass(frozen=True, slots=True)
class Arguments(Common):
    words: tuple[str, ...] = argument(
        "[A] [B] [PATH...]", many=True, completes="state",
        about="states A and B, or A..B (default: newest against live); then paths",
    )  # fmt: skip
    paths: tuple[str, ...] = literals()
    stat: bool = flag("--stat", about="counts and bytes only")
    content: bool = flag("--content", about="a unified diff of each file of text")
    all: bool = flag("-a", "--all", about="also directories of which only their own times changed")
    checksum: bool = flag("--checksum", about="read live files, whatever their times say")
    exit_code: bool = flag("--exit-code", about="exit with 1 if anything differs, 2 if it failed")
    zero: bool = flag("-0", "--null", about="raw fields, each ended by NUL")


def run(arguments: Arguments, invocation: Invocation) -> int:
    with answering() if arguments.exit_code else nullcontext():
        return _compare(arguments, invocation)


def _compare(arguments: Arguments, invocation: Invocation) -> int:
    _refuse_two_forms(arguments)
    with open_to_read(invocation) as repository, invocation.progress() as progress:
        states = States(invocation, repository)
        pair = read_pair(states, arguments.words, arguments.paths)
        _refuse_unknown_paths(repository, pair)
        options = DiffOptions(paths=pair.paths, all=arguments.all, checksum=arguments.checksum)
        form = (
            Form.STAT if arguments.stat
            else Form.CONTENT if arguments.content
            else Form.ZERO if arguments.zero
            else Form.LINES
        )  # fmt: skip
        printer = ChangePrinter(invocation, repository, pair, form)
        for change in diff(repository, pair.first, pair.second, options, progress=progress):
            progress.finish()  # or the first line would stand behind it
            printer.change(change)
        progress.finish()
        printer.finish()
    if arguments.exit_code and printer.count:
        return Exit.FAILED
    return Exit.PARTIAL if printer.unread and not arguments.exit_code else Exit.DONE


def _refuse_two_forms(arguments: Arguments) -> None:
    forms = (
        ("--stat", arguments.stat),
        ("--content", arguments.content),
        ("--null", arguments.zero),
    )
    if arguments.zero and arguments.json:
        raise UsageError("diff: --null and --json exclude each other", subject="--null")
    given = [name for name, is_given in forms if is_given]
    if len(given) > 1:
        raise UsageError(f"diff: {' and '.join(given)} exclude each other", subject=given[0])


def _refuse_unknown_paths(repository: Repository, pair: Pair) -> None:
    """A path that neither side has is mistyped: "no difference" would be no answer."""
    sides = (pair.first, pair.second)
    for path in pair.paths:
        if path and all(stat_path(repository, side, path) is None for side in sides):
            names = [side.snapshot.name if isinstance(side, StoredSide) else "." for side in sides]
            raise NotFoundError(
                f"neither {names[0]} nor {names[1]} has {quote(path)}",
                subject=quote(path),
            )


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("diff [A] [B] [PATH...] [OPTION...]", "diff A..B [PATH...] [OPTION...]"),
    description="""\
Compares state A with state B: two snapshots, or a snapshot and the directory as it is now, written `.`.
With one state it is compared with the directory, without any the newest snapshot is. Excluded files are
neither new nor gone: the rules of the snapshot hold. Words after `--`, and words that name no
state, are paths; `A:PATH` limits it to a path from the root.

Each line is a letter, a path from the root, and what differs, with tabs between: `M` modified, `+` added,
`-` removed, `R OLD -> NEW` renamed, `!` could not be read. With `-0` the fields are raw and each is
ended by NUL: letter, path (of a rename: old path, new path), what differs (may be empty).""",
    examples=(
        Example("snapfs diff", "what changed since the newest snapshot"),
        Example("snapfs diff latest~1 latest", "what the newest snapshot changed"),
        Example("snapfs diff 1d . --content src/", "the last day's edits below src"),
        Example("snapfs diff --exit-code latest . || snapfs create", "a snapshot if needed"),
    ),
    schemas=("diff/1", "diff-text/1", "diff-stat/1"),
)
