"""The program as a process, with nothing of this machine's home, settings or repository."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ARGV = [sys.executable, "-P", "-m", "snapfs"]


@dataclass
class Binary:
    """Runs command lines; ``variables`` is the whole environment."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.variables = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            **self.variables,
        }

    def __call__(
        self, *words: str | bytes | Path, code: int | None = 0, cwd: Path | None = None, **more: Any
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command line to its end and check its exit code."""
        done = subprocess.run(
            [*ARGV, *words],
            env=self.variables,
            cwd=cwd or self.folder,
            stdin=more.pop("stdin", subprocess.DEVNULL),
            capture_output=True,
            check=False,
            timeout=120,
            **more,
        )
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        assert b"internal error" not in done.stderr, done.stderr.decode()
        assert code is None or done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done
