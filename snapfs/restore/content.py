"""The bytes of one file of a snapshot."""

from __future__ import annotations

from collections.abc import Iterator

from snapfs.blocks.reader import BlockReader
from snapfs.catalog import rows, view
from snapfs.catalog.places import places
from snapfs.errors import DamageError, NotFoundError, UsageError
from snapfs.model.extents import ExtentKind
from snapfs.model.kinds import KIND_NAMES, Kind, State
from snapfs.model.quote import quote
from snapfs.model.snapshot import StoredSide
from snapfs.repository.opened import Repository

_ZEROS = bytes(1 << 20)


def read_file(repository: Repository, side: StoredSide, path: bytes) -> Iterator[bytes]:
    """The bytes of a file in pieces, holes as zeros.

    Raises NotFoundError, UsageError for what is no file, DamageError where bytes are lost.
    """
    catalog = repository.catalog
    name = quote(path or b".")
    wait_s = repository.lock_wait_s
    with repository.locks.hold_blocks(wait_s), catalog.read():
        row = rows.root(catalog, side.root.id)
        entry = None
        if row is not None and row.inode_id is not None:
            at = None if row.head_id == side.snapshot.id else side.snapshot.id
            entry = view.lookup(catalog, row.inode_id, path, at)
        if entry is None:
            raise NotFoundError(
                f"{side.snapshot.name} has no {name}",
                subject=name,
                hint="snapfs ls shows what it has",
            )
        if entry.kind != Kind.FILE:
            raise UsageError(
                f"{name} is no file ({KIND_NAMES.get(entry.kind, 'unknown')})", subject=name
            )
        if entry.state == State.UNREAD:
            raise DamageError(
                f"{name} could not be read when {side.snapshot.name} was taken, or is lost"
            )
        with BlockReader(repository.backend) as reader:
            for place in places(catalog, entry.content):
                if place.kind == ExtentKind.BLOCK:
                    try:
                        data = reader.read(
                            place.pack, place.segment_offset, place.stored, place.offset,
                            place.length, digest=place.digest,
                        )  # fmt: skip
                    except DamageError as error:
                        raise DamageError(
                            f"{name} of {side.snapshot.name} is damaged: {error.message}",
                            subject=name,
                            hint="snapfs verify --data tells what else is",
                        ) from error
                    yield bytes(data)
                    continue
                left = place.length
                while left:
                    piece = _ZEROS[: min(left, len(_ZEROS))]
                    left -= len(piece)
                    yield piece
