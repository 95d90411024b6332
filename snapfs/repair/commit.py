"""The transaction of a repair, and its record: where blocks lie now, and what is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from snapfs.catalog import compiled as sql
from snapfs.catalog.commit import Placed, RowBlock, place, placed_blocks
from snapfs.catalog.database import Catalog
from snapfs.catalog.losing import (
    drop_packs,
    find_lost,
    keep_digests,
    lose,
    make_incomplete,
    moved_digests,
)
from snapfs.catalog.merging import merge
from snapfs.catalog.spill import Spill
from snapfs.repair.losses import Losses
from snapfs.repository.changes import change
from snapfs.repository.opened import Repository
from snapfs.repository.redigest import redigest
from snapfs.verify.packs import Pack

_BATCH = 16 * 1024


def commit(
    repository: Repository,
    broken: Iterable[Pack],
    spill: Spill,
    tell: Callable[[Losses], None],
) -> Losses | None:
    """Put into effect what was found (the staged packs) and what was not (``damaged_block``).

    What is lost, None if nothing is; ``tell`` hears of it before it counts. The caller holds every lock, and
    closes ``spill`` at last.
    """
    catalog = repository.catalog
    packs = [pack.id for pack in broken]
    losses: Losses | None = None
    with change(repository, command="repair") as made:
        before = _tree_digests(catalog)
        keep_digests(catalog)
        same = _put_names(catalog)
        placed = place(catalog)
        if catalog.value(sql.DAMAGED_COUNTED):
            find_lost(catalog)
            losses = Losses(catalog, spill)
            tell(losses)
            _lose(catalog, losses)
        drop_packs(catalog, packs)
        header = {
            "unused": placed.unused,
            "packs": packs,
            "same": same,
            "lost": losses is not None,
            "incomplete": [] if losses is None else losses.snapshots,
            "tree_digests": [
                (id_, digest.hex())
                for id_, digest in _tree_digests(catalog).items()
                if digest != before.get(id_)
            ],
        }
        made.record("repair", header, _blocks(catalog, placed, losses))
    return losses


def _put_names(catalog: Catalog) -> list[tuple[int, int]]:
    """Give blocks their digests back; of those that are stored under another number as well, both numbers."""
    same: list[tuple[int, int]] = []
    for block, digest in catalog.execute(sql.NAMED_ALL).fetchall():
        other = catalog.value(sql.BLOCK_BY_DIGEST, {"digest": digest})
        if other is None:
            catalog.execute(sql.BLOCK_SET_DIGEST, {"block": block, "digest": digest})
        elif other != block:
            merge(catalog, block, other)
            same.append((block, other))
    return same


def _lose(catalog: Catalog, losses: Losses) -> None:
    directories = [row[0] for row in catalog.execute(sql.LOST_DIRECTORIES)]
    lose(catalog)
    redigest(catalog, directories)
    catalog.executemany(sql.PUT_PROBLEM, losses.problems())
    make_incomplete(catalog, losses.snapshots)


def _tree_digests(catalog: Catalog) -> dict[int, bytes]:
    """The digest of each snapshot."""
    return {id_: digest for id_, digest, _ in catalog.execute(sql.VERIFY_SNAPSHOTS)}


def _blocks(catalog: Catalog, placed: Placed, losses: Losses | None) -> Iterator[RowBlock]:
    yield from placed_blocks(catalog, placed)
    if losses is not None:
        yield "lost", "q", _batches(catalog.execute(sql.DAMAGED_IDS))
        yield "lost-file", "qqbqs", _batches(losses.problems())
        yield "directory", "qqb", _batches(moved_digests(catalog))


def _batches(rows: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(rows)
    while batch := list(islice(rest, _BATCH)):
        yield batch
