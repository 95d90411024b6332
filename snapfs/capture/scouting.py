"""The walk's end of a scout (`capture.scout`): what it says, and when to have one."""

from __future__ import annotations

import os
import pickle

from snapfs.capture.scout import Report, Sound, Start, Unchanged
from snapfs.errors import SnapfsError
from snapfs.workers import Worker, ready

SCOUTED_DIRECTORIES = 2000
"""From here on a scout is worth its start (60 ms of another processor)."""
_CALLS = 16
"""So many questions are answered between two looks at what has come."""
_UNDER_WAY = 2
"""Messages that the scout has in hand, so that it never waits."""


def worthwhile(directories: int) -> bool:
    """Whether to have one, on this machine, for a tree of so many directories."""
    return directories >= SCOUTED_DIRECTORIES and len(os.sched_getaffinity(0)) > 1


class Scouting:
    """A scout at work. Its end, expected or not, is no trouble: the rest is walked. `close` must be called."""

    def __init__(
        self,
        root_fd: int,
        root_inode: int,
        rules_digest: bytes,
        skip: frozenset[tuple[int, int]],
        sound: Sound,
    ) -> None:
        """As in `Start`."""
        self._found: dict[int, Unchanged] = {}
        self._calls = 0
        self._worker: Worker | None = None
        try:
            with open(os.memfd_create("snapfs-scout"), "wb") as file:
                pickle.dump(sound, file, protocol=5)
                file.flush()
                fds = root_fd, file.fileno()
                self._worker = Worker("snapfs.capture.scout", pass_fds=fds)
            self._worker.send(Start(root_fd, root_inode, rules_digest, skip, fds[1]))
            for _ in range(_UNDER_WAY):
                self._worker.send(None)
        except (SnapfsError, OSError):
            self.close()

    def unchanged(self, inode: int) -> Unchanged | None:
        """A directory of the head, if nothing below it has changed as far as is known yet."""
        self._calls += 1
        if self._calls % _CALLS == 0:
            self.listen(0)
        return self._found.get(inode)

    def listen(self, timeout_s: float | None) -> bool:
        """Take in what has come, waiting for the first of it; whether there may be more."""
        worker = self._worker
        if worker is None:
            return False
        try:
            while any(ready([worker], timeout_s)):
                timeout_s = 0
                report: Report | None = worker.receive()
                if report is None:
                    continue
                self._found.update((one.inode, one) for one in report.found)
                if report.ended:
                    self.close()
                    return False
                worker.send(None)
        except (SnapfsError, OSError):
            self.close()
        return self._worker is not None

    def close(self) -> None:
        """End it; what it said stands."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None
