"""``snapfs verify``: check the repository."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.params import argument, flag, option
from snapfs.cli.frame.states import States
from snapfs.cli.frame.subjects import of_this_host
from snapfs.cli.frame.where import open_to_read
from snapfs.cli.render.findings import place
from snapfs.cli.render.live import LivePrinter
from snapfs.diff import Change, against_live
from snapfs.errors import Exit, UsageError
from snapfs.model.quote import printable, quote, quote_text
from snapfs.model.reference import LATEST_POINT, Reference
from snapfs.model.units import format_count, format_duration, format_size, parse_share
from snapfs.verify import VerifyOptions, VerifyResult, verify


@dataclass(frozen=True, slots=True)
class Arguments(Common):
    data: bool = flag("--data", about="read and check every stored byte")
    sample: float | None = option(
        "--sample", metavar="SHARE", parse=parse_share, about="read and check a random share, as 5%"
    )
    against_live: bool = flag(
        "--against-live", about="read the directory, and compare it with its newest snapshot"
    )
    directory: str | None = argument(
        "[ROOT]", completes="root",
        about="label or path of the root, with --against-live (default: the one I stand in)",
    )  # fmt: skip


def run(arguments: Arguments, invocation: Invocation) -> int:
    if arguments.data and arguments.sample is not None:
        raise UsageError("verify: --data and --sample exclude each other")
    if arguments.against_live:
        return _against_live(arguments, invocation)
    if arguments.directory is not None:
        raise UsageError(
            f"verify checks the whole repository, not {quote_text(arguments.directory)}",
            subject=arguments.directory,
            hint="--against-live compares a directory with its newest snapshot",
        )
    options = VerifyOptions(data=arguments.data, sample=arguments.sample)
    with open_to_read(invocation) as repository, invocation.progress() as progress:
        result = verify(repository, options, progress=progress)
    if invocation.json:
        invocation.emit("verify/1", result)
    else:
        _print(invocation, result)
    return Exit.PARTIAL if result.findings or result.problems else Exit.DONE


def _against_live(arguments: Arguments, invocation: Invocation) -> int:
    if arguments.data or arguments.sample is not None:
        given = "--data" if arguments.data else "--sample"
        raise UsageError(f"verify: --against-live and {given} exclude each other", subject=given)
    with open_to_read(invocation) as repository, invocation.progress() as progress:
        states = States(invocation, repository)
        root = of_this_host(states.root(arguments.directory), None)
        newest = states.snapshot(Reference(LATEST_POINT, root.label))
        printer = LivePrinter(invocation, newest)

        def tell(change: Change) -> None:
            progress.finish()  # or the first line would stand behind it
            printer.change(change)

        result = against_live(repository, newest, tell, progress=progress)
        progress.finish()
        printer.finish(result)
    return Exit.DONE if result.agrees else Exit.PARTIAL


def _print(invocation: Invocation, result: VerifyResult) -> None:
    out = invocation.out
    for finding in result.findings:
        what = f"{printable(finding.where)}{place(finding)}: {printable(finding.what)}"
        out.line(f"damage: {what}")
    for file in result.damaged:
        names = ", ".join(file.snapshots)
        out.line(f"touches: {file.root}: {quote(file.path or b'.')} in {names}")
    counts = (
        f"{format_count(result.packs, 'pack')}, {format_count(result.segments, 'segment')}, "
        f"{format_count(result.blocks, 'block')}"
    )
    read = f"read {format_size(result.read_bytes)} in {format_duration(result.duration_ns)}"
    if result.findings:
        verdict = f"{len(result.findings):,} damaged"
    else:
        verdict = "no damage found"
    invocation.say(f"{verdict}; checked {counts}; {read}")


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("verify [--data | --sample SHARE]", "verify --against-live [ROOT]"),
    description="""\
Checks what the repository says against itself: the catalog's rules, the journal, the packs' indexes. With
`--data` every stored byte is read and compared with its checksum and digest, with `--sample` a random
share of them.

Damage is named, with each file and snapshot that it touches; everything else still restores. The exit code
is 3 if there is any.

`snapfs repair` mends what can be mended and says what is lost. `snapfs create --checksum` of a directory stores
damaged blocks again as well, where the files still have them. Without `--checksum` only files that are read
anyway are healed, and only of packs that are missing or have another size.

`--against-live` checks the other side: it reads every file of a directory and compares it with the newest
snapshot, under the rules of that. It prints lines as `diff` does, and `B PATH content` for bit rot: the bytes
differ although size, times and inode number are those that were recorded, so that nobody has written to the file.
A create would not notice it without `--checksum`, and then take it for an edit; `restore --in-place --overwrite
always` of the path brings the good bytes back. Of a file that was changed within the minute before its snapshot
nobody can tell, and it is told as changed. The exit code is 3 if there is bit rot, or something could not be read;
changes of other kinds are what directories are for, and leave it at 0.

What no restore uses is not guarded and cannot be checked: inode numbers and times of last status change, by
which the next snapshot decides what to read, and the record of runs.""",
    examples=(
        Example("snapfs verify", "quick, without reading the data"),
        Example("snapfs verify --sample 5%", "every day another twentieth"),
        Example("snapfs verify --data", "everything"),
        Example("snapfs verify --against-live photos", "has the disk changed a file by itself?"),
    ),
    schemas=("verify/1", "verify-live/1", "verify-live-sum/1"),
)
