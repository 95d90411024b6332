"""``snapfs purge``: drop a path from all snapshots, and every trace of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Changing
from snapfs.cli.frame.params import argument, flag
from snapfs.cli.frame.paths import recorded_path
from snapfs.cli.frame.states import States
from snapfs.cli.frame.streams import encode
from snapfs.cli.frame.where import open_to_write
from snapfs.cli.render.purged import next_steps, question_lines, stays, summary
from snapfs.cli.render.text import Mode
from snapfs.errors import Exit, UsageError
from snapfs.fs.patterns import PURGED
from snapfs.model.quote import quote
from snapfs.model.snapshot import Root
from snapfs.purge import PurgeOptions, PurgeResult, check_purge, plan_purge, purge


@dataclass(frozen=True, slots=True)
class Arguments(Changing):
    paths: tuple[str, ...] = argument(
        "PATH...", many=True, completes="path",
        about="files and directories with all below them, deleted ones too",
    )  # fmt: skip
    deleted: bool = flag(
        "--deleted",
        about="drop what deleted snapshots left, though no snapshot has a PATH, or without one",
    )


def run(arguments: Arguments, invocation: Invocation) -> int:
    if not arguments.paths and not arguments.deleted:
        raise UsageError("purge: which path?", hint="write snapfs purge PATH")
    with open_to_write(invocation, spend_reserve=True) as repository:
        repository.command_line = _without_paths(invocation.words, arguments.paths)
        states = States(invocation, repository)
        root, paths = _meant(states, arguments.paths)
        options = PurgeOptions(deleted=arguments.deleted, dry_run=arguments.dry_run)
        check_purge(repository, root, paths, options)
        if invocation.must_ask(yes=arguments.yes, dry_run=arguments.dry_run):
            plan = plan_purge(repository, root, paths, options)
            question = "Purge?" if paths else "Drop what deleted snapshots left?"
            invocation.confirm(question_lines(repository.path, plan), question)
        with invocation.progress() as progress:
            result = purge(repository, root, paths, options, progress=progress)
        host = states.host
    if invocation.json:
        invocation.emit("purge/1", result, Mode(arguments.dry_run))
    else:
        _print(invocation, result, host, dry_run=arguments.dry_run)
    return Exit.PARTIAL if result.remaining and not arguments.dry_run else Exit.DONE


def _print(invocation: Invocation, result: PurgeResult, host: str, *, dry_run: bool) -> None:
    for path in result.paths:
        invocation.out.line(quote(path))
    invocation.say(summary(result, dry_run=dry_run))
    for line in stays(result):
        invocation.say(line)
    if not dry_run:
        for line in next_steps(result, host):
            invocation.say(line)
    for line in result.remaining:
        invocation.warn(f"not removed: {line}")


def _meant(states: States, words: Sequence[str]) -> tuple[Root, list[bytes]]:
    """The root and the paths in it."""
    found = [(word, *recorded_path(states, word)) for word in words]
    if not found:
        return states.root(), []
    first = found[0][1]
    for word, root, _ in found:
        if root != first:
            raise UsageError(
                f"{word} is in {root.label} and {words[0]} in {first.label}",
                subject=word,
                hint="purge the paths of one root at a time",
            )
    return first, [path for _, _, path in found]


def _without_paths(words: Sequence[bytes], paths: Sequence[str]) -> tuple[bytes, ...]:
    """The command line as it is written down: what is purged is not to be found there either."""
    hidden = set(map(encode, paths))
    return tuple(PURGED.encode() if word in hidden else word for word in words)


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("purge PATH... [--deleted] [-n] [-y]",),
    description="""\
Drops a path from all snapshots of its root, a directory with all below it: a key that should never have
been there, a huge file. Afterwards nothing of its bytes and of its name is found in the repository: not
in packs, the journal, the catalog and its free pages, nor in what `snapfs runs` tells. Bytes that other
files have as well stay for these. It is not undone by anything.

PATH is an ordinary path, `:PATH` one from the root; it need not exist any more. It means what was at this
path, in each snapshot: what had another path before or afterwards, or has another name (hard link), stays
there, which is said. Pinned snapshots lose it as well.

Every pack with dead bytes is written anew, whoever left them, since a deleted snapshot may have had an
older version. If no snapshot has the path any more, `--deleted` drops what deleted ones left; without
PATH it does nothing else. In command lines, summaries and messages the path, and names that nothing else
has, become `PURGED`, ordinary words only where they stand alone. A rule that left the name out of a
snapshot still does, though it tells it no more; with wildcards in it it stays as it is, which is said,
as it is of tags, names of snapshots and symbolic links that have the name. What earlier rebuilds have left beside it (`catalog.db.old`, `journal/damaged-*`) goes too;
what lies in `quarantine` is named, and yours to remove.

It waits for whoever reads blocks as long as `--lock-wait` says, and needs room for the packs that it
writes and for the catalog twice. If it is killed, or somebody reads the catalog, the same command again, or
the next purge, delete or create, finishes it. Freed disk blocks are not overwritten; that is up to the filesystem.

Exit code 3 says that something may still hold bytes of it, and what.""",
    examples=(
        Example("snapfs purge secrets/id_rsa --dry-run", "what would go, from which snapshots"),
        Example("snapfs purge :videos/raw.mkv --yes", "a path from the root, without a question"),
        Example(
            "snapfs purge --deleted old-key", "its snapshots are deleted, its bytes may not be"
        ),
    ),
    schemas=("purge/1",),
)
