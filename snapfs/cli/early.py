"""The first thing the program loads: until signals become exceptions, ^C ends it without a word.

Python's own handler would print where it was. Only `_signal` will do here: `signal` loads `enum`, which
takes most of the time that is left to be interrupted in.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # typeshed has none
import sys

_PROGRAMS = ("/snapfs", "/snapfs/__main__.py")


def die_quietly() -> None:
    """Take Python's handler of SIGINT back, if this process is the program and nothing else."""
    is_program = f"/{sys.argv[0]}".endswith(_PROGRAMS)
    if is_program and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


die_quietly()
