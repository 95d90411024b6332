"""``snapfs around``: a snapshot, a command, a snapshot, and what differs."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import NamedTuple

from snapfs.cli.frame.child import require_program, run_child
from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.making import open_or_make
from snapfs.cli.frame.params import literals, option
from snapfs.cli.frame.selecting import Selecting, with_rules
from snapfs.cli.frame.states import States
from snapfs.cli.frame.streams import encode
from snapfs.cli.frame.subjects import new_root, subject_of_create
from snapfs.cli.frame.where import choose, open_to_write, refuse_planting
from snapfs.cli.render.around import Surrounded, print_around
from snapfs.cli.render.changes import DiffSummary, Tally
from snapfs.cli.render.created import say_first_words, summary
from snapfs.cli.render.text import reference
from snapfs.create import CreateOptions, CreateResult, create
from snapfs.diff import DiffOptions, diff
from snapfs.errors import Exit, NotFoundError, SnapfsError, UsageError
from snapfs.model.names import parse_text
from snapfs.model.signalname import signal_name
from snapfs.model.snapshot import NewRoot, Root, Snapshot, StoredSide
from snapfs.repository.opened import Repository, repository_at

_LONGEST_TEXT = 200
"""Characters of a command line that stand in a message."""


@dataclass(frozen=True, slots=True)
class Arguments(Selecting):
    command: tuple[str, ...] = literals()
    message: str | None = option(
        "-m",
        "--message",
        metavar="TEXT",
        parse=parse_text,
        about="what the messages of both snapshots call it (default: the command)",
    )


def run(arguments: Arguments, invocation: Invocation) -> int:
    words = [encode(word) for word in arguments.command]
    if not words:
        raise UsageError("no command is given", hint="write it behind --: `snapfs around -- make`")
    require_program(words[0])
    command = tuple(map(_readable, arguments.command))
    called = arguments.message or _shortened(shlex.join(command))
    before = _before(arguments, invocation, called)
    if before.snapshot is None:
        told = summary(before, dry_run=True, skip_if_unchanged=False)
        invocation.say(f"{told}, and the command not run")
        return Exit.DONE
    first = reference(before.root, before.snapshot)
    invocation.say(f"before: {first}")
    code = run_child(words)
    how = "" if code == 0 else f"exit {code}" if code > 0 else signal_name(-code)
    code = code if code >= 0 else 128 - code
    try:
        found = _after(arguments, invocation, before, f"{called} ({how})" if how else called)
    except SnapfsError:
        invocation.warn(f"the command ended ({how or 'exit 0'}); the snapshot before it is {first}")
        raise
    surrounded = Surrounded(first, None, command, code, None)
    if found.sides is not None:
        first, second = (reference(side.root, side.snapshot) for side in found.sides)
        undo = invocation.again(f"snapfs revert {first}..{found.sides[1].snapshot.name}")
        surrounded = Surrounded(first, second, command, code, undo if found.revertible else None)
    print_around(invocation, surrounded, found.differing)
    if found.purged:
        invocation.say(
            f"a purge meanwhile took something out of {first}: what it lacks now would seem to be new, "
            "so no command takes that back"
        )
    return code


class _Found(NamedTuple):
    """What the command has left."""

    sides: tuple[StoredSide, StoredSide] | None
    """the snapshots between which it did what it did, None if it did nothing"""
    differing: DiffSummary
    purged: bool
    """the first snapshot is not any more as it was taken"""

    @property
    def revertible(self) -> bool:
        """Whether a revert has something to do, and would undo what the command did and nothing else."""
        one = self.differing
        return not self.purged and bool(one.modified or one.added or one.removed or one.renamed)


def _before(arguments: Arguments, invocation: Invocation, called: str) -> CreateResult:
    made = not repository_at(choose(invocation).path)
    if made:
        refuse_planting(choose(invocation))
        new_root(invocation, invocation.common.root, host=arguments.host, nested=arguments.nested)
    with open_or_make(invocation, dry_run=arguments.dry_run) as repository:
        subject = subject_of_create(
            States(invocation, repository),
            invocation,
            None,
            host=arguments.host,
            nested=arguments.nested,
        )
        options = CreateOptions(message=f"before: {called}", dry_run=arguments.dry_run)
        result = _create(arguments, invocation, repository, subject, options)
        if made and result.snapshot is not None:
            say_first_words(invocation, repository.path, result)
        return result


def _after(
    arguments: Arguments, invocation: Invocation, before: CreateResult, called: str
) -> _Found:
    tally = Tally()
    assert before.snapshot is not None
    # The repository was closed while the command ran, which may have used it.
    with open_to_write(invocation) as repository:
        root = next((one for one in repository.roots() if one.id == before.root.id), None)
        if root is None:
            raise NotFoundError(f"root {before.root.label} is gone", subject=before.root.label)
        options = CreateOptions(message=f"after: {called}", skip_if_unchanged=True)
        result = _create(arguments, invocation, repository, root, options)
        after = result.snapshot or repository.snapshots(root.id)[-1]
        first = repository.snapshot(before.snapshot.id)
        if first is None:
            raise NotFoundError(
                f"{before.snapshot.name} was deleted meanwhile", subject=before.snapshot.name
            )
        if after.id == first.id:
            return _Found(None, tally.summary(), False)
        sides = StoredSide(root, first), StoredSide(root, after)
        with invocation.progress() as progress:
            for change in diff(repository, *sides, DiffOptions(), progress=progress):
                tally.add(change)
    return _Found(sides, tally.summary(), _size(first) != _size(before.snapshot))


def _size(snapshot: Snapshot) -> tuple[int, ...]:
    """A purge takes entries out of a snapshot, and nothing else changes how many it has."""
    return snapshot.files, snapshot.dirs, snapshot.others, snapshot.total_bytes


def _create(
    arguments: Arguments,
    invocation: Invocation,
    repository: Repository,
    subject: Root | NewRoot,
    options: CreateOptions,
) -> CreateResult:
    chosen = with_rules(options, arguments, invocation)
    with invocation.progress() as progress:
        return create(repository, subject, chosen, progress=progress)


def _readable(word: str) -> str:
    """What is not UTF-8 in a word is shown as ``\\xNN``."""
    return encode(word).decode("utf-8", "backslashreplace")


def _shortened(text: str) -> str:
    """A command line as a message: no more of it than a table has room for.

    It is kept, and who reads it may have any locale: so the ellipsis is ASCII.
    """
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 3] + "..."


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("around [-m TEXT] [--root ROOT] [OPTION...] -- COMMAND [WORD...]",),
    description="""\
Takes a snapshot of the root I stand in (or of `--root`), runs COMMAND, takes another one and says how
much differs, and how to take that back, unless COMMAND purged something of the first. If nothing has
changed there is no second snapshot. Their messages are `before: COMMAND` and `after: COMMAND`, with how it ended if it failed; `-m TEXT` stands for COMMAND there.

COMMAND runs as if snapfs was not there: it has the terminal, the three streams, the environment and
the working directory, and the repository is closed and not locked meanwhile, so that it may use snapfs itself.
All that snapfs says is on standard error; standard output is COMMAND's. With `--json` that is one object on
standard error as well. A Ctrl-C is COMMAND's; SIGTERM and SIGHUP are passed on to it. The second snapshot is
taken however it ended.

The exit code is that of COMMAND, 128 and the number of the signal if one ended it; 125 if snapfs itself failed
(before COMMAND, which is then not run, or after it), 126 if COMMAND cannot be run, 127 if it is not there. With
`--dry-run` nothing is run.""",
    examples=(
        Example("snapfs around -- make install", "what does it change here?"),
        Example("snapfs around -m 'the upgrade' --root ~/app -- ./upgrade.sh", "and a way back"),
    ),
    schemas=("around/1",),
    failure=Exit.OWN_FAILURE,
)
