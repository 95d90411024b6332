"""Attributes of directories, set when everything inside is in place: deepest first, flags last.

Held in arrays, 25 bytes for each directory, and gone through once, depth first.
"""

from __future__ import annotations

import os
import stat
from array import array
from enum import IntEnum
from typing import NamedTuple

from snapfs.fs.dirstack import DirStack
from snapfs.fs.inodeflags import set_flags
from snapfs.materialize.attributes import Attributes, Refusals, give, give_flags, mend
from snapfs.materialize.dirtable import TOP
from snapfs.materialize.naming import CHANGED
from snapfs.materialize.run import Run
from snapfs.model.kinds import Kind

_NS = 1_000_000_000


class Finish(IntEnum):
    """What is still to be done to a directory."""

    NOTHING = 0
    GIVE = 1
    """It is new: set everything."""
    MEND = 2
    """It was there: set what differs."""
    RETIME = 5
    """The same where its time is all that differs."""
    PUT_BACK = 3
    """It was there and is none of ours: as it was before names in it were changed."""
    UNREACHABLE = 4
    """It could not be made or opened; nothing below it was."""


class Before(NamedTuple):
    """What a directory that is to be left as it was had."""

    mode: int
    mtime_ns: int
    flags: int


class Directories:
    """What each directory of a run is to have in the end."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._finish = bytearray()
        self._kinds: dict[Attributes, int] = {}
        self._kind_of = array("I")
        self._mtime_s = array("q")
        self._mtime_nsec = array("I")
        self._before: dict[int, Before] = {}
        self._looks: dict[tuple[int, int, int], tuple[int, int, int]] = {}
        self._look_of: dict[int, tuple[int, int, int]] = {}

    def expect(self, number: int, live: os.stat_result) -> None:
        """In the end it is mended only if it still has the mode and owner that it was seen with."""
        look = (stat.S_IMODE(live.st_mode), live.st_uid, live.st_gid)
        self._look_of[number] = self._looks.setdefault(look, look)

    def put(self, number: int, attributes: Attributes, finish: Finish) -> None:
        """Settle the directory with the next number, or the last one anew."""
        if number < len(self._finish):
            self._finish[number] = finish
            return
        seconds, nsec = divmod(attributes.mtime_ns, _NS)
        shared = attributes._replace(mtime_ns=0)
        self._finish.append(finish)
        self._kind_of.append(self._kinds.setdefault(shared, len(self._kinds)))
        self._mtime_s.append(seconds)
        self._mtime_nsec.append(nsec)

    def change(self, number: int, finish: Finish) -> None:
        """Something else is to be done to it."""
        # Mending sets the time as well: what was only to get that is still told apart.
        if self._finish[number] != Finish.RETIME or finish != Finish.MEND:
            self._finish[number] = finish

    def put_back(self, number: int, before: Before) -> None:
        """It is to be as it was, in the end or when the run fails."""
        self._before[number] = before

    def complete(self, top_fd: int) -> None:
        """Set what is to be set. ``top_fd`` stays the caller's."""
        kinds = list(self._kinds)
        table, finish = self._run.table, self._finish
        stack = DirStack(os.dup(top_fd))
        numbers = [TOP]
        with stack:
            for number in range(1, len(table)):
                if finish[number] == Finish.UNREACHABLE:
                    continue
                parent = table.parent(number)
                while numbers[-1] != parent:
                    self._leave(stack, numbers, kinds)
                try:
                    stack.push(table.name(number))
                except OSError as error:
                    # Whoever took it away meanwhile took all below with it.
                    self._lose(number, error)
                    continue
                numbers.append(number)
            while len(numbers) > 1:
                self._leave(stack, numbers, kinds)
            self._set(TOP, stack.fd, kinds)
        self._tell_coarse_times(top_fd)

    def _tell_coarse_times(self, top_fd: int) -> None:
        """Every time was set without an error, and may have been cut all the same."""
        if self._finish[TOP] not in (Finish.GIVE, Finish.MEND, Finish.RETIME):
            return
        cut_ns = self._mtime_s[TOP] * _NS + self._mtime_nsec[TOP] - os.fstat(top_fd).st_mtime_ns
        if 0 < cut_ns < 2 * _NS:
            self._run.progress.note("the target's filesystem does not keep times to the nanosecond")

    def abandon(self, top_fd: int) -> None:
        """After a failure: put back the mode and flags of directories that were opened up."""
        for number, before in self._before.items():
            try:
                fd = _open(top_fd, self._run.table.parts(number))
            except OSError:
                continue
            try:
                _restore(fd, before, times=False)
            except OSError:
                pass
            finally:
                os.close(fd)

    def _leave(self, stack: DirStack, numbers: list[int], kinds: list[Attributes]) -> None:
        number = numbers.pop()
        if self._finish[number] == Finish.NOTHING:
            stack.pop()
            return
        # Up first: the way up leads through this directory, and its mode may forbid it afterwards.
        fd = os.dup(stack.fd)
        try:
            stack.pop()
            self._set(number, fd, kinds)
        finally:
            os.close(fd)

    def _set(self, number: int, fd: int, kinds: list[Attributes]) -> None:
        finish = self._finish[number]
        mtime_ns = self._mtime_s[number] * _NS + self._mtime_nsec[number]
        wanted = kinds[self._kind_of[number]]._replace(mtime_ns=mtime_ns)
        refused = Refusals()
        if finish == Finish.GIVE:
            give(fd, Kind.DIR, wanted, refused)
            if wanted.flags:
                give_flags(fd, wanted.flags, refused)
        elif finish in (Finish.MEND, Finish.RETIME):
            live = os.fstat(fd)
            if self._is_other(number, live):
                self._run.problem(number, b"", 0, CHANGED)
                self._run.counts.overwritten -= 1
                self._run.counts.retimed -= finish == Finish.RETIME
                return
            mend(fd, Kind.DIR, live, wanted, refused, dry_run=False)
        elif finish == Finish.PUT_BACK:
            with refused.taking("what the directory had"):
                _restore(fd, self._before[number], times=True)
        self._run.refusals(number, b"", refused)

    def _is_other(self, number: int, live: os.stat_result) -> bool:
        look = self._look_of.get(number)
        if look is None:
            return False
        mode, *owner = look
        return owner != [live.st_uid, live.st_gid] or not _is_or_was_opened(live, mode)

    def _lose(self, number: int, error: OSError) -> None:
        table = self._run.table
        self._run.trouble(number, b"", error)
        lost = {number}
        for below in range(number, len(table)):
            if below == number or table.parent(below) in lost:
                lost.add(below)
                self._finish[below] = Finish.UNREACHABLE
            else:
                break


def _open(top_fd: int, parts: tuple[bytes, ...]) -> int:
    with DirStack(os.dup(top_fd)) as stack:
        for part in parts:
            stack.push(part)
        return os.dup(stack.fd)


def _is_or_was_opened(live: os.stat_result, mode: int) -> bool:
    """Whether a directory has this mode, or what became of it when it was opened up to change names in it.

    The kernel takes the set-group-id bit then from whoever is not in the group.
    """
    found = stat.S_IMODE(live.st_mode) | stat.S_ISGID
    return found in (mode | stat.S_ISGID, mode | stat.S_ISGID | stat.S_IRWXU)


def _restore(fd: int, before: Before, *, times: bool) -> None:
    found = os.fstat(fd)
    if stat.S_IMODE(found.st_mode) != before.mode and _is_or_was_opened(found, before.mode):
        os.fchmod(fd, before.mode)
    if times and found.st_mtime_ns != before.mtime_ns:
        os.utime(fd, ns=(before.mtime_ns, before.mtime_ns))
    if before.flags:
        set_flags(fd, before.flags)
