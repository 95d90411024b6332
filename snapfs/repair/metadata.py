"""Config, catalog and journal: what of them is wrong, and how each is made from the others.

Two of the three are enough for the third. A config says what journal and packs say in their headers. A
catalog that breaks its rules or digests is made again from the journal. A journal with damage in it is begun
anew with a dump of the catalog, if that is sound and the journal has no change that it lacks. Where
catalog and journal are both damaged the rebuild gives what the journal has, or keeps what knows more.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from snapfs.errors import DamageError, RepositoryError, SnapfsError
from snapfs.progress import Progress
from snapfs.repository.beyond import LostChanges, untold_loss
from snapfs.repository.changes import begin_journal, heal, journal, known_tail
from snapfs.repository.config import NAME as CONFIG
from snapfs.repository.config import Config, write_config
from snapfs.repository.identity import find_config
from snapfs.repository.journal import Damaged, Journal, JournalTail
from snapfs.repository.journalfile import journal_key
from snapfs.repository.oldcatalog import OLD_CATALOG
from snapfs.repository.opened import CATALOG as CATALOG_FILE
from snapfs.repository.opened import Repository
from snapfs.repository.rebuild import rebuild_catalog
from snapfs.repository.setaside import QUARANTINE
from snapfs.storage.contract import Backend, ForeignObjectError, MissingObjectError
from snapfs.storage.files import FileBackend
from snapfs.verify import Finding
from snapfs.verify.contents import check_contents
from snapfs.verify.journals import check_journal
from snapfs.verify.report import CATALOG, Report
from snapfs.verify.rules import attempt, check_rules
from snapfs.verify.trees import check_trees


@dataclass(frozen=True, slots=True)
class Examined:
    """What config, catalog and journal are like."""

    config: Config
    """what the config should say"""
    findings: tuple[Finding, ...]
    bad_config: bool
    bad_catalog: bool
    bad_journal: bool
    """it has damage, and the catalog knows all that it told"""
    untold: LostChanges | None
    """what a repair that was killed had given up and told nobody"""

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong with them now."""
        return not (self.bad_config or self.bad_catalog or self.bad_journal)


def examine(path: bytes, *, lock_wait_s: float | None, progress: Progress) -> Examined:
    """Hold the three against their rules and each other, writing nothing.

    Raises RepositoryError for a newer format, or where nothing says which repository it is.
    """
    name = os.fsdecode(path)
    report = Report(progress)
    with FileBackend(path) as backend:
        config, sound = find_config(backend, name)
    if not sound:
        report.add(CONFIG, "it is missing, damaged, or not that of the journal and the packs")
    journal_counts = opened = False
    untold: LostChanges | None = None
    try:
        with Repository(path, write=False, lock_wait_s=lock_wait_s, config=config) as repository:
            opened = True
            untold = untold_loss(repository.catalog)
            check_catalog(repository, report)
            progress.phase("checking journal")
            check_journal(repository, report)
            journal_counts = _journal_counts(repository, report)
    except DamageError as error:
        report.add(CATALOG, error.message)
    except RepositoryError as error:
        if os.path.lexists(os.path.join(path, CATALOG_FILE)):
            raise
        report.add(CATALOG, error.message)
    if not opened:
        with FileBackend(path) as backend:
            _check_alone(Journal(backend, config.id), report)
    bad_catalog = journal_counts or any(one.where == CATALOG for one in report.findings)
    others = any(one.where not in (CATALOG, CONFIG) for one in report.findings)
    bad_journal = others and not bad_catalog
    return Examined(config, tuple(report.findings), not sound, bad_catalog, bad_journal, untold)


def _check_alone(log: Journal, report: Report) -> None:
    """What is wrong with the journal where there is no catalog to compare it with."""
    newest = log.files()[-1:]
    for finding in log.check():
        if finding.file in newest:  # it stands for the older ones
            report.add(journal_key(finding.file), finding.what, offset=finding.offset)


def check_catalog(repository: Repository, report: Report) -> None:
    """Hold the catalog against its rules and digests."""
    catalog = repository.catalog
    report.progress.phase("checking catalog")
    # One transaction: a rule is about one state.
    with attempt(catalog, report):
        if catalog.meta("id") != repository.id:
            report.add(CATALOG, "it is of another repository than the journal and the packs")
        check_rules(catalog, report)
        check_contents(catalog, report)
        check_trees(catalog, report)


def _journal_counts(repository: Repository, report: Report) -> bool:
    """Whether a journal that does not agree with the catalog has changes that the catalog lacks."""
    try:
        tail = known_tail(repository)
        log = journal(repository)
        if not _is_damaged(log, tail):
            return False
        return (tail is not None and log.is_of_another(tail)) or log.goes_beyond(tail)
    except SnapfsError:
        return any(one.where == CATALOG for one in report.findings)


def _is_damaged(log: Journal, tail: JournalTail | None) -> bool:
    """Whether nobody can go on writing where the catalog says, also because of a file header, or a folder of
    that name.
    """
    try:
        if tail is None:
            log.last_tail()
        return isinstance(log.verify_tail(tail), Damaged)
    except (DamageError, ForeignObjectError):
        return True


def mend(
    path: bytes, examined: Examined, *, lock_wait_s: float | None, progress: Progress
) -> tuple[list[str], LostChanges | None]:
    """Make right what is wrong with them; where what was in the way is now, and what changes are lost.

    Killed between any two steps, the next repair finds what is left to do.
    """
    aside: list[str] = []
    lost = examined.untold
    if examined.bad_config:
        with FileBackend(path, owner=_owner(path)) as backend:
            aside += _keep_config(backend)
            write_config(backend, examined.config)
    if examined.bad_catalog:
        before = _inode(path, CATALOG_FILE)
        made = rebuild_catalog(path, lock_wait_s=lock_wait_s, progress=progress, repairing=True)
        lost = made.lost or lost
        aside += made.set_aside
        if before is not None and _inode(path, OLD_CATALOG) == before:
            aside.append(os.fsdecode(OLD_CATALOG))
    elif examined.bad_journal:
        with Repository(path, write=True, lock_wait_s=lock_wait_s) as repository:
            aside += _begin_journal(repository)
    return aside, lost


def _inode(path: bytes, name: bytes) -> int | None:
    try:
        return os.lstat(os.path.join(path, name)).st_ino
    except FileNotFoundError:
        return None


def _owner(path: bytes) -> tuple[int, int] | None:
    st = os.stat(path)
    return (st.st_uid, st.st_gid) if os.geteuid() == 0 and st.st_uid != 0 else None


def _keep_config(backend: Backend) -> list[str]:
    """Move what lies there out of the way; a repository without config is known by all else in it."""
    try:
        return [backend.set_aside(CONFIG, QUARANTINE)]
    except MissingObjectError:
        return []


def _begin_journal(repository: Repository) -> list[str]:
    log = journal(repository)
    if not _is_damaged(log, known_tail(repository)):
        heal(repository)  # a change that was never finished, behind the damage
    with repository.catalog.write() as catalog:
        begin_journal(log, catalog, known_tail(repository), repository.clock.now_ns())
    return [
        repository.backend.set_aside(journal_key(name), QUARANTINE) for name in log.files()[:-1]
    ]
