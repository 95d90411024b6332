"""Running a command as an ordinary user, even where the interpreter or the project lie below /root.

In a mount namespace of its own, a directory that the user may not pass (mode 0700) is covered by an
empty one in which only what the command needs is bound. Nothing outside that namespace changes.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class User:
    """An ordinary user known by numbers alone; no account is needed."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()

    def launcher(self, *paths: Path) -> list[str]:
        """The beginning of a command line that runs the rest as this user, who can reach ``paths``."""
        reachable = {
            Path(sys.prefix),
            Path(sys.base_prefix),
            Path(sys.executable).parent,
            PROJECT,
            *paths,
        }
        groups = ",".join(map(str, self.groups))
        return [
            sys.executable,
            "-I",
            "-S",
            str(Path(__file__).with_name("as_user.py")),
            f"{self.uid}:{self.gid}:{groups}",
            os.pathsep.join(sorted(map(str, reachable))),
        ]
