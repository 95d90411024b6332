"""``snapfs revert``: undo what happened between two snapshots, and keep what came after."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.changes import read_changes
from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Changing
from snapfs.cli.frame.params import argument, flag, literals
from snapfs.cli.frame.paths import path_of
from snapfs.cli.frame.states import States
from snapfs.cli.frame.subjects import of_this_host
from snapfs.cli.frame.where import open_to_read, open_to_write
from snapfs.cli.render.restored import say_kept, say_way_back
from snapfs.cli.render.reverted import (
    SHOWN,
    print_line,
    print_plan,
    print_reverted,
    question,
)
from snapfs.errors import Exit, NotFoundError, StorageFullError, UsageError
from snapfs.inplace.safety import TAG
from snapfs.model.quote import printable, quote, quote_text
from snapfs.model.snapshot import Snapshot, StoredSide
from snapfs.repository.opened import Repository
from snapfs.revert import Left, RevertOptions, RevertPlan, RevertResult, Undone, plan_revert, revert
from snapfs.tree.listing import stat_path

_BEFORE = "before revert of "


@dataclass(frozen=True, slots=True)
class Arguments(Changing):
    changes: str = argument(
        "A..B", required=True, completes="range", about="undo what happened from A to B"
    )
    words: tuple[str, ...] = argument(
        "[PATH...]", many=True, completes="stored-path", about="only there (default: everywhere)"
    )
    paths: tuple[str, ...] = literals()
    all_or_nothing: bool = flag(
        "--all-or-nothing", about="change nothing if anything is in conflict"
    )


def run(arguments: Arguments, invocation: Invocation) -> int:
    opened = open_to_read if arguments.dry_run else open_to_write
    with opened(invocation) as repository:
        states = States(invocation, repository)
        a, b = read_changes(states, arguments.changes)
        of_this_host(a.root, None)
        _refuse_safety(b, arguments.changes)
        paths = tuple(
            path_of(states, word, a.root) for word in (*arguments.words, *arguments.paths)
        )
        _refuse_unknown_paths(repository, a, b, paths)
        options = RevertOptions(
            paths=() if b"" in paths else tuple(dict.fromkeys(paths)),
            all_or_nothing=arguments.all_or_nothing,
        )
        if arguments.dry_run:
            plan = _plan(invocation, repository, a, b, options)
            print_plan(invocation, a, b, plan)
            return _code(plan.problems, plan.conflicts)
        asked = invocation.must_ask(yes=arguments.yes, dry_run=False)
        if asked and not _ask(invocation, repository, a, b, options):
            asked = False  # there is nothing to agree to, which the look that comes says
        result = _revert(invocation, repository, a, b, options, looked=asked)
        print_reverted(invocation, repository, a, b, result)
    return _code(result.problems, result.conflicts)


def _refuse_unknown_paths(
    repository: Repository, a: StoredSide, b: StoredSide, paths: tuple[bytes, ...]
) -> None:
    """A path that neither snapshot has is mistyped: "nothing to do" would be no answer."""
    for path in paths:
        if (
            path
            and stat_path(repository, a, path) is None
            and stat_path(repository, b, path) is None
        ):
            raise NotFoundError(
                f"neither {a.snapshot.name} nor {b.snapshot.name} has {quote(path)}",
                subject=quote(path),
                hint=f"`snapfs diff {a.root.label}@{a.snapshot.name} {b.snapshot.name}` shows what changed",
            )


def _plan(
    invocation: Invocation,
    repository: Repository,
    a: StoredSide,
    b: StoredSide,
    options: RevertOptions,
) -> RevertPlan:
    """Work it out and print each path."""
    with invocation.progress() as progress:

        def tell(line: Undone | Left) -> None:
            progress.finish()  # or the first line would stand behind it
            print_line(invocation, line)

        return plan_revert(
            repository, a.root, a.snapshot, b.snapshot, options, progress=progress, tell=tell
        )


def _ask(
    invocation: Invocation,
    repository: Repository,
    a: StoredSide,
    b: StoredSide,
    options: RevertOptions,
) -> bool:
    """False if there is nothing to do, and so nothing to ask."""
    conflicts: list[Left] = []

    def tell(line: Undone | Left) -> None:
        if isinstance(line, Left) and len(conflicts) < SHOWN:
            conflicts.append(line)

    with invocation.progress() as progress:
        plan = plan_revert(
            repository, a.root, a.snapshot, b.snapshot, options, progress=progress, tell=tell
        )
    if plan.nothing:
        return False
    invocation.confirm(question(a, b, plan, conflicts), "Go on?")
    return True


def _revert(
    invocation: Invocation,
    repository: Repository,
    a: StoredSide,
    b: StoredSide,
    options: RevertOptions,
    *,
    looked: bool,
) -> RevertResult:
    """Do it; whatever ends it in the middle, the way back is told."""
    kept: list[tuple[Snapshot, tuple[bytes, ...]]] = []
    try:
        with invocation.progress() as progress:

            def tell(line: Undone | Left) -> None:
                progress.finish()
                print_line(invocation, line)

            def keep(safety: Snapshot, paths: tuple[bytes, ...]) -> None:
                kept.append((safety, paths))
                progress.finish()
                say_kept(invocation, repository, a.root, paths, safety, _again(a, b, options))

            return revert(
                repository, a.root, a.snapshot, b.snapshot, options,
                looked=looked, progress=progress, tell=tell,
                on_safety=keep,
            )  # fmt: skip
    except BaseException as error:
        if isinstance(error, StorageFullError):
            error.hint = "free some space, and run the same revert again: it goes on"
        for safety, paths in kept:
            say_way_back(invocation, repository, a.root, paths, safety, done="undone")
        raise


def _again(a: StoredSide, b: StoredSide, options: RevertOptions) -> str:
    """The command line with the snapshots by name: what ``latest`` is has just become another."""
    words = [f"snapfs revert {a.root.label}@{a.snapshot.name}..{b.snapshot.name}"]
    words += ["--all-or-nothing"] if options.all_or_nothing else []
    return " ".join([*words, *(quote(b":" + path) for path in options.paths)])


def _refuse_safety(b: StoredSide, text: str) -> None:
    """After a revert that was killed ``latest`` is its safety snapshot: what changed up to there are edits."""
    named = text.rpartition("..")[2]
    if TAG not in b.snapshot.tags or named in (b.snapshot.name, str(b.snapshot.id)):
        return
    label, name, why = b.root.label, b.snapshot.name, b.snapshot.message
    goes_on = f"`snapfs revert {label}@{why.removeprefix(_BEFORE)}` goes on with that; "
    raise UsageError(
        f"{quote_text(named)} is {name}, the safety snapshot of {printable(why)}", subject=named,
        hint=f"{goes_on if why.startswith(_BEFORE) else ''}write {name} if that is what you mean",
    )  # fmt: skip


def _code(problems: int, conflicts: int) -> int:
    """With conflicts all else was undone, or would be; with a problem it was not, conflicts or none."""
    return Exit.PARTIAL if problems else Exit.CONFLICTS if conflicts else Exit.DONE


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("revert A..B [PATH...] [--all-or-nothing] [-n] [-y]",),
    description="""\
Undoes on the live tree what happened from snapshot A to snapshot B, and keeps what was edited later. It goes
path by path: what is still as in B is made as it was in A; what is as in A already is left alone; anything
else is a conflict, and stays as it is. What came before A or after B is not touched. `B..A` does the same the
other way round: it does again what `A..B` has undone. Text is not merged.

Each conflict is printed as `C`, path and reason, with tabs between, and the exit code is 5; everything else is
undone. With `--all-or-nothing` one conflict is enough that nothing is changed. `--dry-run` prints what would
be done: `+` made, `-` deleted (a directory with all in it), `M` made as it was, with what differs, then the
conflicts.

A move is undone at both ends or at none: what moved and was edited later stays where it is, and is a conflict
at both. So are links between names, but for names that came since: these are parted from it, and stay. A directory goes only if nothing stays in it: with something that came later, or that is left out of
snapshots, it stays with that, and is a conflict; all the rest of it goes. So later files in a directory that
was renamed stay under its new name. A directory that cannot be made is one conflict for all that belongs into
it. The times of a directory alone are no conflict; it gets the time that it had if it holds the same names
again, and of those that need nothing else only the number is told. What one of the two snapshots could not read is a conflict. What the rules of one of them left out,
and the other has, is not touched, and deletion never crosses a mount.

With PATH (`:PATH` is one from the root) only what lies there is undone, with the other ends of what moved from or to there.

It asks first. A safety snapshot (tag `safety`) of the state before comes first, and the last line printed is
the command that undoes it all. What comes or changes while it runs is left alone and named, and the exit code
is 3 then, also if there are conflicts: 5 means that all else was undone.

The way back is told on standard error as well, before anything is changed, for a run that is killed tells
nothing more. After that either go back with it, or run the same revert again, with the snapshots by name
(`latest` is the safety snapshot then, and refused as B): it goes on, for no file has its name before it is
finished, directories are made with their owner and mode, and what was moved leaves its new place only when it is
back in the old one. Only one that its owner may not
write into, made by an ordinary user, is a conflict then.

To undo everything since A, up to the directory as it is now, is `snapfs restore A --in-place --delete`.""",
    examples=(
        Example("snapfs revert latest~1..latest", "undo what the newest snapshot changed"),
        Example("snapfs revert s3..s4 src/ --dry-run", "what undoing it below src would do"),
        Example(
            "snapfs revert 2026-06-01..2026-06-02 --all-or-nothing",
            "a day, if nothing of it was edited since",
        ),
    ),
    schemas=("revert/1", "revert-plan/1", "revert-step/1", "revert-conflict/1"),
)
