"""Damaged packs: their blocks into new ones, the files out of the way, and what is lost out of the catalog.

Order: new packs durable, journal record durable, one transaction (`repair.commit`), then the old files are
moved. Killed before the transaction nothing has changed, but that there are packs which the next create or
repair takes in; killed after it there are packs which nothing needs, until the next repair moves them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial

from snapfs import faults
from snapfs.blocks.pack import pack_key
from snapfs.capture.adopt import adopt_packs
from snapfs.catalog import compiled as sql
from snapfs.catalog.losing import find_lost
from snapfs.catalog.spill import Spill
from snapfs.errors import StorageFullError
from snapfs.progress import NullProgress, Progress
from snapfs.reclaim.packs import collect_pending
from snapfs.repair.commit import commit
from snapfs.repair.live import reread
from snapfs.repair.losses import Losses
from snapfs.repair.naming import name_blocks
from snapfs.repair.options import RepairOptions
from snapfs.repair.quarantine import give_back, leftovers, move_away, remove_unfinished
from snapfs.repair.salvage import Salvage, Store
from snapfs.repository.changes import dump_if_due, heal
from snapfs.repository.locks import GC, root_lock
from snapfs.repository.opened import Repository
from snapfs.repository.reserve import make_reserve, require_room
from snapfs.verify.packs import Pack, catalog_packs, check_packs
from snapfs.verify.report import Report


@dataclass(frozen=True, slots=True)
class Mended:
    """What became of damaged packs; as in `RepairResult`."""

    packs: tuple[str, ...] = ()
    set_aside: tuple[str, ...] = ()
    sound_blocks: int = 0
    found_blocks: int = 0
    reread_blocks: int = 0
    lost_blocks: int = 0
    lost_files: int = 0
    incomplete: tuple[str, ...] = ()


NOTHING = Mended()


@dataclass(frozen=True, slots=True)
class _Searched:
    """Where the blocks of damaged packs were found."""

    sound: int
    found: int
    reread: int
    lost: int


def rehearse_packs(
    repository: Repository, suspects: frozenset[str], options: RepairOptions, *, progress: Progress
) -> Mended:
    """What `mend_packs` would do; nothing is written."""
    catalog = repository.catalog
    with (
        repository.locks.hold_blocks(repository.lock_wait_s),
        closing(Spill()) as spill,
        catalog.read(),
    ):
        broken = [pack for pack in catalog_packs(catalog) if pack.name in suspects]
        store = Store(repository, dry_run=True)
        searched = _search(repository, broken, store, options, spill, progress)
        find_lost(catalog)
        losses = Losses(catalog, spill)
        _tell(options, losses)
        there = [name for name in repository.backend.names("packs") if name in suspects]
        aside = sorted({*there, *leftovers(repository)})
        return _mended(broken, [pack_key(name) for name in aside], searched, losses)


def mend_packs(
    repository: Repository, suspects: frozenset[str], options: RepairOptions, *, progress: Progress
) -> Mended:
    """Mend the packs called so, as far as they are damaged still.

    Raises LockedError if anybody is at work, StorageFullError.
    """
    wait_s = repository.lock_wait_s
    if not suspects and not leftovers(repository):
        return NOTHING
    with ExitStack() as stack:
        for root in sorted(repository.roots(), key=lambda root: root.id):
            stack.enter_context(
                repository.locks.hold(root_lock(root.id), exclusive=True, wait_s=wait_s)
            )
        stack.enter_context(repository.locks.hold(GC, exclusive=True, wait_s=wait_s))
        require_room(repository.fd, repository.handed, repository.name)
        heal(repository)
        remove_unfinished(repository)
        adopt_packs(repository)
        broken = _still_broken(repository, suspects)
        spill = stack.enter_context(closing(Spill()))
        store = Store(repository, dry_run=False)
        try:
            searched = _search(repository, broken, store, options, spill, progress)
            store.finish()
        except BaseException as error:
            store.abandon()
            if isinstance(error, StorageFullError):
                give_back(repository, store.packs)
            raise
        faults.point("repair.packs-durable")
        losses = commit(repository, broken, spill, partial(_tell, options)) if broken else None
        faults.point("repair.committed")
        known = {pack.name for pack in catalog_packs(repository.catalog)}
        gone = {pack.name for pack in broken} - known
        aside = list(move_away(repository, sorted({*gone, *leftovers(repository)})))
        collect_pending(repository)
        dump_if_due(repository)
        make_reserve(repository.fd, repository.handed)
        repository.catalog.checkpoint()
        return _mended(broken, aside, searched, losses)


def _mended(
    broken: Iterable[Pack], aside: Iterable[str], searched: _Searched, losses: Losses | None
) -> Mended:
    return Mended(
        tuple(pack.name for pack in broken),
        tuple(aside),
        searched.sound,
        searched.found,
        searched.reread,
        searched.lost,
        0 if losses is None else losses.files,
        () if losses is None else losses.names(),
    )


def _tell(options: RepairOptions, losses: Losses) -> None:
    if options.on_lost is not None:
        for file in losses.each():
            options.on_lost(file)


def _still_broken(repository: Repository, suspects: frozenset[str]) -> list[Pack]:
    packs = [pack for pack in catalog_packs(repository.catalog) if pack.name in suspects]
    report = Report(NullProgress())
    check_packs(repository, report, packs, 1.0)
    return [pack for pack in packs if pack.name in report.touched.broken]


def _search(
    repository: Repository,
    broken: Sequence[Pack],
    store: Store,
    options: RepairOptions,
    spill: Spill,
    progress: Progress,
) -> _Searched:
    names = name_blocks(repository, broken, options.host, progress=progress)
    salvage = Salvage(repository, store, names, progress=progress)
    progress.phase("reading damaged packs")
    for pack in broken:
        salvage.read_pack(pack)
    progress.phase("looking through packs")
    found = salvage.search_packs()
    again = reread(repository, store, options.host, spill, progress=progress)
    lost = int(repository.catalog.value(sql.DAMAGED_COUNTED))
    return _Searched(salvage.sound, found, again, lost)
