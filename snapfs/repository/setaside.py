"""The folder for what is moved out of the way, and which packs nothing knows."""

from __future__ import annotations

import string

from snapfs.blocks.pack import pack_key
from snapfs.blocks.packreader import PackReader
from snapfs.catalog import compiled as sql
from snapfs.catalog.database import Catalog
from snapfs.errors import DamageError, SnapfsError
from snapfs.storage.contract import Backend

QUARANTINE = "quarantine"
"""The folder of the repository where files are moved to that are damaged, or that nothing tells of any more;
only a repair that looks for lost blocks reads them there.
"""

_NAME_DIGITS = 32


def known_packs(catalog: Catalog) -> set[str]:
    """Names of the packs that the catalog knows, or knew until their files are removed."""
    known = {str(row[1]) for row in catalog.execute(sql.PACKS)}
    return known | {str(row[0]) for row in catalog.execute(sql.DOOMED)}


def unknown_packs(backend: Backend, catalog: Catalog, repository_id: bytes) -> list[str]:
    """Complete packs that the catalog does not know, but for those that say they are of another repository."""
    known = known_packs(catalog)
    return [
        name
        for name in backend.names("packs")
        if name not in known and is_pack_name(name) and _may_be_of(backend, name, repository_id)
    ]


def is_pack_name(name: str) -> bool:
    """Whether a complete pack may be called so."""
    return len(name) == _NAME_DIGITS and set(name) <= set(string.hexdigits)


def _may_be_of(backend: Backend, name: str, repository_id: bytes) -> bool:
    try:
        with PackReader(backend, name) as reader:
            return reader.repository_id() == repository_id
    except DamageError:
        return True
    except SnapfsError:
        return False


def set_aside_packs(backend: Backend, names: list[str]) -> list[str]:
    """Move packs out of the way; where they are now."""
    return [backend.set_aside(pack_key(name), QUARANTINE) for name in names]
