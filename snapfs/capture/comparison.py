"""Whether a live entry is what the head has: the rules of ``snapfs-design.7``, CHANGE."""

from __future__ import annotations

import os
import time
from stat import S_IMODE
from typing import Any

from snapfs.capture.seen import (
    DEVICES,
    DIR,
    FILE,
    OK,
    RACY_CTIME_NS,
    RACY_MTIME_NS,
    SECOND,
    Known,
    ScanOptions,
    signed,
)


class Comparison:
    """The comparison of one run."""

    def __init__(self, options: ScanOptions, ahead_ns: int) -> None:
        """``ahead_ns`` is what the time of the run is ahead of the clock."""
        self._options = options
        self._ahead_ns = ahead_ns
        self.by_stat = not (options.relaxed or options.checksum)
        """whether every stat field counts, and nothing else"""

    def same_file(self, row: tuple[Any, ...], st: os.stat_result) -> bool:
        """`same` for a row of ``SCAN_CHILDREN`` that is a file, at one go; False may be wrong."""
        (_, _, kind, mode, uid, gid, size, mtime_s, mtime_nsec, ctime_s, ctime_nsec, ino, nlink,
         _, state, _, _, _, _) = row  # fmt: skip
        return (
            self.by_stat
            and kind == FILE
            and state == OK
            and size == st.st_size
            and mtime_s * SECOND + mtime_nsec == st.st_mtime_ns
            and ctime_s * SECOND + ctime_nsec == st.st_ctime_ns
            and mode | 0o100000 == st.st_mode
            and uid == st.st_uid
            and gid == st.st_gid
            and nlink == st.st_nlink
            and ino == signed(st.st_ino)
        )

    def same_inode(self, known: Known, st: os.stat_result) -> bool:
        """Whether the inode number has stayed."""
        return self._options.ignore_inode or known.ino == signed(st.st_ino)

    def same_shown(self, known: Known, st: os.stat_result) -> bool:
        """Whether mode, owner and mtime are equal."""
        return (
            known.mode == S_IMODE(st.st_mode)
            and known.uid == st.st_uid
            and known.gid == st.st_gid
            and (known.mtime_s, known.mtime_nsec) == divmod(st.st_mtime_ns, SECOND)
        )

    def same(self, known: Known, st: os.stat_result) -> bool:
        """Whether nothing that is compared has changed since the head was taken."""
        options = self._options
        if known.state != OK or not self.same_shown(known, st):
            return False
        if not options.ignore_ctime and (known.ctime_s, known.ctime_nsec) != divmod(
            st.st_ctime_ns, SECOND
        ):
            return False
        if not self.same_inode(known, st):
            return False
        if known.kind == DIR:
            return True
        return (
            known.size == st.st_size
            and (options.ignore_inode or known.nlink == st.st_nlink)
            and not (options.checksum and known.kind == FILE)
            and (known.kind not in DEVICES or known.rdev == signed(st.st_rdev))
        )

    def now_ns(self) -> int:
        """The time by now: a long scan looks at what has changed since it began."""
        return time.time_ns() + self._ahead_ns

    def racy(self, kind: int, st: os.stat_result) -> bool:
        """Whether the entry may change once more without its stat telling."""
        now_ns = self.now_ns()
        if -RACY_CTIME_NS < now_ns - st.st_ctime_ns < RACY_CTIME_NS:
            return True
        return kind == FILE and abs(now_ns - st.st_mtime_ns) < RACY_MTIME_NS

    def keeps_bytes(self, known: Known, st: os.stat_result) -> bool:
        """Whether the stat says that neither bytes nor attributes can have changed."""
        return (
            known.state == OK
            and known.size == st.st_size
            and self.same_shown(known, st)
            # Whatever the options: with a new ctime and the old bytes the next run would believe both.
            and (known.ctime_s, known.ctime_nsec) == divmod(st.st_ctime_ns, SECOND)
            and not self._options.checksum
        )
