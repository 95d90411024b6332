"""The journal: every byte of it, and whether it ends where the catalog says."""

from __future__ import annotations

from snapfs.errors import SnapfsError
from snapfs.repository.changes import journal, known_tail, only_first
from snapfs.repository.journal import Ahead, Behind, Clean, Damaged, JournalTail, TailState, Torn
from snapfs.repository.journalfile import JOURNAL_FOLDER, file_number, journal_key
from snapfs.repository.opened import Repository
from snapfs.storage.contract import is_temporary
from snapfs.verify.report import CATALOG, Report
from snapfs.verify.rules import attempt


def check_journal(repository: Repository, report: Report) -> None:
    """Check it; what the next writer mends by itself is a note."""
    log = journal(repository)
    tail = _tail(repository, report)
    failed: SnapfsError | None = None
    try:
        while True:
            state = log.verify_tail(tail)
            now = _tail(repository, report)
            if now == tail:
                break
            tail = now  # a change was made meanwhile
        first = tail is None and isinstance(state, Behind) and only_first(log)
        _tell(state, report, unfinished_first=first)
    except SnapfsError as error:
        failed = error
    before = report.problems
    _check_files(repository, report, tail)
    if failed is not None and report.problems == before:  # else it was told, with the place
        report.add(failed.subject or JOURNAL_FOLDER, failed.message)
    for name in repository.backend.names(JOURNAL_FOLDER):
        if is_temporary(name):
            report.note(f"{journal_key(name)} is unfinished")
        elif not file_number(name):
            report.note(f"{journal_key(name)} is no part of the journal")


def _tail(repository: Repository, report: Report) -> JournalTail | None:
    with attempt(repository.catalog, report):
        return known_tail(repository)
    return None


def _tell(state: TailState, report: Report, *, unfinished_first: bool) -> None:
    match state:
        case Clean():
            return
        case Torn(torn_bytes=size):
            report.note(f"the journal ends with {size} bytes of a change that was never finished")
        case Ahead(records=(_,)):
            report.note("the journal has a change that the next command will finish")
        case Ahead(records=records):
            what = f"older than the journal, which has {len(records)} more changes"
            report.add(CATALOG, f"{what}; run snapfs rebuild-catalog")
        case Behind() if unfinished_first:
            report.note("the journal has a first change that the next command will finish")
        case Behind(what=what):
            report.add(CATALOG, f"{what}; run snapfs rebuild-catalog")
        case Damaged(what=what):
            report.add(JOURNAL_FOLDER, what)


def _check_files(repository: Repository, report: Report, tail: JournalTail | None) -> None:
    for finding in journal(repository).check():
        key = journal_key(finding.file)
        if tail is not None and file_number(finding.file) < file_number(tail.file):
            report.note(f"{key}: {finding.what}; a newer file stands for it")
        elif tail is None or (finding.file, finding.offset) < (tail.file, tail.offset):
            report.add(key, finding.what, offset=finding.offset)
        # What is wrong behind the tail is a change that was never finished, which was told.
