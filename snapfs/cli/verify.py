"""``snapfs verify``: check the repository."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.params import flag, option
from snapfs.cli.frame.where import open_to_read
from snapfs.cli.render.findings import place
from snapfs.errors import Exit, UsageError
from snapfs.model.quote import printable, quote
from snapfs.model.units import format_count, format_duration, format_size, parse_share
from snapfs.verify import VerifyOptions, VerifyResult, verify


@dataclass(frozen=True, slots=True)
class Arguments(Common):
    data: bool = flag("--data", about="read and check every stored byte")
    sample: float | None = option(
        "--sample", metavar="SHARE", parse=parse_share, about="read and check a random share, as 5%"
    )


def run(arguments: Arguments, invocation: Invocation) -> int:
    if arguments.data and arguments.sample is not None:
        raise UsageError("verify: --data and --sample exclude each other")
    options = VerifyOptions(data=arguments.data, sample=arguments.sample)
    with open_to_read(invocation) as repository, invocation.progress() as progress:
        result = verify(repository, options, progress=progress)
    if invocation.json:
        invocation.emit("verify/1", result)
    else:
        _print(invocation, result)
    return Exit.PARTIAL if result.findings or result.problems else Exit.DONE


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
    synopsis=("verify [--data | --sample SHARE]",),
    description="""\
Checks what the repository says against itself: the catalog's rules, the journal, the packs' indexes. With
`--data` every stored byte is read and compared with its checksum and digest, with `--sample` a random
share of them.

Damage is named, with each file and snapshot that it touches; everything else still restores. The exit code
is 3 if there is any.

`snapfs repair` mends what can be mended and says what is lost. `snapfs create --checksum` of a directory stores
damaged blocks again as well, where the files still have them. Without `--checksum` only files that are read
anyway are healed, and only of packs that are missing or have another size.

What no restore uses is not guarded and cannot be checked: inode numbers and times of last status change, by
which the next snapshot decides what to read, and the record of runs.""",
    examples=(
        Example("snapfs verify", "quick, without reading the data"),
        Example("snapfs verify --sample 5%", "every day another twentieth"),
        Example("snapfs verify --data", "everything"),
    ),
    schemas=("verify/1",),
)
