"""``snapfs repair``: mend a damaged repository."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Changing
from snapfs.cli.frame.where import choose, refuse_foreign, refuse_missing, refuse_read_only
from snapfs.cli.render.findings import place
from snapfs.cli.render.lostchanges import lost_lines
from snapfs.cli.render.text import Mode
from snapfs.errors import Exit
from snapfs.fs.machine import host_id
from snapfs.model.quote import printable, quote
from snapfs.model.units import format_count, format_duration
from snapfs.repair import LostFile, RepairOptions, RepairResult, repair

MOST_SHOWN = 20
"""Lost files that the question names."""


@dataclass(frozen=True, slots=True)
class Arguments(Changing):
    pass


def run(arguments: Arguments, invocation: Invocation) -> int:
    chosen = choose(invocation)
    refuse_missing(invocation, chosen)
    if not arguments.dry_run:
        refuse_foreign(chosen)
        refuse_read_only(chosen)
    lost = _Lost(invocation, dry_run=arguments.dry_run)
    options = RepairOptions(host_id(), dry_run=arguments.dry_run, on_lost=lost.tell)
    if not (arguments.yes or arguments.dry_run):
        # Looked at first, asked then: where nothing is damaged a timer needs no --yes.
        asked = _Lost(invocation, dry_run=True, most=MOST_SHOWN)
        plan = _run(invocation, chosen.path, replace(options, dry_run=True, on_lost=asked.keep))
        if not plan.damaged:
            return _finish(invocation, plan, dry_run=False)
        invocation.must_ask(yes=False, dry_run=False)
        lines = [
            f"In {quote(chosen.path)}:",
            *_damage(plan),
            *lost_lines(plan.lost_changes, dry_run=True),
            *asked.lines,
            *_gain(plan, dry_run=True),
        ]
        invocation.confirm(lines, "Repair it?")
        options = replace(options, suspects=frozenset(plan.packs))
    result = _run(invocation, chosen.path, options)
    return _finish(invocation, result, dry_run=arguments.dry_run)


def _run(invocation: Invocation, path: bytes, options: RepairOptions) -> RepairResult:
    with invocation.progress() as progress:
        on_lost = options.on_lost

        def tell(file: LostFile) -> None:
            progress.finish()  # or the first line would stand behind it
            if on_lost is not None:
                on_lost(file)

        return repair(
            path,
            replace(options, on_lost=tell),
            lock_wait_s=invocation.lock_wait_s,
            command_line=invocation.words,
            progress=progress,
        )


class _Lost:
    """Files that are lost, as they are told."""

    def __init__(self, invocation: Invocation, *, dry_run: bool, most: int = 0) -> None:
        self._invocation = invocation
        self._dry_run = dry_run
        self._most = most
        self._count = 0
        self._kept: list[str] = []

    def tell(self, file: LostFile) -> None:
        """Print it."""
        if self._invocation.json:
            self._invocation.emit("repair-lost/1", file, Mode(self._dry_run))
        else:
            self._invocation.out.line(_line(file))
        self._invocation.out.flush()  # it is given up next, and told by no other run

    def keep(self, file: LostFile) -> None:
        """Remember some for the question."""
        self._count += 1
        if self._count <= self._most:
            self._kept.append(_line(file))

    @property
    def lines(self) -> list[str]:
        """Those that were remembered, and how many there are besides."""
        more = self._count - len(self._kept)
        return [*self._kept, *([f"and {format_count(more, 'lost file')} more"] if more else [])]


def _line(file: LostFile) -> str:
    return f"lost: {file.root}: {quote(file.path)} in {', '.join(file.snapshots)}"


def _damage(result: RepairResult) -> list[str]:
    return [
        f"damage: {printable(one.where)}{place(one)}: {printable(one.what)}"
        for one in result.findings
    ]


def _gain(result: RepairResult, *, dry_run: bool) -> list[str]:
    """What becomes of it, a line each."""
    verb = "would be made again" if dry_run else "made again"
    lines = [
        f"{verb}: {what}"
        for what, wanted in (
            ("config", result.config),
            ("the catalog, from the journal", result.catalog),
            ("the journal, from the catalog", result.journal),
        )
        if wanted
    ]
    lines += [
        f"found {where}: {format_count(count, 'block')}"
        for where, count in (
            ("in the damaged packs themselves", result.sound_blocks),
            ("in other packs", result.found_blocks),
            ("in the directories", result.reread_blocks),
        )
        if count
    ]
    if result.lost_blocks:
        files = format_count(result.lost_files, "file")
        lines.append(f"lost: {format_count(result.lost_blocks, 'block')}, needed by {files}")
    return lines


def _finish(invocation: Invocation, result: RepairResult, *, dry_run: bool) -> int:
    code = Exit.DONE if result.whole else Exit.PARTIAL
    if invocation.json:
        invocation.emit("repair/1", result, Mode(dry_run))
        return code
    for line in _damage(result):
        invocation.out.line(line)
    for line in lost_lines(result.lost_changes, dry_run=dry_run):
        invocation.out.line(line)
    for finding in result.remaining:
        what = f"{printable(finding.where)}{place(finding)}: {printable(finding.what)}"
        invocation.out.line(f"remains: {what}")
    if not result.damaged:
        took = format_duration(result.duration_ns)
        invocation.say(f"nothing is damaged; nothing was done; {took}")
        return code
    for line in _gain(result, dry_run=dry_run):
        invocation.say(line)
    for name in result.set_aside:
        where = quote(os.path.join(result.path, os.fsencode(name)))
        invocation.say(f"would be moved out of the way: {name}" if dry_run else f"kept: {where}")
    return code


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("repair [-n] [-y]",),
    description="""\
Mends a damaged repository, after reading every byte of it. Config, catalog and journal are made from each
other, where one of them is lost or damaged. Of damaged packs all that can still be read goes into new ones. Of
what cannot, the bytes are looked for in other packs and in the directories on this machine, in every
file that ever had them; they are taken only where their digest is the same.

What is found nowhere is lost: the file stays in its snapshots with its name and attributes, as one that could
not be read; it is named by `diff`, `show` and `restore`, and `restore --delete` never removes it. Each such file
is printed with the snapshots in which it is lost, and the exit code is 3.

Changes that only a damaged part of the journal told of are lost where the catalog is lost as well. They are
counted, and the snapshots and roots that are lost with them are named as far as that can still be read; packs that
nothing else knows are moved to `quarantine`, where no `create` or `delete` takes them for leftovers. The exit code is
3 here too.

Nothing is removed: damaged files are moved to the folder `quarantine` of the repository, and a catalog that was
made again leaves the old one as `catalog.db.old`; both can be removed when all is well. A repair that is
interrupted is finished by the next.

It asks first, after it has found out what would be done, and not where nothing is damaged. Until something is to be changed others can work;
then they are kept out.""",
    examples=(
        Example("snapfs repair --dry-run", "what is damaged, what can be had again, what is lost"),
        Example("snapfs repair", "the same, then a question, then it is done"),
        Example("snapfs verify --data && echo sound", "see whether all is well now"),
    ),
    schemas=("repair-lost/1", "repair/1"),
)
