"""What a signal is called."""

from __future__ import annotations

import signal


def signal_name(number: int) -> str:
    """``SIGTERM`` for 15; a real-time signal has a number alone."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
