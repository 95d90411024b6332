"""Running commands within the test's own process, where the start of an interpreter would dominate."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from snapfs.cli.main import main
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
        before = os.getcwd()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            kept = [os.dup(1), os.dup(2)]
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                os.chdir(cwd or before)
                code = main(words)
            finally:
                os.chdir(before)
                for number, fd in enumerate(kept, start=1):
                    os.dup2(fd, number)
                    os.close(fd)
            out.seek(0)
            err.seek(0)
            result = Result(args, code, out.read(), err.read())
        assert b"internal error" not in result.err, str(result)
        assert ok is None or code in ok, str(result)
        return result
