"""`rebuild_catalog`: the catalog from the journal and the packs alone.

The records of the newest journal file, the first of which is a full dump, go through the same code
that finishes a killed run, into a new database beside the old one. Only when that is complete and
durable does it take the old one's place, so that a rebuild that is killed has changed nothing.
Nobody else may be at work meanwhile: the lock ``catalog`` keeps writers out, ``gc`` readers of blocks.

What cannot be made again is said and counted: a journal that is damaged is used as far as it is
sound, and blocks whose packs are gone are marked as lost, so that whoever still has their bytes
stores them anew. The journal then begins anew with a dump of what there is. A catalog that is sound
and knows more than the journal is never replaced by less.

Changes that are lost with a part of the journal are in that dump's header (`repository.beyond`), the
damaged files and the packs that only these changes knew go to quarantine, and only then the new catalog
is put in place: killed anywhere before, the next rebuild tells the same.
"""

from __future__ import annotations

import contextlib
import os
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace

from snapfs import faults
from snapfs.blocks.pack import pack_key
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.clock import Clock
from snapfs.errors import DamageError, NoRepositoryError, RepositoryError
from snapfs.model.units import format_count
from snapfs.progress import Progress
from snapfs.repository.beyond import LostChanges, find_lost_changes, keep_untold, unfinished_loss
from snapfs.repository.changes import begin_journal, set_tail, tail_of
from snapfs.repository.config import Config
from snapfs.repository.identity import restore_config
from snapfs.repository.journal import Damaged, Journal, JournalTail, Torn
from snapfs.repository.journalfile import journal_key, read_repository_id
from snapfs.repository.locks import CATALOG_LOCK, GC, Locks
from snapfs.repository.lost import Lost, mark_lost
from snapfs.repository.oldcatalog import (
    FILES,
    NEW_CATALOG,
    OLD_CATALOG,
    carry_runs,
    catch_up,
    remove_database,
    sound_tail,
    untold_loss_at,
)
from snapfs.repository.opened import CATALOG, repository_at
from snapfs.repository.replay import PackDigests, apply
from snapfs.repository.setaside import QUARANTINE, set_aside_packs, unknown_packs
from snapfs.storage.contract import is_temporary
from snapfs.storage.files import FileBackend
from snapfs.storage.path import absolute


@dataclass(frozen=True, slots=True)
class RebuildResult:
    """What was made again."""

    path: bytes
    """the repository"""
    snapshots: int
    """snapshots there are now"""
    roots: int
    """roots there are now"""
    blocks: int
    """blocks there are now"""
    journal_records: int
    """records of the journal that were used"""
    missing_blocks: int
    """blocks that a snapshot needs and no pack has"""
    duration_ns: int
    """time it took"""
    problems: int
    """things that are lost, or that were damaged"""
    lost: LostChanges | None
    """changes that only the damaged part of the journal told of"""
    set_aside: tuple[str, ...]
    """files that were moved out of the way, by their place in the repository now"""


@dataclass(frozen=True, slots=True)
class _Folder:
    """The repository's folder, open."""

    path: bytes
    name: str
    fd: int
    owner: tuple[int, int] | None
    backend: FileBackend

    def file(self, name: bytes) -> bytes:
        return os.path.join(self.path, name)


@dataclass(frozen=True, slots=True)
class _Replayed:
    """How far the journal was sound: ``fault`` says what is damaged, ``lost`` whether that costs records."""

    records: int
    tail: JournalTail | None
    fault: str
    lost: bool

    @property
    def seq(self) -> int:
        """Number of the last record that was used."""
        return 0 if self.tail is None else self.tail.seq


def rebuild_catalog(
    path: bytes, *, lock_wait_s: float | None, progress: Progress, repairing: bool = False
) -> RebuildResult:
    """Make ``catalog.db`` (and a lost or damaged ``config``) again.

    ``repairing``: the caller looks for missing blocks itself, and for what the old catalog said of them,
    which stays beside the new one; no block is marked as lost, and the caller forgets what it has told
    (`beyond.keep_untold`).

    Raises NoRepositoryError, LockedError (another snapfs is at work), RepositoryError (nothing to
    make it from; a newer format), StorageFullError.
    """
    clock = Clock()
    started_ns = clock.now_ns()
    with ExitStack() as stack:
        folder = _open_folder(path, stack)
        with contextlib.suppress(FileExistsError):
            os.mkdir("locks", 0o700, dir_fd=folder.fd)
        locks = Locks(folder.fd, folder.owner, write=True)
        locks.describe = lambda _: f"the repository {folder.name}"
        for name in (CATALOG_LOCK, GC):
            stack.enter_context(locks.hold(name, exclusive=True, wait_s=lock_wait_s))
        config = restore_config(folder.backend, folder.name)
        stack.callback(remove_database, NEW_CATALOG, folder.fd)
        return _rebuild(folder, config, clock, started_ns, progress, repairing)


def _open_folder(path: bytes, stack: ExitStack) -> _Folder:
    path = absolute(path)
    name = os.fsdecode(path)
    if not repository_at(path):
        raise NoRepositoryError(f"no repository at {name}", subject=name)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise RepositoryError(
            f"repository {name} cannot be opened: {error.strerror}", subject=name
        ) from error
    stack.callback(os.close, fd)
    st = os.fstat(fd)
    owner = (st.st_uid, st.st_gid) if os.geteuid() == 0 and st.st_uid != 0 else None
    backend = stack.enter_context(FileBackend(fd, owner=owner))
    return _Folder(path, name, fd, owner, backend)


# --- catalog --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What a rebuild would do."""

    lost: LostChanges | None
    """changes that would be lost"""
    set_aside: tuple[str, ...]
    """files that would be moved out of the way"""


def rehearse_catalog(path: bytes, config: Config, into: bytes, *, progress: Progress) -> Rehearsed:
    """Make the catalog that there would be after a rebuild, as the file ``into``, which must not exist.

    Writes nothing into the repository.
    Raises RepositoryError if there is nothing to make it from.
    """
    with ExitStack() as stack:
        folder = _open_folder(path, stack)
        log = Journal(folder.backend, config.id)
        catalog = _empty(into, config)
        try:
            replayed = _replay(folder, log, catalog, progress)
            old = sound_tail(folder.file(CATALOG), config.id)
            kept = old is not None and old.seq > replayed.seq
            if old is not None and kept:
                with closing(Catalog(folder.file(CATALOG), write=False)) as staying:
                    staying.copy_to(catalog)
                old = catch_up(log, folder.backend, catalog, old)
            else:
                _require_something(folder, replayed)
            catalog.checkpoint()
            lost = _find_loss(folder, config, log, catalog, replayed, old)
            if lost is None and (kept or replayed.fault):
                progress.note(_what_is_damaged(replayed, kept=kept))
            aside = [] if lost is None else [pack_key(name) for name in lost.packs]
            if lost is not None or kept or replayed.fault:
                aside += [journal_key(name) for name in log.files()]
        finally:
            catalog.close()
    return Rehearsed(lost, tuple(aside))


def _require_something(folder: _Folder, replayed: _Replayed) -> None:
    """Raises RepositoryError rather than give an empty catalog for one that knew of something."""
    if replayed.records == 0 and (replayed.fault or _holds_packs(folder)):
        raise RepositoryError(
            f"the journal of {folder.name} is lost: the catalog cannot be made again",
            subject=folder.name,
            hint="put back catalog.db or the folder journal of any copy: the packs have the bytes still",
        )


def _rebuild(
    folder: _Folder,
    config: Config,
    clock: Clock,
    started_ns: int,
    progress: Progress,
    repairing: bool,
) -> RebuildResult:
    log = Journal(folder.backend, config.id)
    remove_database(NEW_CATALOG, folder.fd)
    catalog = _empty(folder.file(NEW_CATALOG), config)
    if folder.owner is not None:
        os.chown(NEW_CATALOG, *folder.owner, dir_fd=folder.fd, follow_symlinks=False)
    try:
        replayed = _replay(folder, log, catalog, progress)
        old = sound_tail(folder.file(CATALOG), config.id)
        kept = old is not None and old.seq > replayed.seq
        strays = (
            old is not None
            and not (kept or replayed.fault)
            and isinstance(log.verify_tail(old), Damaged)
        )
        if strays:
            progress.note(
                f"the old catalog knew another change {replayed.seq} than the journal: it is kept as "
                f"{os.fsdecode(OLD_CATALOG)}"
            )
        if old is not None and kept:
            catalog.close()
            catalog = Catalog(folder.file(CATALOG), write=True)
            old = catch_up(log, folder.backend, catalog, old)
        else:
            _require_something(folder, replayed)
        lost = _find_loss(folder, config, log, catalog, replayed, old)
        broken = kept or bool(replayed.fault) or lost is not None
        if broken and lost is None:
            progress.note(_what_is_damaged(replayed, kept=kept))
        missing = Lost(0, any=False)
        if not repairing:
            progress.phase("looking for packs")
            missing = mark_lost(catalog, folder.backend, progress=progress)
        tail, aside = replayed.tail, []
        if broken or missing.any:
            with catalog.write():
                after = tail_of(catalog) or replayed.tail
                told = None if lost is None else lost.to_json()
                tail = begin_journal(log, catalog, after, clock.now_ns(), told)
                keep_untold(catalog, lost)
                faults.point("rebuild.journal-begun")
                if broken:
                    aside = _set_aside(folder, log, lost)
        elif tail is not None:
            log.truncate(tail)
        roots, snapshots, _, _, _, _, blocks = catalog.one(sql.TOTALS)
        result = RebuildResult(
            folder.path, snapshots, roots, blocks, replayed.records, missing.needed,
            clock.now_ns() - started_ns, int(broken) + bool(missing.needed), lost, tuple(aside),
        )  # fmt: skip
        if not kept:
            carry_runs(folder.file(CATALOG), catalog)
        _record_run(catalog, clock, started_ns, result)
        catalog.checkpoint()
    finally:
        catalog.close()
    if not kept:
        faults.point("rebuild.replayed")
        _put_in_place(folder, keep_old=broken or strays or repairing)
    faults.point("rebuild.replaced")
    if tail is not None:
        log.remove_older(tail)
    if lost is not None and not repairing:
        with closing(Catalog(folder.file(CATALOG), write=True)) as told_now, told_now.write():
            keep_untold(told_now, None)
    return result


def _empty(path: bytes, config: Config) -> Catalog:
    before = os.umask(0o077)
    try:
        Catalog.make(path)
    finally:
        os.umask(before)
    # Synced when it is complete: a commit for each record would wait for the disk each time.
    catalog = Catalog(path, write=True, durable=False)
    with catalog.write():
        catalog.set_meta("id", config.id.hex())
    return catalog


def _replay(folder: _Folder, log: Journal, catalog: Catalog, progress: Progress) -> _Replayed:
    """Apply the newest file's records; an older file's only if the newest gives none at all."""
    progress.phase("replaying journal")
    records, fault, lost = 0, "", False
    tail: JournalTail | None = None
    with PackDigests(folder.backend) as digests_of:
        for name in reversed(log.files()):
            try:
                read_repository_id(folder.backend, name)
            except DamageError as error:
                fault = fault or error.message
            try:
                for record in log.records(name, headless=True):
                    with catalog.write():
                        apply(catalog, record.pieces, digests_of)
                        set_tail(catalog, record.tail)
                    tail = record.tail
                    records += 1
                    progress.advance(entries=1)
            except DamageError as error:
                fault, lost = error.message, True
            if tail is not None:
                break
    return _Replayed(records, tail, fault, lost)


def _holds_packs(folder: _Folder) -> bool:
    return any(not is_temporary(name) for name in folder.backend.names("packs"))


def _what_is_damaged(replayed: _Replayed, *, kept: bool) -> str:
    what = replayed.fault or "the journal ends before the last change"
    if kept:
        return f"{what}; catalog.db knows more and stays"
    return f"{what}; no change is lost"


def _find_loss(
    folder: _Folder,
    config: Config,
    log: Journal,
    catalog: Catalog,
    replayed: _Replayed,
    old: JournalTail | None,
) -> LostChanges | None:
    """What the journal told of and ``catalog``, the one to be used, has not; ``old`` as in `sound_tail`."""
    tail = replayed.tail
    vouched = old is not None and old.seq >= replayed.seq
    if vouched and old is not None:
        tail = old
    if tail is None:
        return None
    torn = 0
    if not (vouched or replayed.fault):
        # Nobody knows whether that record was ever announced, but a catalog which says that none was.
        state = log.verify_tail(tail)
        torn = state.torn_bytes if isinstance(state, Torn) else 0
    if torn:
        what = f"the journal ends with {torn} bytes of an unfinished record"
    else:
        what = replayed.fault or "the journal ends before the last change"
    lost = untold_loss_at(folder.file(CATALOG)) if vouched else unfinished_loss(log, tail)
    if lost is None:
        least = int(bool(torn) or (replayed.lost and not vouched))
        lost = find_lost_changes(log, catalog, tail, what, certain=not torn, least=least)
    if lost is None:
        return None
    unknown = unknown_packs(folder.backend, catalog, config.id)
    return replace(lost, packs=tuple(sorted({*lost.packs, *unknown})))


def _record_run(catalog: Catalog, clock: Clock, started_ns: int, result: RebuildResult) -> None:
    code = 3 if result.problems else 0
    summary = (
        f"{format_count(result.snapshots, 'snapshot')} from "
        f"{format_count(result.journal_records, 'record')}"
    )
    if result.lost is not None:
        summary += f"; {format_count(result.lost.records, 'change')} lost: {result.lost.what}"
    with catalog.write():
        row = (
            catalog.take("run"), "rebuild-catalog", None, started_ns, clock.now_ns(),
            os.getuid(), code, summary,
        )  # fmt: skip
        catalog.execute(sql.PUT_RUN, row)


# --- files ----------------------------------------------------------------------------------------


def _put_in_place(folder: _Folder, *, keep_old: bool) -> None:
    """Rename the new database over the old, which is taken away first with its -wal.

    SQLite would apply an old -wal to the new file. Killed in between there is no catalog, which
    every command says and a rebuild mends; never two halves that do not belong together.
    """
    fd = folder.fd
    with contextlib.suppress(FileNotFoundError):
        new = os.open(NEW_CATALOG, os.O_RDONLY | os.O_CLOEXEC, dir_fd=fd)
        try:
            os.fsync(new)
        finally:
            os.close(new)
    if not os.path.lexists(folder.file(CATALOG)):
        remove_database(CATALOG, folder.fd)  # its -wal; an older one that was kept stays
    elif keep_old:
        remove_database(OLD_CATALOG, folder.fd)
        for suffix in FILES:
            with contextlib.suppress(FileNotFoundError):
                os.rename(CATALOG + suffix, OLD_CATALOG + suffix, src_dir_fd=fd, dst_dir_fd=fd)
    else:
        remove_database(CATALOG, folder.fd)
    os.rename(NEW_CATALOG, CATALOG, src_dir_fd=fd, dst_dir_fd=fd)
    os.fsync(fd)


def _set_aside(folder: _Folder, log: Journal, lost: LostChanges | None) -> list[str]:
    """Move what only lost changes knew, and all but the newest file of the journal; where they are now.

    The packs are no longer known to anything: whoever took them in would sooner or later free them.
    """
    backend = folder.backend
    there = set(backend.names("packs"))
    aside = (
        [] if lost is None else set_aside_packs(backend, [*filter(there.__contains__, lost.packs)])
    )
    faults.point("rebuild.packs-moved")
    return aside + [backend.set_aside(journal_key(name), QUARANTINE) for name in log.files()[:-1]]
