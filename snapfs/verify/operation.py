"""`verify`: the catalog against its rules and digests, the journal, and the packs.

Nothing is ever written. ``locks/gc`` is held shared, so that no pack goes while it is read; whatever
is made meanwhile by others is not looked at. What the next writer mends by itself (an unfinished
record, a temporary file, a pack of a run that was killed) is told and is no damage.
"""

from __future__ import annotations

from snapfs.progress import Progress
from snapfs.repository.config import NAME as CONFIG
from snapfs.repository.opened import Repository
from snapfs.repository.takeout import is_unfinished
from snapfs.verify.contents import check_contents
from snapfs.verify.journals import check_journal
from snapfs.verify.options import DamagedFile, VerifyOptions, VerifyResult
from snapfs.verify.packs import Pack, catalog_packs, check_packs, check_strangers
from snapfs.verify.report import Report
from snapfs.verify.rules import attempt, check_rules
from snapfs.verify.touched import MOST_FILES, damaged_files
from snapfs.verify.trees import check_trees


def verify(repository: Repository, options: VerifyOptions, *, progress: Progress) -> VerifyResult:
    """Check everything that can be checked; damage is a finding and ends nothing.

    Raises LockedError if blocks are being removed.
    """
    started_ns = repository.clock.now_ns()
    report = Report(progress)
    catalog = repository.catalog
    with repository.locks.hold_blocks(repository.lock_wait_s):
        listed = repository.backend.names("packs")
        packs: list[Pack] = []
        progress.phase("checking catalog")
        # One transaction: a rule is about one state.
        with attempt(catalog, report):
            _check_config(repository, report)
            check_rules(catalog, report)
            check_contents(catalog, report)
            check_trees(catalog, report)
            packs = catalog_packs(catalog)
        progress.phase("checking journal")
        check_journal(repository, report)
        progress.phase("checking packs", total_bytes=_bytes_to_read(packs, options))
        counts = check_packs(repository, report, packs, options.share)
        check_strangers(repository, report, listed)
        damaged: tuple[DamagedFile, ...] = ()
        with attempt(catalog, report):
            damaged, more = damaged_files(catalog, report.touched)
            if more:
                report.note(f"more than {MOST_FILES} files are damaged; not all are told")
    return VerifyResult(
        packs=counts.packs,
        segments=counts.segments,
        blocks=counts.blocks,
        read_bytes=report.read_bytes,
        findings=tuple(report.findings),
        damaged=damaged,
        duration_ns=repository.clock.now_ns() - started_ns,
        problems=report.problems,
    )


def _check_config(repository: Repository, report: Report) -> None:
    if is_unfinished(repository.catalog):
        report.note(
            "a purge is not finished: the repository's files may hold what it took out; the next purge, "
            "delete or create removes it"
        )
    if repository.config_damage is not None:
        report.add(CONFIG, f"{repository.config_damage.message}; run snapfs rebuild-catalog")
    elif repository.catalog.meta("id") != repository.id:
        report.add(CONFIG, "the id is not that of the catalog; run snapfs rebuild-catalog")


def _bytes_to_read(packs: list[Pack], options: VerifyOptions) -> int | None:
    return sum(pack.size for pack in packs) if options.data else None
