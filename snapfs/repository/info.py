"""What a repository is and holds, in numbers."""

from __future__ import annotations

import os
from dataclasses import dataclass

from snapfs.catalog import compiled as sql
from snapfs.repository.opened import CATALOG, Repository
from snapfs.repository.reserve import RESERVE
from snapfs.repository.runs import Run, runs


@dataclass(frozen=True, slots=True)
class InfoResult:
    """A repository in numbers. Sizes in bytes."""

    path: bytes
    """where it is"""
    id: str
    """its identity, in every pack"""
    format: int
    """format of its files"""
    need_read: tuple[str, ...]
    """features a program must know to read it"""
    need_write: tuple[str, ...]
    """features a program must know to write it"""
    owner_uid: int
    """whose it is"""
    roots: int
    """registered roots"""
    snapshots: int
    """snapshots of all roots"""
    catalog_bytes: int
    """size of the catalog"""
    journal_bytes: int
    """size of the journal"""
    reserve_bytes: int
    """size of the reserve, which is given up on a full disk; 0 if it is given up"""
    packs: int
    """pack files"""
    pack_bytes: int
    """size of the pack files"""
    raw_bytes: int
    """size of all blocks before compression, each once"""
    reclaimable_bytes: int
    """dead bytes in packs that hold live ones too"""
    total_bytes: int
    """sizes of all files of all snapshots, as if each were a copy"""
    last_run: Run | None
    """the last command that changed something"""


def info(repository: Repository) -> InfoResult:
    """Count it all."""
    catalog = repository.catalog
    with catalog.read():
        roots, snapshots, total, packs, pack_bytes, raw, _ = catalog.one(sql.TOTALS)
        reclaimable = int(catalog.value(sql.RECLAIMABLE))
        last = runs(repository, root=None, failed=False, limit=1)
    size = sum(_size(repository, CATALOG + suffix) for suffix in (b"", b"-wal"))
    journal = sum(
        repository.backend.size(f"journal/{name}") for name in repository.backend.names("journal")
    )
    return InfoResult(
        path=repository.path,
        id=repository.id,
        format=repository.config.format,
        need_read=repository.config.need_read,
        need_write=repository.config.need_write,
        owner_uid=repository.owner_uid,
        roots=roots,
        snapshots=snapshots,
        catalog_bytes=size,
        journal_bytes=journal,
        reserve_bytes=_size(repository, os.fsencode(RESERVE)),
        packs=packs,
        pack_bytes=pack_bytes,
        raw_bytes=raw,
        reclaimable_bytes=reclaimable,
        total_bytes=total,
        last_run=last[0] if last else None,
    )


def _size(repository: Repository, name: bytes) -> int:
    try:
        return os.stat(name, dir_fd=repository.fd).st_size
    except FileNotFoundError:
        return 0
