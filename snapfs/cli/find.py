"""``snapfs find``: paths over all history."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from snapfs.capture.digestof import file_digest
from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.failure import answering
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.params import argument, flag, literals, option, parse_pattern
from snapfs.cli.frame.states import States
from snapfs.cli.frame.streams import encode
from snapfs.cli.frame.where import open_to_read
from snapfs.cli.render.versions import FoundPrinter
from snapfs.errors import Exit, UsageError
from snapfs.model.kinds import KIND_NAMES, Kind
from snapfs.model.moment import Moment, before, parse_when
from snapfs.model.quote import quote_text
from snapfs.model.span import Span
from snapfs.model.units import parse_size
from snapfs.search import FindOptions, find

_TYPES = dict(zip("fdlpscb", Kind, strict=True))
"""The letters of find(1), in the order of the kinds."""
_FEWEST_DIGITS = 6
_DIGEST_DIGITS = 64


def _parse_type(text: str) -> Kind:
    by_name = {name: Kind(number) for number, name in KIND_NAMES.items()}
    kind = _TYPES.get(text) or by_name.get(text)
    if kind is None:
        raise ValueError(
            f"{text!r} is no type; they are {', '.join(by_name)}, or {' '.join(_TYPES)}"
        )
    return kind


def _parse_digest(text: str) -> tuple[bytes, bytes]:
    """The first and the last digest that begin so."""
    digits = text.lower()
    if (
        not re.fullmatch(r"[0-9a-f]+", digits)
        or not _FEWEST_DIGITS <= len(digits) <= _DIGEST_DIGITS
    ):
        raise ValueError(
            f"{text!r} is no digest; write {_FEWEST_DIGITS} to {_DIGEST_DIGITS} hexadecimal digits of one"
        )
    low, high = (bytes.fromhex(digits.ljust(_DIGEST_DIGITS, filler)) for filler in "0f")
    return low, high


@dataclass(frozen=True, slots=True)
class Arguments(Common):
    patterns: tuple[str, ...] = argument(
        "[PATTERN...]", many=True, parse=parse_pattern,
        about="names as *.c, or paths from the root as src/**/*.c",
    )  # fmt: skip
    more: tuple[str, ...] = literals()
    in_snapshot: str | None = option(
        "--in", metavar="SNAP", completes="snapshot", about="only what this snapshot has"
    )
    all_roots: bool = flag("--all-roots", about="in every root")
    type: tuple[Kind, ...] = option(
        "-t", "--type", metavar="TYPE", many=True, parse=_parse_type,
        about="f file, d dir, l symlink, p fifo, s socket, c chardev, b blockdev; may be repeated",
    )  # fmt: skip
    larger: int | None = option(
        "--larger", metavar="SIZE", parse=parse_size, about="files of more than SIZE"
    )
    smaller: int | None = option(
        "--smaller", metavar="SIZE", parse=parse_size, about="files of less than SIZE"
    )
    newer: Moment | Span | None = option(  # noqa: RUF009 (a field)
        "--newer", metavar="WHEN", parse=parse_when,
        about="changed after a time as 2026-06-01T14:30, or within a span as 3d",
    )  # fmt: skip
    older: Moment | Span | None = option(  # noqa: RUF009 (a field)
        "--older", metavar="WHEN", parse=parse_when, about="changed before a time, or a span ago"
    )
    deleted: bool = flag("--deleted", about="only paths that the newest snapshot does not have")
    digest: tuple[tuple[bytes, bytes], ...] = option(
        "--digest", metavar="HEX", many=True, parse=_parse_digest,
        about="files with this digest, or one that begins so; may be repeated",
    )  # fmt: skip
    same_as: tuple[str, ...] = option(
        "--same-as", metavar="FILE", many=True, completes="path",
        about="files with the bytes and holes of FILE; may be repeated",
    )  # fmt: skip
    ignore_case: bool = flag("-i", "--ignore-case", about="letters match those of either case")
    zero: bool = flag("-0", "--null", about="first, last and path raw, each ended by NUL")


def run(arguments: Arguments, invocation: Invocation) -> int:
    with answering():
        _refuse(arguments, invocation)
        with open_to_read(invocation) as repository, invocation.progress() as progress:
            states = States(invocation, repository)
            at: int | None = None
            if arguments.in_snapshot is not None:
                stored = states.snapshot_of(arguments.in_snapshot)
                at, roots = stored.snapshot.id, [stored.root]
            elif arguments.all_roots:
                roots = list(states.roots)
            else:
                roots = [states.root()]
            options = _options(arguments, invocation, at)
            printer = FoundPrinter(
                invocation, repository, several=arguments.all_roots, zero=arguments.zero
            )
            progress.phase("searching")
            for found in find(repository, roots, options):
                progress.finish()  # or the first line would stand behind it
                printer.found(found)
            progress.finish()
            printer.finish()
        return Exit.DONE if printer.count else Exit.FAILED


def _refuse(arguments: Arguments, invocation: Invocation) -> None:
    if arguments.zero and arguments.json:
        raise UsageError("find: --null and --json exclude each other", subject="--null")
    named = arguments.root is not None and "root" not in invocation.origins
    if arguments.all_roots and (named or arguments.in_snapshot is not None):
        raise UsageError("find: --all-roots excludes --root and --in", subject="--all-roots")
    criteria = (
        arguments.patterns, arguments.more, arguments.type, arguments.larger, arguments.smaller,
        arguments.newer, arguments.older, arguments.deleted, arguments.digest, arguments.same_as,
    )  # fmt: skip
    if not any(one not in (None, (), False) for one in criteria):
        raise UsageError(
            "find: nothing says what to look for", hint="snapfs find '*' finds everything"
        )


def _options(arguments: Arguments, invocation: Invocation, at: int | None) -> FindOptions:
    return FindOptions(
        patterns=tuple(encode(word) for word in (*arguments.patterns, *arguments.more)),
        ignore_case=arguments.ignore_case,
        kinds=frozenset(arguments.type),
        larger=arguments.larger,
        smaller=arguments.smaller,
        newer_ns=_bound(arguments.newer, invocation, end=True),
        older_ns=_bound(arguments.older, invocation, end=False),
        digests=(*arguments.digest, *_same(arguments.same_as, invocation)),
        at=at,
        deleted=arguments.deleted,
    )


def _bound(when: Moment | Span | None, invocation: Invocation, *, end: bool) -> int | None:
    """A bound in nanoseconds: after the end of a day that is named, or before its beginning."""
    clock = invocation.clock
    if when is None:
        return None
    if isinstance(when, Moment):
        return (when.last_ns if end else when.first_ns)(clock.utc_offset_s)
    return before(clock.now_ns(), when, clock.utc_offset_s)


def _same(words: Sequence[str], invocation: Invocation) -> list[tuple[bytes, bytes]]:
    found = []
    for word in words:
        digest = file_digest(invocation.environment.expand_home(word))
        if digest is None:
            raise UsageError(
                f"{quote_text(word)} is empty, as many files are",
                subject=word, hint="`snapfs find --type f --smaller 1` finds them",
            )  # fmt: skip
        found.append((digest, digest))
    return found


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("find PATTERN... [OPTION...]", "find OPTION..."),
    description="""\
Finds paths in all snapshots of the root I stand in, deleted ones too, with one line for each version of a
path: the snapshots from the first to the last in which it is so, its size, its mtime, and the path from the
root. Versions differ in what a restore would bring back; of a directory its own attributes count, but for
its time.

A PATTERN is one of .gitignore files: without a slash it matches the last name, with one the path from the
root; `*` and `?` match no slash, `**` any number of directories, a slash at the end asks for a directory.
Quote it, or the shell expands it. What is found matches one of the patterns and every option; of several
types, digests or files one.

A digest is that of a file's bytes and holes, as `snapfs log` shows it. With `-0` three raw fields are
printed for each version, each ended by NUL: the first snapshot, the last one, the path.

A time stands for all of what it names: `--newer 2026-06-01` is after that day, `--newer 2026-06-01T14:30`
after that minute, and `--older` before it.

The exit code is 1 if nothing is found, and 2 if the search failed.""",
    examples=(
        Example("snapfs find '*.key'", "wherever a key ever was"),
        Example("snapfs find --deleted 'src/**/*.py'", "what is gone, and which snapshots have it"),
        Example("snapfs find --same-as report.pdf --all-roots", "who else has these bytes?"),
        Example("snapfs find --larger 1G --newer 1w --type f", "what grew this week"),
    ),
    schemas=("find/1",),
)
