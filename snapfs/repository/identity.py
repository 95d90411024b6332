"""Finding out which repository a folder is when its config is lost or cannot be believed.

Every journal file and every pack has the repository's id in its sealed header.
"""

from __future__ import annotations

import contextlib
from collections import Counter

from snapfs.blocks.packreader import PackReader
from snapfs.errors import DamageError, RepositoryError, SnapfsError
from snapfs.repository import config as configs
from snapfs.repository.config import Config
from snapfs.repository.journalfile import file_number, read_repository_id
from snapfs.storage.contract import (
    Backend,
    ForeignObjectError,
    MissingObjectError,
    StorageError,
    is_temporary,
)


def restore_config(backend: Backend, name: str) -> Config:
    """The config of the repository called ``name``, written again if need be. Raises as `find_config`."""
    config, sound = find_config(backend, name)
    if not sound:
        configs.write_config(backend, config)
    return config


def find_config(backend: Backend, name: str) -> tuple[Config, bool]:
    """What the config of the repository called ``name`` should say, and whether it does.

    Raises RepositoryError for a newer format, or if there is nothing to make it from.
    """
    config: Config | None = None
    with contextlib.suppress(MissingObjectError, ForeignObjectError, DamageError):
        config = configs.read_config(backend)
        configs.check(config, write=True)
    journal_ids = _journal_ids(backend)
    possible = {*journal_ids, *([config.id] if config else ())}
    votes = Counter(journal_ids)
    if len(possible) != 1:
        # Packs of another repository may have been copied in: they decide what else is open only.
        votes.update(id_ for id_ in _pack_ids(backend) if not possible or id_ in possible)
        if not votes:
            raise RepositoryError(
                f"{name} has neither a journal nor packs: there is nothing to make its catalog from",
                subject=name,
            )
        possible = {votes.most_common(1)[0][0]}
    (id_,) = possible
    if config is None or config.id != id_:
        return Config(configs.FORMAT, id_), False
    return config, True


def _journal_ids(backend: Backend) -> list[bytes]:
    found = []
    for name in backend.names("journal"):
        if file_number(name):
            with contextlib.suppress(DamageError, StorageError):
                found.append(read_repository_id(backend, name))
    return found


def _pack_ids(backend: Backend) -> list[bytes]:
    found = []
    for name in backend.names("packs"):
        if not is_temporary(name):
            with contextlib.suppress(SnapfsError), PackReader(backend, name) as reader:
                found.append(reader.repository_id())
    return found
