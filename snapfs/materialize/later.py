"""What is deleted when all else is in place: a move that is taken back never has its file at neither end."""

from __future__ import annotations

import os
import stat
from array import array

from snapfs.materialize.dirtable import DirCache
from snapfs.materialize.namelist import NameList
from snapfs.materialize.removal import Remover
from snapfs.materialize.run import Run


class Later:
    """Names that go in the end, each with its directory."""

    def __init__(self, run: Run, remover: Remover) -> None:
        self._run = run
        self._remover = remover
        self._moved = None if run.options.dry_run else run.options.moved
        self._directories = array("I")
        self._names = NameList()

    def takes(self, directory: int, name: bytes) -> bool:
        """Whether a name of the directory with this number goes later, which is seen to then."""
        if self._moved is None or not self._moved.is_end(self._run.table.path(directory, name)):
            return False
        self._directories.append(directory)
        self._names.append(name)
        return True

    def complete(self, dirs: DirCache) -> None:
        """Delete them, but for those of which the other end could not be made."""
        if self._moved is None or not self._directories:
            return
        run = self._run
        if run.failed:
            failed = [run.table.path(*one) for one in sorted(run.failed)]
            self._remover.needed = self._moved.stay(failed)
        for directory, name in zip(self._directories, self._names, strict=True):
            try:
                fd = dirs.fd(directory)
                found = os.stat(name, dir_fd=fd, follow_symlinks=False)
            except FileNotFoundError:
                continue
            except OSError as error:
                run.trouble(directory, name, error)
                continue
            self._remover.remove(directory, fd, name, stat.S_ISDIR(found.st_mode))
