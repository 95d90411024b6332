"""``snapfs rebuild-catalog``: the catalog from journal and packs."""

from __future__ import annotations

import os
from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.params import flag
from snapfs.cli.frame.where import choose, refuse_foreign, refuse_missing, refuse_read_only
from snapfs.cli.render.lostchanges import lost_lines
from snapfs.errors import Exit
from snapfs.model.quote import quote
from snapfs.model.units import format_count, format_duration
from snapfs.repository.rebuild import rebuild_catalog


@dataclass(frozen=True, slots=True)
class Arguments(Common):
    yes: bool = flag("-y", "--yes", about="accepted for scripts; it never asks")


def run(arguments: Arguments, invocation: Invocation) -> int:
    del arguments
    chosen = choose(invocation)
    refuse_missing(invocation, chosen)
    refuse_foreign(chosen)
    refuse_read_only(chosen)
    with invocation.progress() as progress:
        result = rebuild_catalog(chosen.path, lock_wait_s=invocation.lock_wait_s, progress=progress)
    if invocation.json:
        invocation.emit("rebuild-catalog/1", result)
    else:
        found = (
            f"{format_count(result.snapshots, 'snapshot')} of {format_count(result.roots, 'root')}"
        )
        invocation.say(
            f"made the catalog of {quote(result.path)} again: {found}, "
            f"{format_count(result.blocks, 'block')} from "
            f"{format_count(result.journal_records, 'journal record')} "
            f"in {format_duration(result.duration_ns)}"
        )
        for line in lost_lines(result.lost):
            invocation.out.line(line)
        for name in result.set_aside:
            where = quote(os.path.join(result.path, os.fsencode(name)))
            invocation.say(f"kept: {where}")
        if result.missing_blocks:
            invocation.say(
                f"missing, of deleted or damaged packs: {format_count(result.missing_blocks, 'block')}; "
                "`snapfs verify` says what that touches"
            )
    return Exit.PARTIAL if result.problems else Exit.DONE


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("rebuild-catalog",),
    description="""\
Makes catalog.db again from the journal and the packs, when it is lost, damaged, or older than the journal
(a copy put back). Every snapshot, name, tag, pin and time is as before. What `snapfs runs` shows is taken
from the old catalog as far as that can still be read; the journal does not have it.

A journal that is damaged itself is used up to the damage. The changes behind it are lost then: they are counted, the
snapshots and roots among them are named as far as that can still be read, and the exit code is 3. The damaged
journal, and packs that only these changes knew, are moved to the folder `quarantine` of the repository.""",
    examples=(Example("snapfs rebuild-catalog", "when another command says so"),),
    schemas=("rebuild-catalog/1",),
)
