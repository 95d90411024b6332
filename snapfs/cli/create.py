"""``snapfs create``: take a snapshot."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.failure import tell
from snapfs.cli.frame.inflow import Inflow, inflow
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.making import open_or_make
from snapfs.cli.frame.params import argument, flag, option, params_of
from snapfs.cli.frame.pathlist import listed_paths
from snapfs.cli.frame.selecting import Selecting, with_rules
from snapfs.cli.frame.states import States
from snapfs.cli.frame.subjects import new_root, path_below, subject_of_create
from snapfs.cli.frame.where import choose, refuse_planting
from snapfs.cli.render.created import print_created, say_first_words
from snapfs.create import CreateOptions, CreateResult, create, create_stream
from snapfs.errors import Exit, SnapfsError, UsageError
from snapfs.model.moment import Moment, parse_moment
from snapfs.model.names import check_name, parse_text
from snapfs.model.snapshot import NewRoot, Root
from snapfs.progress import Progress
from snapfs.repository.opened import Repository, repository_at


@dataclass(frozen=True, slots=True)
class Arguments(Selecting):
    roots: tuple[str, ...] = argument(
        "[ROOT...]", many=True, completes="root-or-directory",
        about="directories or labels of roots (default: the root I stand in)",
    )  # fmt: skip
    name: str | None = option(
        "--name", metavar="NAME", parse=check_name,
        about="name of the snapshot (default: sYYYYMMDD-HHMMSS.mmm, UTC)",
    )  # fmt: skip
    message: str = option(
        "-m",
        "--message",
        metavar="TEXT",
        default="",
        parse=parse_text,
        about="a note to keep with it",
    )
    tags: tuple[str, ...] = option(
        "--tag", metavar="TAG", many=True, parse=check_name, about="a tag; may be repeated"
    )
    time: Moment | None = option(  # noqa: RUF009 (a field)
        "--time", metavar="WHEN", parse=parse_moment,
        about="the time it stands for, as 2026-06-01T14:30 (default: now)",
    )  # fmt: skip
    skip_if_unchanged: bool = flag(
        "--skip-if-unchanged", about="take no snapshot if nothing differs from the newest one"
    )
    explain: tuple[str, ...] = option(
        "--explain", metavar="PATH", many=True, completes="path",
        about="with --dry-run: say which rule keeps PATH or leaves it out; may be repeated",
    )  # fmt: skip
    checksum: bool = flag("--checksum", about="read every file, whatever its times say")
    ignore_ctime: bool = flag(
        "--ignore-ctime", about="a moved ctime alone is no reason to read a file"
    )
    ignore_inode: bool = flag(
        "--ignore-inode", about="another inode number alone is no reason to read a file"
    )
    changed_from: str | None = option(
        "--changed-from", metavar="FILE", completes="path",
        about="look only at the paths that FILE lists (- is standard input); the rest is taken as unchanged",
    )  # fmt: skip
    stdin: str | None = option(
        "--stdin", metavar="NAME",
        about="take what comes on standard input, as a file NAME, instead of a directory",
    )  # fmt: skip
    from_command: str | None = option(
        "--from-command", metavar="COMMAND",
        about="take what COMMAND, a line for /bin/sh, writes; no snapshot if it fails",
    )  # fmt: skip
    label: str | None = option(
        "--label", metavar="LABEL", parse=check_name, completes="root",
        about="label of that stream: later ones of the same label follow it",
    )  # fmt: skip


def run(arguments: Arguments, invocation: Invocation) -> int:
    params = params_of(Arguments)
    values = {param.field: getattr(arguments, param.field) for param in params}
    stream = inflow(values, params, invocation.origins)
    made = not repository_at(choose(invocation).path)
    if stream is not None:
        return _of_stream(arguments, invocation, stream, made=made)
    if arguments.explain and not arguments.dry_run:
        raise UsageError("--explain needs --dry-run", subject="--explain")
    if arguments.changed_from is not None and len(arguments.roots) > 1:
        raise UsageError("--changed-from lists paths of one root", subject="--changed-from")
    if made:
        # Before anything is made: a mistyped directory must not leave a repository behind.
        refuse_planting(choose(invocation))
        for word in arguments.roots or (None,):
            new_root(invocation, word, host=arguments.host, nested=arguments.nested)
    code: int = Exit.DONE
    with open_or_make(invocation, dry_run=arguments.dry_run) as repository:
        states = States(invocation, repository)
        named: set[bytes | None] = set()
        for word in arguments.roots or (None,):
            try:
                subject = subject_of_create(
                    states, invocation, word, host=arguments.host, nested=arguments.nested
                )
                if subject.path in named:
                    continue  # one root named twice is one snapshot
                named.add(subject.path)
                if isinstance(subject, Root):
                    invocation.detail(f"root: {subject.label}")
                first = made and len(named) == 1
                code = max(code, _of_directory(arguments, invocation, states, subject, first=first))
            except SnapfsError as error:
                if len(arguments.roots) < 2:
                    raise
                words = [word.decode("utf-8", "surrogateescape") for word in invocation.words]
                code = max(code, tell(error, words, invocation.streams))
    return code


def _of_directory(
    arguments: Arguments,
    invocation: Invocation,
    states: States,
    subject: Root | NewRoot,
    *,
    first: bool,
) -> int:
    options = replace(
        with_rules(_options(arguments, invocation), arguments, invocation),
        explain=tuple(path_below(states, subject, word) for word in arguments.explain),
        checksum=arguments.checksum,
        ignore_ctime=arguments.ignore_ctime,
        ignore_inode=arguments.ignore_inode,
    )

    def take(progress: Progress) -> CreateResult:
        with _changed(arguments, invocation) as changed:
            return create(
                states.repository, subject, replace(options, changed=changed), progress=progress
            )

    return _take(arguments, invocation, states.repository, take, first=first)


def _of_stream(arguments: Arguments, invocation: Invocation, stream: Inflow, *, made: bool) -> int:
    source = stream.source(invocation)
    options = _options(arguments, invocation)
    with open_or_make(invocation, dry_run=arguments.dry_run) as repository:
        root = stream.root(repository.roots(), arguments.host)

        def take(progress: Progress) -> CreateResult:
            return create_stream(repository, root, stream.name, source, options, progress=progress)

        return _take(arguments, invocation, repository, take, first=made)


def _options(arguments: Arguments, invocation: Invocation) -> CreateOptions:
    return CreateOptions(
        name=arguments.name,
        message=arguments.message,
        tags=tuple(sorted(set(arguments.tags))),
        time_ns=arguments.time and arguments.time.first_ns(invocation.clock.utc_offset_s),
        skip_if_unchanged=arguments.skip_if_unchanged,
        dry_run=arguments.dry_run,
    )


def _take(
    arguments: Arguments,
    invocation: Invocation,
    repository: Repository,
    take: Callable[[Progress], CreateResult],
    *,
    first: bool,
) -> int:
    """Take it and tell what came of it; the exit code."""
    try:
        with invocation.progress() as progress:
            result = take(progress)
    except KeyboardInterrupt:
        invocation.say("interrupted; what is stored already serves the next run")
        raise
    print_created(
        invocation, result, dry_run=arguments.dry_run, skip_if_unchanged=arguments.skip_if_unchanged
    )
    if result.damaged and invocation.common.quiet:  # else it was told while it ran
        invocation.warn("packs of the repository are missing or cut off: run snapfs verify")
    if first and result.snapshot is not None:
        say_first_words(invocation, repository.path, result)
    complete = result.problems == 0 and (result.snapshot is None or result.snapshot.complete)
    return Exit.DONE if complete and not result.damaged else Exit.PARTIAL


def _changed(
    arguments: Arguments, invocation: Invocation
) -> contextlib.AbstractContextManager[Iterator[bytes] | None]:
    if arguments.changed_from is None:
        return contextlib.nullcontext()
    return listed_paths(invocation, "--changed-from", arguments.changed_from)


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=(
        "create [ROOT...] [OPTION...]",
        "create --stdin NAME --label LABEL [OPTION...]",
        "create --from-command COMMAND --label LABEL [OPTION...]",
    ),
    description="""\
Takes a snapshot of each ROOT and prints its reference, as `photos@s20260601-120000.000`. The first
use makes the repository and registers the directory as a root under its base name, as far as labels
allow it (snapfs(1), ROOTS); `snapfs roots rename` gives it another.

Only what changed is read and stored. A file counts as changed if its size, mtime, ctime, inode number,
owner, mode or number of links did; `--checksum` reads them all.

The summary counts names that are new or removed, and inodes that changed. A file that was renamed is
both new and removed there; `snapfs show` and `snapfs diff` find it under its new name.

What is left out: what matches `--exclude` and `--exclude-from`, then lines of .snapfsignore files in
any directory (the syntax of .gitignore); the repository itself and what a killed restore left
unfinished (.snapfs-tmp- and 16 hexadecimal digits), always. Patterns begin at the root of the
directory. `--dry-run --explain PATH` says which rule decides.

Another filesystem, for `-x`, is what has another device number than the root: other mounts and btrfs
subvolumes, whose mount points are kept as empty directories. A bind mount of the root's own filesystem has
the same number and is descended into; `--exclude` leaves it out.

With `--changed-from FILE` only the paths that FILE lists are looked at, and all else is taken as the newest
snapshot has it: what that costs follows the list and not the directory. Paths are absolute or from the root,
wherever you stand, as git, watchman and fanotify tools print them; each is ended by a NUL if there is any NUL in
FILE, else by a newline. A listed directory stands for all below it, one name of a file for all its names, a
.snapfsignore file for its directory; a listed path that is gone is removed, a rename is one if both names are
listed. A symlink on the way is never followed, and a path out of the root is an error. Rules hold as always. Where
there is no snapshot yet, or it was taken with other rules, everything is looked at. The next `create` without a
list finds what no list named.

`--stdin NAME --label LABEL` takes what comes on standard input instead of a directory. LABEL names a root that
has none; each of its snapshots holds the one file NAME, of mode 0600 and yours. It is cut into blocks as
any large file, so that of a dump only what is new is stored. Its time is that of the snapshot in which its
bytes were last new: the same bytes again are no change. Standard input ends alike whether its writer was done or
failed; `--from-command COMMAND` knows: COMMAND is run by /bin/sh, its standard output is taken (as NAME, else as
LABEL), and if it fails there is no snapshot, and the exit code is 1. With `--dry-run` it runs as well. `ls`, `cat`,
`diff`, `restore --to` and all else work on such snapshots; what needs a directory as it is now (`.`, `--in-place`)
has none.

What cannot be read is named, the snapshot is marked incomplete, and the exit code is 3.""",
    examples=(
        Example("snapfs create ~/photos", "the first snapshot of a directory, later one more"),
        Example("snapfs create -m 'before the upgrade'", "of the root I stand in, with a note"),
        Example("snapfs create --exclude '*.o' --exclude /build/ ~/src", "without some files"),
        Example("snapfs create --skip-if-unchanged ~/src", "only if something changed"),
        Example("snapfs create --changed-from changed.txt ~/src", "look only at what is listed"),
        Example(
            "snapfs create --from-command 'pg_dump app' --label app --stdin app.sql",
            "a dump of a database, if it succeeds",
        ),
    ),
    schemas=("create/1",),
)
