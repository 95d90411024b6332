"""``snapfs restore``: bring files back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.hints import for_missing_paths, for_paths, refuse_slash
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Changing
from snapfs.cli.frame.params import argument, flag, literals, option, parse_pattern
from snapfs.cli.frame.paths import ordinary_path, path_in
from snapfs.cli.frame.states import States
from snapfs.cli.frame.streams import encode
from snapfs.cli.frame.subjects import of_this_host
from snapfs.cli.frame.where import open_to_read, open_to_write
from snapfs.cli.render.restored import (
    NoticingOwners,
    plan_lines,
    print_plan,
    print_restored,
    say_kept,
    say_way_back,
)
from snapfs.errors import Exit, UsageError
from snapfs.model.reference import Reference
from snapfs.model.snapshot import Snapshot, StoredSide
from snapfs.repository.opened import Repository
from snapfs.restore import (
    Overwrite,
    OwnerRule,
    RestoreOptions,
    RestorePlan,
    RestoreResult,
    plan_restore,
    restore,
)
from snapfs.storage.path import absolute


@dataclass(frozen=True, slots=True)
class Arguments(Changing):
    place: str = argument(
        "SNAP[:PATH]", required=True, completes="reference", about="snapshot, and path in it"
    )
    words: tuple[str, ...] = argument(
        "[PATH...]",
        many=True,
        completes="stored-path",
        about="ordinary paths to restore (default: all)",
    )
    paths: tuple[str, ...] = literals()
    to: str | None = option(
        "--to", metavar="DIR", completes="directory",
        about="into DIR: a directory's content, a file as DIR/NAME",
    )  # fmt: skip
    in_place: bool = flag("--in-place", about="where it came from")
    delete: bool = flag("--delete", about="also delete what the snapshot does not have; asks first")
    overwrite: str | None = option(
        "--overwrite", metavar="WHEN", choices=("always", "if-changed", "if-newer", "never"),
        about="what to do with files that are there: always, if-changed, if-newer, never",
    )  # fmt: skip
    no_safety: bool = flag("--no-safety", about="with --in-place: no safety snapshot before")
    include: tuple[str, ...] = option(
        "--include",
        metavar="PATTERN",
        many=True,
        parse=parse_pattern,
        about="only what matches; may be repeated",
    )
    exclude: tuple[str, ...] = option(
        "--exclude",
        metavar="PATTERN",
        many=True,
        parse=parse_pattern,
        about="not what matches; may be repeated",
    )
    owner: str = option(
        "--owner", metavar="RULE", default="id", choices=("id", "name", "none"),
        about="owners by number (id), by name, or mine (none; set-id bits of others' files go)",
    )  # fmt: skip
    sparse: bool = flag("--sparse", about="write runs of zeros as holes")


def run(arguments: Arguments, invocation: Invocation) -> int:
    if arguments.to is not None and arguments.in_place:
        raise UsageError("restore: --to and --in-place exclude each other")
    if arguments.to == "":
        raise UsageError(
            "restore: --to names no directory",
            subject="--to",
            hint="--to . means the one I stand in",
        )
    if arguments.include and arguments.delete:
        raise UsageError(
            "restore: --include and --delete exclude each other: what is not picked is left alone"
        )
    if arguments.to is None and not arguments.in_place:
        raise UsageError(
            "restore wants a place: --to DIR beside, or --in-place over what is there",
            hint="with --dry-run either only says what it would do",
        )
    if arguments.no_safety and not arguments.in_place:
        raise UsageError(
            "restore: --no-safety goes with --in-place",
            hint="with --to there is no safety snapshot",
        )
    writes = arguments.in_place and not arguments.dry_run
    with (
        open_to_write(invocation, spend_reserve=arguments.no_safety)
        if writes
        else open_to_read(invocation)
    ) as repository:
        states = States(invocation, repository)
        with for_paths(states, arguments.place):
            wanted = states.reference(arguments.place)
            stored = states.snapshot(wanted)
        if arguments.in_place:
            of_this_host(stored.root, None)
        options = _options(arguments, invocation, states, stored, wanted)
        if wanted.path is not None:
            place = path_in(states, wanted, stored.root)
            refuse_slash(repository, stored, place, wanted.path)
        with for_missing_paths(stored):
            if arguments.dry_run:
                plan = _plan(invocation, repository, stored, options)
                print_plan(invocation, stored, plan)
                return Exit.PARTIAL if plan.problems else Exit.DONE
            if not arguments.yes and not _ask(invocation, repository, stored, options):
                invocation.say("nothing to do: everything is there as it was")
                return Exit.DONE
            result, hints = _restore(invocation, repository, stored, options)
        print_restored(invocation, repository, stored.root, options, result, hints=hints)
    return Exit.PARTIAL if result.problems else Exit.DONE


def _restore(
    invocation: Invocation, repository: Repository, stored: StoredSide, options: RestoreOptions
) -> tuple[RestoreResult, Sequence[str]]:
    """Do it; whatever ends it in the middle, the way back or the way on is told."""
    safety: list[Snapshot] = []
    try:
        with invocation.progress() as progress:

            def kept(snapshot: Snapshot) -> None:
                safety.append(snapshot)
                progress.finish()  # or it would stand behind the line
                say_kept(invocation, repository, stored.root, options.paths, snapshot)

            noticing = NoticingOwners(progress)
            result = restore(
                repository, stored.root, stored.snapshot, options,
                progress=noticing, on_safety=kept,
            )  # fmt: skip
    except BaseException as error:
        if safety:
            say_way_back(invocation, repository, stored.root, options.paths, safety[0])
        elif isinstance(error, KeyboardInterrupt) and options.to is not None:
            invocation.say("interrupted; with --overwrite if-changed it goes on where it stopped")
        raise
    return result, noticing.hints()


def _plan(
    invocation: Invocation, repository: Repository, stored: StoredSide, options: RestoreOptions
) -> RestorePlan:
    with invocation.progress() as progress:
        return plan_restore(repository, stored.root, stored.snapshot, options, progress=progress)


def _ask(
    invocation: Invocation, repository: Repository, stored: StoredSide, options: RestoreOptions
) -> bool:
    """In place always; elsewhere before anything is deleted, which no snapshot has.

    False if there is nothing to do in place, and so nothing to ask.
    """
    if options.in_place:
        invocation.must_ask(yes=False, dry_run=False)
    elif not options.delete:
        return True
    plan = _plan(invocation, repository, stored, options)
    if options.in_place and not (plan.create or plan.overwrite or plan.delete or plan.problems):
        return False
    if options.in_place or plan.delete:
        invocation.must_ask(yes=False, dry_run=False)
        invocation.confirm(plan_lines(stored, plan), "Go on?")
    return True


def _options(
    arguments: Arguments,
    invocation: Invocation,
    states: States,
    stored: StoredSide,
    wanted: Reference,
) -> RestoreOptions:
    paths = [] if wanted.path is None else [path_in(states, wanted, stored.root)]
    paths += [
        ordinary_path(states, word, stored.root) for word in (*arguments.words, *arguments.paths)
    ]
    if b"" in paths:
        paths = []
    to = arguments.to
    return RestoreOptions(
        paths=tuple(dict.fromkeys(paths)),
        keep_paths=len(set(paths)) > 1,
        to=None if to is None else absolute(invocation.environment.expand_home(to)),
        in_place=arguments.in_place,
        delete=arguments.delete,
        overwrite=Overwrite[arguments.overwrite.replace("-", "_").upper()]
        if arguments.overwrite
        else None,
        safety=arguments.in_place and not arguments.no_safety,
        include=tuple(map(encode, arguments.include)),
        exclude=tuple(map(encode, arguments.exclude)),
        owner=OwnerRule[arguments.owner.upper()],
        sparse=arguments.sparse,
        dry_run=arguments.dry_run,
    )


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=(
        "restore SNAP[:PATH] [PATH...] --to DIR [OPTION...]",
        "restore SNAP[:PATH] [PATH...] --in-place [OPTION...]",
    ),
    description="""\
Brings back what a snapshot holds: all of it, or PATH. With `--to` a directory's content lands in DIR and a
file as DIR/NAME; with several paths each keeps its path from the root. A DIR that holds anything needs
`--overwrite`; `--overwrite if-changed` resumes a restore that was interrupted: it believes that a file of
the wanted size and mtime is as wanted. With `--delete` it asks
before it deletes anything in DIR, since no snapshot holds that. `--include` picks what is touched at all, so
that nothing can be deleted with it.

With `--in-place` the root itself is brought back, or PATH in it. A PATH that the snapshot does not have is
deleted with `--delete`, and an error without. It asks first and says how many entries it would create,
overwrite, delete (with `--delete`) and leave alone; if it would do nothing, it says that. What was excluded
when the snapshot was taken, and what lies on other mounts, is never deleted. A safety snapshot (tag
`safety`) of the state before comes first, and the last line printed is the command that undoes it all; it is
told on standard error as well, before anything is changed, for a run that is killed tells nothing more. The
safety snapshot is the newest then: `latest` is the state before the restore, `latest~1` the snapshot before
that. What it could not hold is not touched: if something that would be replaced or deleted cannot be read,
nothing is restored, and what comes or changes while that or the restore runs, up to the moment in which it
would be replaced, is left alone and named. What SNAP itself could not read is left alone with all in it. The
undo brings back every entry; a link between one of them and a name outside of what is restored (excluded, or
beyond the root) it does not.

The repository is never touched, wherever it stands and whatever SNAP has in its place.

Files called .snapfs-tmp- and 16 hexadecimal digits are what a restore that was killed left unfinished: no
snapshot has them, and the next restore removes those that no process holds.

What is counted are entries, DIR or the root itself among them, for its attributes are restored too.

What the user or the filesystem does not allow is named, the rest goes on, and the exit code is 3.""",
    examples=(
        Example("snapfs restore latest:notes.txt --to /tmp/back", "one file, beside"),
        Example(
            "snapfs restore 2026-06-01 --in-place --delete", "the whole root as it was that day"
        ),
        Example(
            "snapfs restore latest~1 src/ --in-place", "one directory, back over what is there"
        ),
        Example("snapfs restore photos@latest --in-place", "also if the directory is gone"),
    ),
    schemas=("restore/1", "restore-plan/1"),
)
