"""An opened repository: its folder, catalog, journal and locks.

Reading opens the catalog alone. The parts that load compression and hashing are made when they are
first used, so that ``list`` and ``ls`` start fast.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import NamedTuple, Self

from snapfs.catalog import rows
from snapfs.catalog.database import Catalog
from snapfs.clock import Clock
from snapfs.errors import DamageError, NoRepositoryError, RepositoryError, SnapfsError
from snapfs.model.snapshot import Root, RootSummary, Snapshot
from snapfs.repository import config as configs
from snapfs.repository.config import Config
from snapfs.repository.locks import CATALOG_LOCK, Locks, restore_lock, root_lock
from snapfs.repository.reserve import make_room
from snapfs.storage.contract import MissingObjectError
from snapfs.storage.files import FileBackend
from snapfs.storage.path import absolute

CATALOG = b"catalog.db"
_PROBE = b"locks/gc"
"""Its times mean nothing."""
FOLDERS = ("packs", "journal", "locks")


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose the repository is."""

    uid: int
    gid: int

    def pair(self) -> tuple[int, int]:
        return self.uid, self.gid


class OwnFolders(NamedTuple):
    """The folders of a repository, whatever path leads to them."""

    fd: int
    """the repository's folder; it stays the repository's"""
    ids: frozenset[tuple[int, int]]
    """device and inode number of each"""
    config: tuple[int, int, int] | None
    """size, mtime and ctime of ``config``: a stacked filesystem shows the same file under other numbers"""

    def has(self, where: int | bytes) -> bool:
        """Whether a directory, open or by its path, is one of them."""
        try:
            st = os.fstat(where) if isinstance(where, int) else os.lstat(where)
            if (st.st_dev, st.st_ino) in self.ids:
                return True
            if self.config is None:
                return False
            found = _stat_in(where, b"config")
        except OSError:
            return False
        return _mark(found) == self.config and self._is_seen_in(where)

    def _is_seen_in(self, where: int | bytes) -> bool:
        """Whether it is the folder itself and no copy that only looks like it (a snapshot of its filesystem,
        a hard link): what changes here changes there.
        """
        now_ns = time.time_ns()
        try:
            os.utime(_PROBE, ns=(now_ns, now_ns), dir_fd=self.fd, follow_symlinks=False)
            here = _stat_in(self.fd, _PROBE)
        except OSError:
            return True  # nobody can tell
        try:
            return _stat_in(where, _PROBE).st_mtime_ns == here.st_mtime_ns
        except OSError:
            return False


class Repository:
    """One open repository; a context manager."""

    def __init__(
        self,
        path: bytes,
        *,
        write: bool,
        lock_wait_s: float | None = None,
        command_line: Sequence[bytes] = (),
        spend_reserve: bool = False,
        config: Config | None = None,
        catalog: bytes | None = None,
    ) -> None:
        """Open an existing one; ``command_line`` is what `runs` will say of what is changed.

        Where no room is left, ``spend_reserve`` gives the reserve up for what makes some. ``config`` stands
        for a file that cannot be believed, ``catalog`` for a catalog.db: for those who only look.

        Raises NoRepositoryError if there is none, RepositoryError (missing catalog, unknown
        feature, foreign file), DamageError, StorageFullError.
        """
        self.path = absolute(path)
        self.name = os.fsdecode(self.path)
        self.write = write
        self.lock_wait_s = lock_wait_s
        self.command_line = tuple(command_line)
        self.clock = Clock()
        self.config_damage: SnapfsError | None = None
        self._held = ExitStack()
        try:
            self.fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NoRepositoryError(f"no repository at {self.name}", subject=self.name) from error
        except OSError as error:
            raise RepositoryError(
                f"repository {self.name} cannot be opened: {error.strerror}", subject=self.name
            ) from error
        try:
            st = os.fstat(self.fd)
            self.owner = Owner(st.st_uid, st.st_gid)
            config = config or self._read_config()
            if config is not None:
                configs.check(config, write=write)
            self.locks = Locks(self.fd, self.handed, write=write)
            self.locks.describe = self._guarded
            if write:
                make_room(self.fd, self.name, spend=spend_reserve)
                # While it is held nobody puts another catalog.db in place of the one opened here.
                self._held.enter_context(
                    self.locks.hold(CATALOG_LOCK, exclusive=False, wait_s=lock_wait_s)
                )
            self.catalog = self._open_catalog(config, catalog)
            self.config = config or self._config_of_catalog()
        except BaseException:
            self._held.close()
            if "backend" in self.__dict__:
                self.backend.close()
            os.close(self.fd)
            raise

    @property
    def resolved(self) -> bytes:
        """The path without the links that led there, which may be gone by now."""
        return os.readlink(b"/proc/self/fd/%d" % self.fd)

    def own_folders(self) -> OwnFolders:
        """How to recognise the repository's folders."""
        try:
            config = _mark(_stat_in(self.fd, b"config"))
        except OSError:
            config = None
        return OwnFolders(self.fd, self.folders(), config)

    def folders(self) -> frozenset[tuple[int, int]]:
        """Device and inode number of the repository's folder and of those in it: whatever leads there, nothing
        but the repository itself reads or writes in them.
        """
        found = [os.fstat(self.fd)]
        for name in FOLDERS:
            with suppress(FileNotFoundError):
                found.append(os.stat(name, dir_fd=self.fd, follow_symlinks=False))
        return frozenset((st.st_dev, st.st_ino) for st in found)

    def _read_config(self) -> Config | None:
        """None where it is damaged or lost and only reading is wanted, which needs none."""
        try:
            return configs.read_config(self.backend)
        except MissingObjectError as error:
            if not repository_at(self.path):
                raise NoRepositoryError(
                    f"no repository at {self.name}", subject=self.name
                ) from error
            self.config_damage = RepositoryError(
                f"repository {self.name} has lost its config",
                subject=self.name,
                hint="run snapfs rebuild-catalog",
            )
        except DamageError as error:
            self.config_damage = error
        if self.write:
            raise self.config_damage
        return None

    def _config_of_catalog(self) -> Config:
        """What the catalog knows of a config that cannot be read."""
        assert self.config_damage is not None
        try:
            return Config(configs.FORMAT, bytes.fromhex(self.catalog.meta("id") or ""))
        except BaseException as error:
            self.catalog.close()
            if isinstance(error, ValueError):
                raise self.config_damage from error
            raise

    def another_catalog(self) -> Catalog:
        """The catalog once more, with temporary tables of its own. To be closed by the caller."""
        return Catalog(os.path.join(self.path, CATALOG), write=True)

    def _open_catalog(self, config: Config | None, path: bytes | None) -> Catalog:
        path = path or os.path.join(self.path, CATALOG)
        if os.path.islink(path):
            raise RepositoryError(
                f"{os.fsdecode(path)} is a symlink",
                subject=self.name,
                hint="put the file itself there, or remove the link and run snapfs rebuild-catalog",
            )
        try:
            catalog = Catalog(path, write=self.write)
        except NoRepositoryError as error:
            raise RepositoryError(
                f"repository {self.name} has lost its catalog",
                subject=self.name,
                hint="run snapfs rebuild-catalog",
            ) from error
        if self.write and config is not None:
            try:
                with catalog.read():
                    same = catalog.meta("id") == config.id.hex()
                if not same:
                    raise RepositoryError(
                        f"config and catalog.db of {self.name} are not of the same repository",
                        subject=self.name,
                        hint="run snapfs rebuild-catalog",
                    )
            except BaseException:
                catalog.close()
                raise
        return catalog

    def _guarded(self, lock: str) -> str:
        """What a lock guards: a root by its label, else the repository."""
        known = rows.roots(self.catalog) if "catalog" in self.__dict__ else ()
        labels = [
            row.root.label
            for row in known
            if lock in {root_lock(row.root.id), restore_lock(row.root.id)}
        ]
        return f"root {labels[0]} in {self.name}" if labels else f"the repository {self.name}"

    @property
    def handed(self) -> tuple[int, int] | None:
        """Whom new files go to: the folder's owner, where root works in another's repository."""
        return self.owner.pair() if os.geteuid() == 0 and self.owner.uid != 0 else None

    @cached_property
    def backend(self) -> FileBackend:
        return FileBackend(self.fd, owner=self.handed)

    @property
    def id(self) -> str:
        return self.config.id.hex()

    @property
    def owner_uid(self) -> int:
        return self.owner.uid

    def close(self) -> None:
        """Close everything; an open transaction is rolled back."""
        self.catalog.close()
        self._held.close()
        if "backend" in self.__dict__:
            self.backend.close()
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        known = self.catalog.in_our_words(error)
        if known is not None:
            raise known from error

    # --- reading -------------------------------------------------------------------------------

    def roots(self) -> tuple[Root, ...]:
        """All roots, by label."""
        return tuple(row.root for row in rows.roots(self.catalog))

    def root_summaries(self) -> tuple[RootSummary, ...]:
        """All roots with how many snapshots each has."""
        with self.catalog.read():
            found = []
            for row in rows.roots(self.catalog):
                chain = rows.snapshots(self.catalog, row.root.id)
                found.append(RootSummary(row.root, len(chain), chain[-1] if chain else None))
            return tuple(found)

    def snapshots(self, root_id: int) -> tuple[Snapshot, ...]:
        """The chain of a root, oldest first."""
        with self.catalog.read():
            return rows.snapshots(self.catalog, root_id)

    def snapshot(self, snapshot_id: int) -> Snapshot | None:
        with self.catalog.read():
            return rows.snapshot(self.catalog, snapshot_id)

    def owners(self, root_id: int) -> tuple[dict[int, str], dict[int, str]]:
        """Names of uids and gids where the root was captured."""
        return rows.owners(self.catalog, root_id)


def _stat_in(where: int | bytes, name: bytes) -> os.stat_result:
    if isinstance(where, int):
        return os.stat(name, dir_fd=where, follow_symlinks=False)
    return os.lstat(os.path.join(where, name))


def _mark(st: os.stat_result) -> tuple[int, int, int]:
    return st.st_size, st.st_mtime_ns, st.st_ctime_ns


def repository_at(path: bytes) -> bool:
    """Whether a folder is, or was, a repository: such a one never gets an empty new catalog.

    One that was not made to its end (no config, nothing in it yet) is none.
    """
    if os.path.lexists(os.path.join(path, b"config")):
        return True
    for name in (b"packs", b"journal"):
        try:
            if os.listdir(os.path.join(path, name)):
                return True
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return True
    return _knows_roots(os.path.join(path, CATALOG))


def _knows_roots(path: bytes) -> bool:
    """Whether a catalog without packs, journal and config still tells of something."""
    if not os.path.lexists(path):
        return False
    try:
        catalog = Catalog(path, write=False)
    except SnapfsError:
        return False
    try:
        with catalog.read():
            return bool(rows.roots(catalog))
    except SnapfsError:
        return False  # it is being made at this moment
    finally:
        catalog.close()
