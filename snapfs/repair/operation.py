"""`repair`: put right what is damaged, as far as the bytes can be had, and say what is lost.

First config, catalog and journal are made sound (`repair.metadata`), since they say what should be there.
Then every byte of the packs is read. Of a pack in which anything is wrong all blocks that are still sound
go into a new pack, with those that are found elsewhere; the old one is moved out of the way and kept. What is
found nowhere is lost (`catalog.losing`).

Others may work while the packs are read; what was found is looked at again before anything is changed, with
everybody else kept out. Nothing is ever removed, and a repair that is killed is finished by the next.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack

from snapfs.clock import Clock
from snapfs.errors import RepositoryError
from snapfs.model.units import format_count
from snapfs.progress import Progress
from snapfs.repair.metadata import Examined, check_catalog, examine, mend
from snapfs.repair.options import RepairOptions, RepairResult
from snapfs.repair.packs import NOTHING, Mended, mend_packs, rehearse_packs
from snapfs.repository.beyond import LostChanges, keep_untold
from snapfs.repository.changes import heal
from snapfs.repository.opened import Repository
from snapfs.repository.rebuild import Rehearsed, rehearse_catalog
from snapfs.repository.runs import recorded
from snapfs.storage.contract import MissingObjectError, StorageError
from snapfs.verify import Finding
from snapfs.verify.packs import catalog_packs, check_packs
from snapfs.verify.report import Report


def repair(
    path: bytes,
    options: RepairOptions,
    *,
    lock_wait_s: float | None,
    command_line: Sequence[bytes] = (),
    progress: Progress,
) -> RepairResult:
    """Repair the repository at ``path``.

    Raises NoRepositoryError, LockedError, RepositoryError (a newer format; neither catalog nor journal can be
    used; packs that are there and may not be read), StorageFullError: then nothing is lost that was not.
    """
    clock = Clock()
    started_ns = clock.now_ns()
    examined = examine(path, lock_wait_s=lock_wait_s, progress=progress)
    aside: list[str] = []
    remaining: tuple[Finding, ...] = ()
    lost = examined.untold
    with ExitStack() as stack:
        if options.dry_run:
            repository, planned, remaining = _as_it_would_be(
                path, examined, lock_wait_s, progress, stack
            )
            if planned is not None:
                aside, lost = list(planned.set_aside), planned.lost or lost
        else:
            if not examined.sound:
                aside, lost = mend(path, examined, lock_wait_s=lock_wait_s, progress=progress)
                remaining = examine(path, lock_wait_s=lock_wait_s, progress=progress).findings
            repository = stack.enter_context(
                Repository(path, write=True, lock_wait_s=lock_wait_s, command_line=command_line)
            )
            if os.path.isdir(os.path.join(repository.path, b"packs")):
                # A change that was never finished is no damage, and readers lack it.
                heal(repository)
        report = Report(progress)
        for finding in examined.findings:
            report.take(finding)
        suspects = _suspects(repository, options, report)
        if options.dry_run:
            mended = rehearse_packs(repository, suspects, options, progress=progress)
        else:
            with recorded(repository) as note:
                mended = mend_packs(repository, suspects, options, progress=progress)
                note.silent = examined.sound and mended == NOTHING and lost is None
                note.summary = _summary(examined, mended, lost)
                note.exit = 3 if mended.lost_files or lost or remaining else 0
            if lost is not None:
                with repository.catalog.write() as catalog:
                    keep_untold(catalog, None)
        return RepairResult(
            path=path,
            findings=tuple(report.findings),
            config=examined.bad_config,
            catalog=examined.bad_catalog,
            journal=examined.bad_journal,
            packs=mended.packs,
            set_aside=tuple(dict.fromkeys((*aside, *mended.set_aside))),
            sound_blocks=mended.sound_blocks,
            found_blocks=mended.found_blocks,
            reread_blocks=mended.reread_blocks,
            lost_blocks=mended.lost_blocks,
            lost_files=mended.lost_files,
            incomplete=mended.incomplete,
            lost_changes=lost,
            remaining=remaining,
            read_bytes=report.read_bytes,
            duration_ns=clock.now_ns() - started_ns,
        )


def _as_it_would_be(
    path: bytes,
    examined: Examined,
    lock_wait_s: float | None,
    progress: Progress,
    stack: ExitStack,
) -> tuple[Repository, Rehearsed | None, tuple[Finding, ...]]:
    """The repository with the catalog that it would have, how that is made, and what would be wrong with it."""
    into: bytes | None = None
    planned: Rehearsed | None = None
    if examined.bad_catalog:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="snapfs-repair-"))
        made = os.path.join(os.fsencode(folder), b"catalog.db")
        planned = rehearse_catalog(path, examined.config, made, progress=progress)
        into = made
    repository = stack.enter_context(
        Repository(path, write=False, lock_wait_s=lock_wait_s, config=examined.config, catalog=into)
    )
    report = Report(progress)
    if examined.bad_catalog:
        check_catalog(repository, report)
    return repository, planned, tuple(report.findings)


def _suspects(repository: Repository, options: RepairOptions, report: Report) -> frozenset[str]:
    """Names of the packs in which anything is wrong."""
    wait_s = repository.lock_wait_s
    with repository.locks.hold_blocks(wait_s):
        packs = catalog_packs(repository.catalog)
        _require_packs(repository, [pack.name for pack in packs])
        if options.suspects is not None:
            packs = [pack for pack in packs if pack.name in options.suspects]
        report.progress.phase("checking packs", total_bytes=sum(pack.size for pack in packs))
        check_packs(repository, report, packs, 1.0)
    return frozenset(report.touched.broken)


def _require_packs(repository: Repository, names: Sequence[str]) -> None:
    """Raises RepositoryError where packs are out of reach: that is no damage, and nothing is to be lost by it."""
    if names and not os.path.isdir(os.path.join(repository.path, b"packs")):
        raise RepositoryError(
            f"the folder packs of {repository.name} is missing",
            subject=repository.name,
            hint="is its disk mounted? make an empty one if it is lost, and run repair again",
        )
    for name in names:
        try:
            repository.backend.open_reader(f"packs/{name}").close()
        except MissingObjectError:
            continue
        except StorageError as error:
            if isinstance(error.__cause__, OSError):
                raise


def _summary(examined: Examined, mended: Mended, lost: LostChanges | None) -> str:
    parts = [
        f"{word} made again"
        for word, bad in (
            ("config", examined.bad_config),
            ("catalog", examined.bad_catalog),
            ("journal", examined.bad_journal),
        )
        if bad
    ]
    if lost is not None:
        parts.append(f"{format_count(lost.records, 'change')} lost with the journal")
    found = mended.found_blocks + mended.reread_blocks
    parts.append(
        f"{format_count(len(mended.packs), 'pack')} damaged, "
        f"{format_count(found, 'block')} found again, {mended.lost_blocks:,} lost"
    )
    return "; ".join(parts)
