"""Blocks whose packs are gone: marked in the catalog, so that nobody takes them for stored.

A lost block has no digest. Contents go on naming it, and reading them says what is missing; a create
that meets its bytes stores them as a new block. If the pack comes back, its digests are read again.
"""

from __future__ import annotations

from typing import NamedTuple

from snapfs.catalog import compiled as sql
from snapfs.catalog.commit import SegmentRow
from snapfs.catalog.database import Catalog
from snapfs.errors import DamageError
from snapfs.progress import Progress
from snapfs.storage.contract import Backend, MissingObjectError
from snapfs.blocks.pack import SegmentPlace, pack_key
from snapfs.blocks.packreader import PackReader


class Lost(NamedTuple):
    """Blocks that some snapshot needs and that are lost, and whether the catalog was changed."""

    blocks: int
    changed: bool
