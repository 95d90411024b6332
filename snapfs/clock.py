"""The only place that reads the clock."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall clock in nanoseconds since the epoch; tests pass a fixed or stepping one."""

    fixed_ns: int | None = None

    def now_ns(self) -> int:
        return time.time_ns() if self.fixed_ns is None else self.fixed_ns

    def utc_offset_s(self, at_ns: int) -> int:
        """Offset of local time from UTC at that moment, in seconds."""
        return time.localtime(at_ns // 1_000_000_000).tm_gmtoff
