"""`rebuild_catalog`: the catalog from the journal and the packs alone.

The records of the newest journal file, the first of which is a full dump, go through the same code
that finishes a killed run, into a new database beside the old one. Only when that is complete and
durable does it take the old one's place, so that a rebuild that is killed has changed nothing.
Nobody else may be at work meanwhile: the lock ``catalog`` keeps writers out, ``gc`` readers of blocks.

What cannot be made again is said and counted: a journal that is damaged is used as far as it is
sound, and blocks whose packs are gone are marked as lost, so that whoever still has their bytes
stores them anew. The journal then begins anew with a dump of what there is. A catalog that is sound
and knows more than the journal is never replaced by less.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass

from snapfs import faults
from snapfs.blocks.packreader import PackReader
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.clock import Clock
from snapfs.errors import DamageError, NoRepositoryError, RepositoryError, SnapfsError
from snapfs.progress import Progress
from snapfs.repository import config as configs
from snapfs.repository.changes import set_tail, tail_of
from snapfs.repository.config import Config
from snapfs.repository.dump import dump_record
from snapfs.repository.journal import Journal, JournalTail
from snapfs.repository.journalfile import file_number, journal_key, read_repository_id
from snapfs.repository.locks import CATALOG_LOCK, GC, Locks
from snapfs.repository.lost import mark_lost
from snapfs.repository.opened import CATALOG, repository_at
from snapfs.repository.replay import PackDigests, apply
from snapfs.storage.contract import MissingObjectError, StorageError, is_temporary
from snapfs.storage.files import FileBackend

NEW = b"tmp-" + CATALOG
OLD = CATALOG + b".old"
SIDES = (b"", b"-wal", b"-shm", b"-journal")
"""A database and the files that SQLite keeps beside it."""
DAMAGED_PREFIX = "damaged-"
_COPY_BYTES = 1024 * 1024


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
    """things that are lost; each was told"""


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
    """How far the journal was sound."""

    records: int
    tail: JournalTail | None
    fault: str


def rebuild_catalog(
    path: bytes, *, lock_wait_s: float | None, progress: Progress
) -> RebuildResult:
    """Make ``catalog.db`` (and a lost or damaged ``config``) again.

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
        for name in (CATALOG_LOCK, GC):
            stack.enter_context(locks.hold(name, exclusive=True, wait_s=lock_wait_s))
        config = _config(folder)
        stack.callback(_remove, folder, NEW)
        return _rebuild(folder, config, clock, started_ns, progress)


def _open_folder(path: bytes, stack: ExitStack) -> _Folder:
    path = os.path.abspath(path)
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


# --- config ---------------------------------------------------------------------------------------


def _config(folder: _Folder) -> Config:
    """The config, made again if it is lost or says another id than journal and packs do."""
    config: Config | None = None
    with contextlib.suppress(MissingObjectError, DamageError):
        config = configs.read_config(folder.backend)
        configs.check(config, write=True)
    journal_ids = _journal_ids(folder)
    wanted = set(journal_ids) | ({config.id} if config else set())
    votes = Counter(journal_ids)
    if len(wanted) != 1:
        # Packs of another repository may have been copied in; they decide only what is open.
        votes.update(id_ for id_ in _pack_ids(folder) if not wanted or id_ in wanted)
        if not votes:
            raise RepositoryError(
                f"{folder.name} has neither a journal nor packs: there is nothing to make its "
                "catalog from",
                subject=folder.name,
            )
        wanted = {votes.most_common(1)[0][0]}
    (id_,) = wanted
    if config is None or config.id != id_:
        config = Config(configs.FORMAT, id_)
        configs.write_config(folder.backend, config)
    return config


def _journal_ids(folder: _Folder) -> list[bytes]:
    found = []
    for name in folder.backend.names("journal"):
        if file_number(name):
            with contextlib.suppress(DamageError, StorageError):
                found.append(read_repository_id(folder.backend, name))
    return found


def _pack_ids(folder: _Folder) -> list[bytes]:
    found = []
    for name in folder.backend.names("packs"):
        if not is_temporary(name):
            with (
                contextlib.suppress(SnapfsError),
                PackReader(folder.backend, name) as reader,
            ):
                found.append(reader.repository_id())
    return found


# --- catalog --------------------------------------------------------------------------------------


def _rebuild(
    folder: _Folder, config: Config, clock: Clock, started_ns: int, progress: Progress
) -> RebuildResult:
    log = Journal(folder.backend, config.id)
    catalog = _empty(folder, config)
    try:
        replayed = _replay(folder, log, catalog, progress)
        problems = 0
        kept = False
        old = _sound_old(folder, config, replayed)
        if replayed.fault or old is not None:
            problems += 1
            progress.note(_what_is_lost(replayed, sound=old is not None))
        if old is not None:
            catalog.close()
            catalog, kept = Catalog(folder.file(CATALOG), write=True), True
        elif replayed.records == 0 and (replayed.fault or _holds_packs(folder)):
            raise RepositoryError(
                f"the journal of {folder.name} is lost: the catalog cannot be made again",
                subject=folder.name,
            )
        progress.phase("looking for packs")
        lost = mark_lost(catalog, folder.backend, progress=progress)
        problems += bool(lost.blocks)
        if problems or lost.changed:
            _restart_journal(log, catalog, replayed, clock)
        elif replayed.tail is not None:
            log.truncate(replayed.tail)
        roots, snapshots, _, _, _, _, blocks = catalog.one(sql.TOTALS)
        result = RebuildResult(
            folder.path, snapshots, roots, blocks, replayed.records, lost.blocks,
            clock.now_ns() - started_ns, problems,
        )  # fmt: skip
        _record_run(catalog, clock, started_ns, result)
        catalog.checkpoint()
    finally:
        catalog.close()
    if not kept:
        faults.point("rebuild.replayed")
        _put_in_place(folder, keep_old=bool(problems))
    faults.point("rebuild.replaced")
    if problems:
        _set_aside(folder, log)
    return result


def _empty(folder: _Folder, config: Config) -> Catalog:
    _remove(folder, NEW)
    before = os.umask(0o077)
    try:
        Catalog.make(folder.file(NEW))
    finally:
        os.umask(before)
    if folder.owner is not None:
        os.chown(NEW, *folder.owner, dir_fd=folder.fd, follow_symlinks=False)
    catalog = Catalog(folder.file(NEW), write=True)
    with catalog.write():
        catalog.set_meta("id", config.id.hex())
    return catalog


def _replay(folder: _Folder, log: Journal, catalog: Catalog, progress: Progress) -> _Replayed:
    """Apply the newest file's records; an older file's only if the newest gives none at all."""
    progress.phase("replaying journal")
    records, fault = 0, ""
    tail: JournalTail | None = None
    with PackDigests(folder.backend) as digests_of:
        for name in reversed(log.files()):
            try:
                for record in log.records(name):
                    with catalog.write():
                        apply(catalog, record.pieces, digests_of)
                        set_tail(catalog, record.tail)
                    tail = record.tail
                    records += 1
                    progress.advance(entries=1)
            except DamageError as error:
                fault = fault or error.message
            if tail is not None:
                break
    return _Replayed(records, tail, fault)


def _sound_old(folder: _Folder, config: Config, replayed: _Replayed) -> JournalTail | None:
    """Where the old catalog stands in the journal, if it is sound and knows more than that."""
    try:
        old = Catalog(folder.file(CATALOG), write=False)
    except SnapfsError:
        return None
    try:
        with old.read():
            tail = tail_of(old)
            if tail is None or old.meta("id") != config.id.hex():
                return None
            known = 0 if replayed.tail is None else replayed.tail.seq
            return tail if tail.seq > known and not old.quick_check() else None
    except SnapfsError:
        return None
    finally:
        old.close()


def _holds_packs(folder: _Folder) -> bool:
    return any(not is_temporary(name) for name in folder.backend.names("packs"))


def _what_is_lost(replayed: _Replayed, *, sound: bool) -> str:
    what = replayed.fault or "the journal ends before the last change"
    if sound:
        return f"{what}; catalog.db is sound and knows more, so it stays and the journal begins anew"
    return f"{what}; every change after record {replayed.tail.seq if replayed.tail else 0} is lost"


def _restart_journal(log: Journal, catalog: Catalog, replayed: _Replayed, clock: Clock) -> None:
    """Go on with a dump of the catalog as it is now, whatever the journal said."""
    with catalog.write():
        after = tail_of(catalog) or replayed.tail
        set_tail(catalog, log.start_file(after, dump_record(catalog, clock.now_ns())))


def _record_run(
    catalog: Catalog, clock: Clock, started_ns: int, result: RebuildResult
) -> None:
    code = 3 if result.problems else 0
    summary = f"{result.snapshots} snapshots from {result.journal_records} records"
    with catalog.write():
        row = (
            catalog.take("run"), "snapfs rebuild-catalog", None, started_ns, clock.now_ns(),
            os.getuid(), code, summary,
        )  # fmt: skip
        catalog.execute(sql.PUT_RUN, row)


# --- files ----------------------------------------------------------------------------------------


def _remove(folder: _Folder, name: bytes) -> None:
    for suffix in SIDES:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name + suffix, dir_fd=folder.fd)


def _put_in_place(folder: _Folder, *, keep_old: bool) -> None:
    """Rename the new database over the old, which is taken away first with its -wal.

    SQLite would apply an old -wal to the new file. Killed in between there is no catalog, which
    every command says and a rebuild mends; never two halves that do not belong together.
    """
    fd = folder.fd
    with contextlib.suppress(FileNotFoundError):
        new = os.open(NEW, os.O_RDONLY | os.O_CLOEXEC, dir_fd=fd)
        try:
            os.fsync(new)
        finally:
            os.close(new)
    if keep_old:
        _remove(folder, OLD)
        for suffix in SIDES:
            with contextlib.suppress(FileNotFoundError):
                os.rename(CATALOG + suffix, OLD + suffix, src_dir_fd=fd, dst_dir_fd=fd)
    else:
        _remove(folder, CATALOG)
    os.rename(NEW, CATALOG, src_dir_fd=fd, dst_dir_fd=fd)
    os.fsync(fd)


def _set_aside(folder: _Folder, log: Journal) -> None:
    """Keep journal files that are no longer part of the chain under a name that says so."""
    for name in log.files()[:-1]:
        with (
            folder.backend.open_reader(journal_key(name)) as reader,
            folder.backend.create("journal", "journal") as writer,
        ):
            at = 0
            while data := reader.pread(at, _COPY_BYTES):
                writer.write(data)
                at += len(data)
            writer.commit(DAMAGED_PREFIX + name)
        folder.backend.remove(journal_key(name))
    folder.backend.sync("journal")
