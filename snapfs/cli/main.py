"""The entry point: everything that can take time happens after signals have become exceptions."""

from __future__ import annotations

import gc
from collections.abc import Sequence

from snapfs.cli.frame import signals


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (``sys.argv`` by default) and return its exit code."""
    try:
        with signals.as_exceptions(last=argv is None):
            # Loaded here, because a signal may arrive while modules are imported.
            from snapfs.cli.frame.dispatch import run

            # Rows by the hundred thousand are no cycles: looking for some took a tenth of a run.
            if argv is None:
                gc.set_threshold(50_000, 20, 100)
            return run(argv)
    except signals.Interrupted as interrupted:
        return interrupted.exit_code
