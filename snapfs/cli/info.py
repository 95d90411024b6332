"""``snapfs info``: what the repository is and what it holds."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.where import open_to_read
from snapfs.cli.render.text import facts, local_time
from snapfs.errors import Exit
from snapfs.fs.machine import user_name
from snapfs.model.quote import printable, quote
from snapfs.model.units import format_count, format_size
from snapfs.repository.info import InfoResult, info


@dataclass(frozen=True, slots=True)
class Arguments(Common):
    pass


def run(arguments: Arguments, invocation: Invocation) -> int:
    del arguments
    with open_to_read(invocation) as repository:
        result = info(repository)
    if invocation.json:
        invocation.emit("info/1", result)
    else:
        _print(invocation, result)
    return Exit.DONE


def _print(invocation: Invocation, result: InfoResult) -> None:
    last = result.last_run
    features = ", ".join(dict.fromkeys((*result.need_read, *result.need_write)))
    on_disk = result.pack_bytes + result.catalog_bytes + result.journal_bytes + result.reserve_bytes
    facts(
        invocation.out,
        [
            ("repository", quote(result.path)),
            ("id", result.id),
            ("format", f"{result.format}{f', needs {features}' if features else ''}"),
            ("owner", user_name(result.owner_uid) or str(result.owner_uid)),
            ("roots", f"{result.roots:,}"),
            (
                "snapshots",
                f"{result.snapshots:,}, {format_size(result.total_bytes)} of files in all",
            ),
            ("unique data", f"{format_size(result.raw_bytes)} before compression"),
            (
                "on disk",
                f"{format_size(on_disk)}: {format_count(result.packs, 'pack')} "
                f"{format_size(result.pack_bytes)}, catalog {format_size(result.catalog_bytes)}, "
                f"journal {format_size(result.journal_bytes)}, "
                f"reserve {format_size(result.reserve_bytes)}",
            ),
            ("reclaimable", format_size(result.reclaimable_bytes)),
            (
                "last run",
                f"{printable(last.command)}, {local_time(last.started_ns, invocation.clock)}"
                if last
                else "",
            ),
        ],
    )


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("info",),
    description="""\
Shows where the repository is, its format, how many roots and snapshots it holds, and where its bytes go:
packs, catalog, journal and the reserve (16M that are given up on a full disk, so that snapshots can be
deleted), and what dead blocks in packs that are still needed take.""",
    examples=(Example("snapfs info", "of the repository in use"),),
    schemas=("info/1",),
)
