"""`purge`: take paths out of all snapshots of a root and remove their bytes from every file.

Order: packs with what lives on are durable, the record is durable, the transaction commits with a mark
that says what is still to be done; then the journal begins anew with a dump, old packs go, the catalog is
written anew and its log cut (`reclaim.purged`). Killed before the commit, nothing happened but that
packs lie there which nothing knows; killed after it, no state has the path any more, and the next run that
can finishes the rest. The plan is the very same statements, rolled back.

Not only packs that hold blocks of these paths are written anew but all with dead bytes: an older version
of the file may have gone with a deleted snapshot, and of such bytes nobody knows any more whose they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

from snapfs import faults
from snapfs.catalog import compiled as sql
from snapfs.catalog.commit import RowBlock
from snapfs.catalog.cut import prepare
from snapfs.catalog.fold import collect
from snapfs.errors import DamageError, SnapfsError, StorageFullError
from snapfs.model.snapshot import Root
from snapfs.model.units import format_count
from snapfs.progress import NullProgress, Progress
from snapfs.purge.mentions import mentions
from snapfs.purge.options import PurgeOptions, PurgeResult
from snapfs.purge.selection import Selection, aliases, elsewhere, outermost, select
from snapfs.reclaim.packs import collect_pending
from snapfs.reclaim.purged import finish_purge
from snapfs.reclaim.rewrite import Rewriter, Rewritten, packs_with_dead, record_blocks
from snapfs.repository.changes import change, heal, journal, known_tail
from snapfs.repository.journal import Clean
from snapfs.repository.locks import GC, root_lock
from snapfs.repository.opened import Repository
from snapfs.repository.reserve import give_up_reserve, make_reserve
from snapfs.repository.runs import recorded
from snapfs.repository.scrub import scrubber, texts_without
from snapfs.repository.takeout import (
    PROBLEM_TYPES,
    RUN_TYPES,
    TEXT_TYPES,
    Texts,
    drop_problems,
    is_unfinished,
    put_runs,
    put_texts,
    take_out,
)
from snapfs.tree.history import chain_of


class _RolledBackError(Exception):
    """Ends a transaction that was only a question."""


def plan_purge(
    repository: Repository, root: Root, paths: Sequence[bytes], options: PurgeOptions
) -> PurgeResult:
    """Say what a purge of these paths from the root would do. Raises as `purge`."""
    started_ns = repository.clock.now_ns()
    wanted = outermost(paths)
    options, _ = _with_earlier(repository, options)
    work = _Work(repository, root, wanted, options, NullProgress())
    with suppress(_RolledBackError), repository.catalog.write():
        work.take_out()
        found = packs_with_dead(repository.catalog)
        work.result = replace(
            work.result,
            packs_rewritten=len(found),
            freed_bytes=work.result.freed_bytes + sum(pack.dead_bytes for pack in found),
        )
        raise _RolledBackError
    return replace(work.result, duration_ns=repository.clock.now_ns() - started_ns)


def check_purge(
    repository: Repository, root: Root, paths: Sequence[bytes], options: PurgeOptions
) -> None:
    """Raise what a purge would raise about what it is asked for, without working it out."""
    options, _ = _with_earlier(repository, options)
    _Work(repository, root, outermost(paths), options, NullProgress()).check()


def _with_earlier(repository: Repository, options: PurgeOptions) -> tuple[PurgeOptions, bool]:
    """If an earlier purge was killed, what it is asked to finish may be these very paths; whether it was.

    Nobody can tell: their names are gone. So no path need be there then.
    """
    if not options.dry_run:
        heal(repository)
    if not is_unfinished(repository.catalog):
        return options, False
    return replace(options, deleted=True), True


def purge(
    repository: Repository,
    root: Root,
    paths: Sequence[bytes],
    options: PurgeOptions,
    *,
    progress: Progress,
) -> PurgeResult:
    """Drop paths, given from the root, from all snapshots of it, and finish an earlier purge that was killed.

    Raises UsageError for the root itself, NotFoundError for a path that no snapshot has, LockedError if
    blocks are being read, DamageError if blocks are known to be lost. A full disk leaves all as it was; the
    reserve is given up first.
    """
    if options.dry_run:
        return plan_purge(repository, root, paths, options)
    started_ns = repository.clock.now_ns()
    options, finishes = _with_earlier(repository, options)
    work = _Work(repository, root, outermost(paths), options, progress)
    work.check()  # before anything is written down: the message has the path in it
    with recorded(repository, root.id) as note:
        note.begin()
        try:
            result = work.run()
        except StorageFullError:
            if not give_up_reserve(repository.fd):
                raise
            result = work.run()
        make_reserve(repository.fd, repository.handed)
        if finishes:
            progress.note("an earlier purge was not finished: what it had left was done as well")
        note.exit = 3 if result.remaining else 0
        note.summary = (
            f"{format_count(result.entries, 'entry', 'entries')} purged from "
            f"{format_count(len(result.snapshots), 'snapshot')}, "
            f"{_gain(result.freed_bytes)}"
        )
    return replace(result, duration_ns=repository.clock.now_ns() - started_ns)


class _Work:
    """One purge. ``result`` grows as it goes on."""

    def __init__(
        self,
        repository: Repository,
        root: Root,
        paths: tuple[bytes, ...],
        options: PurgeOptions,
        progress: Progress,
    ) -> None:
        self._repository = repository
        self._root = root
        self._paths = paths
        self._options = options
        self._progress = progress
        self.result = PurgeResult(root, paths, (), (), 0, (), (), 0, 0, 0, 0, (), 0, 0)

    def check(self) -> None:
        """Raise NotFoundError if nothing is meant."""
        with self._repository.catalog.read():
            self._select()

    def run(self) -> PurgeResult:
        """All of it."""
        repository = self._repository
        with ExitStack() as stack:
            for lock in (root_lock(self._root.id), GC):
                stack.enter_context(
                    repository.locks.hold(lock, exclusive=True, wait_s=repository.lock_wait_s)
                )
            faults.point("purge.locked")
            heal(repository)
            earlier = collect_pending(repository)
            self._progress.phase("taking out")
            self._commit()
            with self._told_if_stopped():
                faults.point("purge.committed")
                left = finish_purge(
                    repository, wait_s=repository.lock_wait_s, progress=self._progress
                )
        damaged = (f"pack {name}: it is damaged; run snapfs repair" for name in self._damaged)
        remaining = [*self.result.remaining, *damaged, *left]
        return replace(
            self.result,
            freed_bytes=self.result.freed_bytes + earlier.freed_bytes,
            remaining=tuple(remaining),
            problems=len(remaining),
        )

    @contextmanager
    def _told_if_stopped(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._progress.note(
                "no snapshot has it any more, but bytes of it are left: run the purge again to finish it"
            )
            raise

    def _commit(self) -> None:
        repository, catalog = self._repository, self._repository.catalog
        rewriter = Rewriter(repository, f"root-{self._root.id}-purge", progress=self._progress)
        with _given_back(repository, rewriter.done), change(repository, command="purge") as made:
            selection, texts = self.take_out()
            done = rewriter.run()
            freed, _, _ = collect(catalog)
            faults.point("purge.packs-durable")
            made.record(
                "purge",
                {"root": self._root.id, "targets": [list(one) for one in selection.targets]},
                _blocks(repository, done, texts),
            )
        self._damaged = tuple(done.damaged)
        self.result = replace(
            self.result,
            packs_rewritten=done.old_packs,
            freed_bytes=self.result.freed_bytes + freed - sum(size for *_, size in done.packs),
        )

    def take_out(self) -> tuple[Selection, Texts]:
        """Change the catalog's rows, inside a write."""
        catalog = self._repository.catalog
        catalog.stage_tables()
        prepare(catalog)
        chain = chain_of(catalog, self._root.id)
        selection = self._select()
        take_out(catalog, self._root.id, selection.targets)
        scrub = scrubber(catalog, self._root.path, self._paths)
        texts = texts_without(catalog, self._root.id, self._paths, scrub)
        put_runs(catalog, texts.runs)
        put_texts(catalog, texts.snapshots)
        drop_problems(catalog, texts.problems)
        positions = sorted({at for span in selection.spans for at in range(*span)})
        had = [] if chain is None else [chain.snapshots[at] for at in positions]
        also_known = () if chain is None else aliases(catalog, chain)
        shared = catalog.value(sql.CUT_SHARED)
        freed, _, _ = collect(catalog)
        self.result = replace(
            self.result,
            snapshots=tuple(one.name for one in had),
            pinned=tuple(one.name for one in had if one.pinned),
            entries=catalog.value(sql.CUT_ENTRIES),
            also_known=also_known,
            also_in=elsewhere(catalog, self._root, self._paths),
            shared_contents=shared,
            texts=len(texts.runs) + len(texts.snapshots),
            remaining=tuple(mentions(catalog, self._root.id, self._paths, scrub)),
            freed_bytes=freed,
        )
        return selection, texts

    def _select(self) -> Selection:
        catalog = self._repository.catalog
        if catalog.one(sql.MISSING_BLOCKS) is not None:
            # Digests of directories could not be made anew: they cover those of files that nobody has.
            raise DamageError(
                "files are lost with their blocks, and that is not settled yet",
                subject=self._repository.name,
                hint="run snapfs repair, then purge",
            )
        chain = chain_of(catalog, self._root.id)
        deleted = self._options.deleted
        return select(catalog, self._root, chain, self._paths, deleted=deleted)


def _gain(freed: int) -> str:
    return f"{freed} bytes freed" if freed >= 0 else f"0 bytes freed, {-freed} more used"


def _blocks(repository: Repository, done: Rewritten, texts: Texts) -> Iterator[RowBlock]:
    yield from record_blocks(repository.catalog, done)
    yield "run", RUN_TYPES, iter([list(texts.runs)])
    yield "text", TEXT_TYPES, iter([list(texts.snapshots)])
    yield "problem", PROBLEM_TYPES, iter([list(texts.problems)])


@contextmanager
def _given_back(repository: Repository, done: Rewritten) -> Iterator[None]:
    """Remove the new packs if the change they were written for did not come to be.

    An exception may come after all, when it did: only what neither catalog nor journal knows is removed.
    """
    try:
        yield
    except BaseException:
        repository.catalog.abandon()
        with suppress(SnapfsError):
            if isinstance(journal(repository).verify_tail(known_tail(repository)), Clean):
                known = {row[1] for row in repository.catalog.execute(sql.PACKS)}
                for _, name, _ in done.packs:
                    if name not in known:
                        repository.backend.remove(f"packs/{name}")
        raise
