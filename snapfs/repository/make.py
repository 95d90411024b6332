"""Making a new repository."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Sequence

from snapfs.catalog.database import Catalog
from snapfs.errors import RepositoryError, StorageFullError
from snapfs.repository import config as configs
from snapfs.repository.config import Config
from snapfs.repository.locks import SETUP, Locks
from snapfs.repository.opened import CATALOG, FOLDERS, Repository, repository_at
from snapfs.repository.reserve import make_reserve
from snapfs.storage.files import FileBackend

CONFIG = os.fsencode(configs.NAME)


_CATALOG_FILES = tuple(CATALOG + suffix for suffix in (b"", b"-wal", b"-shm", b"-journal"))
"""What SQLite makes; the last one only until the catalog has a write-ahead log."""


def make_repository(
    path: bytes, *, lock_wait_s: float | None = None, command_line: Sequence[bytes] = ()
) -> Repository:
    """Create a repository in a new or empty folder and open it for writing.

    Missing parents are made (0700); they belong to whom the directory belongs in which they are made.
    The repository itself is of whoever makes it. Raises RepositoryError if the folder holds anything
    else, or is a repository that lost its catalog.
    """
    name = os.fsdecode(path)
    try:
        _make_parents(os.path.dirname(path.rstrip(b"/")))
        os.makedirs(path, mode=0o700, exist_ok=True)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise RepositoryError(
            f"repository {name} cannot be made: {error.strerror}",
            subject=name,
            hint="name another place with -r PATH or SNAPFS_REPO",
        ) from error
    try:
        st = os.fstat(fd)
        owner = (st.st_uid, st.st_gid) if os.geteuid() == 0 and st.st_uid != 0 else None
        _made_meanwhile(path)  # a folder in use is refused before anything is put into it
        with contextlib.suppress(FileExistsError):
            os.mkdir("locks", 0o700, dir_fd=fd)
        locks = Locks(fd, owner, write=True)
        # Whoever makes it is done in a moment, or dead.
        with locks.hold(SETUP, exclusive=True, wait_s=None):
            if not _made_meanwhile(path):
                _fill(path, fd, owner)
    except OSError as error:
        kind = StorageFullError if error.errno == 28 else RepositoryError
        raise kind(f"repository {name} cannot be made: {error.strerror}", subject=name) from error
    finally:
        os.close(fd)
    return Repository(path, write=True, lock_wait_s=lock_wait_s, command_line=command_line)


def _make_parents(path: bytes) -> None:
    """What root makes on the way, as ~/.local/share in the home of a user, is that user's."""
    if not path or os.path.isdir(path):
        return
    above = os.path.dirname(path)
    _make_parents(above)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
    owner = os.stat(above or b".")
    if os.geteuid() != 0 or owner.st_uid == 0:
        return
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        # That user may have put something else there in the meantime.
        if os.fstat(fd).st_uid == 0 and not os.listdir(fd):
            os.fchown(fd, owner.st_uid, owner.st_gid)
    finally:
        os.close(fd)


def _made_meanwhile(path: bytes) -> bool:
    """Whether another process has made it while this one waited; refuses a folder in use."""
    name = os.fsdecode(path)
    entries = os.listdir(path)
    known = {CONFIG, *map(os.fsencode, FOLDERS), *_CATALOG_FILES}
    strangers = [
        entry
        for entry in entries
        if entry not in known and not entry.startswith((b"tmp-", b"reserve"))
    ]
    holds_data = repository_at(path) and _holds_data(path)
    # Asked last: what the other process had done by now was no stranger's.
    if os.path.lexists(os.path.join(path, CONFIG)):
        return True
    if holds_data:
        raise RepositoryError(
            f"{name} holds packs or a journal but no config",
            subject=name,
            hint="run snapfs rebuild-catalog",
        )
    if strangers:
        raise RepositoryError(
            f"{name} is not empty and no repository", subject=name, hint="name another folder"
        )
    return False


def _holds_data(path: bytes) -> bool:
    return any(
        os.path.isdir(folder) and os.listdir(folder)
        for folder in (os.path.join(path, b"packs"), os.path.join(path, b"journal"))
    )


def _fill(path: bytes, fd: int, owner: tuple[int, int] | None) -> None:
    """The config is written last: before it is there, the folder is no repository."""
    os.fchmod(fd, 0o700)
    for folder in FOLDERS:
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700, dir_fd=fd)
        if owner is not None:
            os.chown(folder, *owner, dir_fd=fd, follow_symlinks=False)
    config = Config(configs.FORMAT, secrets.token_bytes(16))
    for file in _CATALOG_FILES:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file, dir_fd=fd)
    old = os.umask(0o077)
    try:
        Catalog.make(os.path.join(path, CATALOG))
    finally:
        os.umask(old)
    catalog = Catalog(os.path.join(path, CATALOG), write=True)
    try:
        with catalog.write():
            catalog.set_meta("id", config.id.hex())
    finally:
        catalog.close()
    if owner is not None:
        os.chown(CATALOG, *owner, dir_fd=fd, follow_symlinks=False)
    make_reserve(fd, owner)
    with FileBackend(fd, owner=owner) as backend:
        configs.write_config(backend, config)
    os.fsync(fd)
