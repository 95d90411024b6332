"""Running commands within the test's own process, where the start of an interpreter would dominate."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from snapfs.cli.main import main
from tests.harness.here import here
from tests.harness.program import Argument, Result


@dataclass(frozen=True)
class InProcess:
    """Like ``Program``, without a process of its own."""

    repository: Path

    def __call__(
        self, *args: Argument, ok: Sequence[int] | None = (0,), cwd: Path | None = None
    ) -> Result:
        """Run a command to its end; its exit code must be one of ``ok`` (None: any)."""
        words = [os.fsdecode(os.fspath(word)) for word in ("-r", self.repository, *args)]
        result = Result(args, *here(lambda: main(words), cwd=cwd))
        assert b"internal error" not in result.err, str(result)
        assert ok is None or result.code in ok, str(result)
        return result
