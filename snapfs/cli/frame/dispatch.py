"""From a command line to its exit code; the only place that catches every error.

What `snapfs --help` does not need is loaded after it is clear that it is needed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from snapfs import interruption
from snapfs.cli.frame import signals
from snapfs.cli.frame.streams import (
    Messages,
    Output,
    OutputClosed,
    Streams,
    fill_closed_descriptors,
    words_as_text,
)
from snapfs.errors import Exit

_PIPE_CODE = 141
"""128 + SIGPIPE, as for any program whose reader goes away."""


def run(argv: Sequence[str] | None) -> int:
    """Run a command line; every error is told here."""
    # A mask that takes the owner's own rights would leave files that nobody can open again.
    os.umask(os.umask(0o077) & ~0o700)
    closed = fill_closed_descriptors()
    words = words_as_text(list(sys.argv[1:] if argv is None else argv))
    streams = Streams(Output(closed=1 in closed), Messages(), 0 in closed)
    try:
        code = _run(words, streams)
        streams.out.flush()
        return code
    except OutputClosed:
        return _PIPE_CODE
    except Exception as error:
        from snapfs.cli.frame.failure import tell

        return tell(error, words, streams)


def _run(words: list[str], streams: Streams) -> int:
    from snapfs.cli.frame.overview import overview

    if words in (["--help"], ["-h"], ["help"]):
        streams.out.line(overview())
        return Exit.DONE
    if words[:1] == ["__complete"]:
        from snapfs.cli.frame.complete import complete

        return complete(words[1:], streams.out)
    from snapfs.cli.frame.running import run_command

    with signals.reaching(interruption.stop_all):
        return run_command(words, streams)
