"""Going through what is wanted, directory by directory, with the live tree beside it.

The same decisions serve a real run and a dry one; a dry run stops short of every change.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable

from snapfs.fs.dirstack import DirStack
from snapfs.fs.handles import is_name, open_dir
from snapfs.materialize.attributes import Refusals, mend
from snapfs.materialize.children import Children
from snapfs.materialize.directories import Directories, Finish
from snapfs.materialize.dirtable import TOP
from snapfs.materialize.filewriter import STRIP_ACL, STRIP_FLAGS
from snapfs.materialize.level import Level, new_level, settle_early, touch
from snapfs.materialize.removal import open_up
from snapfs.materialize.run import Run
from snapfs.materialize.top import Top
from snapfs.materialize.wanted import Overwrite, Part, WantedDir
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind, State

_LOOK_INTO = stat.S_IRUSR | stat.S_IXUSR


class Walk:
    """Makes directories and what is neither directory nor file, and hands files on."""

    def __init__(
        self, run: Run, top: Top, directories: Directories, children: Children, mounts: set[bytes]
    ) -> None:
        """``mounts`` are the paths of mount points below the target."""
        self._run = run
        self._top = top
        self._directories = directories
        self._children = children
        self._mounts = mounts
        self._levels: list[Level] = []
        self._stack: DirStack | None = None
        self._skip_below: int | None = None

    def run(self, wanted: Iterable[WantedDir]) -> None:
        """Go through everything; raises StorageFullError."""
        try:
            for directory in wanted:
                self._arrive(directory)
        finally:
            if self._stack is not None:
                self._stack.close()

    @property
    def _fd(self) -> int:
        return -1 if self._stack is None else self._stack.fd

    def _arrive(self, directory: WantedDir) -> None:
        depth = directory.depth
        if self._skip_below is not None:
            if depth > self._skip_below:
                return
            self._skip_below = None
        while len(self._levels) > depth:
            self._leave()
        level = None
        if depth == 0:
            level = self._enter_top(directory)
        elif is_name(directory.entry.name):  # what is none was told where it is a child
            level = self._enter(directory)
        if level is None:
            self._skip_below = depth
            return
        self._levels.append(level)
        if directory.doubtful:
            what = "the catalog is damaged here: run snapfs verify"
            self._run.problem(level.number, b"", 0, what)
        self._children.go_through(level, self._fd, directory)
        self._run.progress.advance(entries=1)

    def _leave(self) -> None:
        level = self._levels.pop()
        if level.real and self._levels and self._stack is not None:
            try:
                self._stack.pop()
            except OSError as error:  # somebody moves directories about; all goes on further up
                self._run.trouble(self._levels[-1].number, b"", error)

    def _spares(self, number: int, entry: Entry) -> bool:
        """Leave alone what is there in place of a directory that nobody could read then, if that is wished."""
        if not self._run.options.spare_unread or entry.state != State.UNREAD:
            return False
        self._directories.put(number, self._run.wanted_attributes(entry), Finish.NOTHING)
        self._run.counts.left_alone += 1
        return True

    def _enter_top(self, directory: WantedDir) -> Level | None:
        top = self._top
        if top.fd is not None and not top.made and self._spares(TOP, directory.entry):
            self._run.tell_unread(TOP, b"")
            return None
        if top.fd is not None and not top.made:
            level = self._existing(TOP, top.fd, directory)
        else:
            level = self._made_top(directory)
        if top.fd is not None:
            self._stack = DirStack(os.dup(top.fd))
        return level

    def _made_top(self, directory: WantedDir) -> Level:
        is_holder = directory.part is Part.HOLDER
        attributes = self._run.wanted_attributes(directory.entry)
        finish = Finish.NOTHING if is_holder or self._top.fd is None else Finish.GIVE
        self._directories.put(TOP, attributes, finish)
        self._run.counts.created += not is_holder
        if self._top.fd is None:
            return Level(TOP, real=False)
        level = new_level(TOP, self._top.fd, STRIP_ACL | STRIP_FLAGS, self._top.device)
        if is_holder:
            os.fchmod(self._top.fd, self._top.usual_mode)
        return level

    def _enter(self, directory: WantedDir) -> Level | None:
        run, entry = self._run, directory.entry
        parent = self._levels[-1]
        number = run.table.add(parent.number, entry.name)
        if entry.state == State.UNREAD:
            run.tell_unread(number, b"")
        level: Level | None = None
        try:
            live = self._children.stat(parent, self._fd, entry.name)
            if live is not None and self._spares(number, entry):
                return None
            if live is not None and stat.S_ISDIR(live.st_mode):
                level = self._enter_existing(parent, number, directory, live)
                if level is None:
                    return None
            else:
                level = self._make(parent, number, directory, live)
        except OSError as error:
            run.failed.add((parent.number, entry.name))
            run.trouble(number, b"", error)
        if level is None:
            attributes = run.wanted_attributes(entry)
            self._directories.put(number, attributes, Finish.UNREACHABLE)
        return level

    def _make(
        self, parent: Level, number: int, directory: WantedDir, live: os.stat_result | None
    ) -> Level | None:
        run, entry = self._run, directory.entry
        if live is not None and not self._children.make_room(parent, self._fd, entry, live):
            return None
        attributes = run.wanted_attributes(entry)
        if run.options.dry_run or not parent.real:
            self._count_made(live)
            self._directories.put(number, attributes, Finish.NOTHING)
            return Level(number, real=False)
        assert self._stack is not None
        touch(parent, self._fd, self._directories)
        os.mkdir(entry.name, 0o700, dir_fd=self._fd)
        fd = self._stack.push(entry.name)
        try:
            level = new_level(number, fd, parent.how, parent.device)
            if run.options.recognisable:
                settle_early(level, fd, attributes)
        except BaseException:
            self._stack.pop()
            raise
        level.spared = parent.spared
        self._count_made(live)
        self._directories.put(number, attributes, Finish.GIVE)
        return level

    def _count_made(self, live: os.stat_result | None) -> None:
        if live is None:
            self._run.counts.created += 1
        else:
            self._run.counts.overwritten += 1

    def _enter_existing(
        self, parent: Level, number: int, directory: WantedDir, live: os.stat_result
    ) -> Level | None:
        """None if it is left alone with all in it."""
        assert self._stack is not None
        name = directory.entry.name
        closed = self._run.uid != 0 and live.st_mode & _LOOK_INTO != _LOOK_INTO
        if closed and not self._run.options.dry_run:
            open_up(name, self._fd)
        fd = open_dir(name, self._fd)
        if self._run.options.untouched(fd):
            os.close(fd)
            self._run.problem(number, b"", 0, "the repository has its place: left alone")
            attributes = self._run.wanted_attributes(directory.entry)
            self._directories.put(number, attributes, Finish.NOTHING)
            self._run.counts.left_alone += 1
            return None
        if closed and self._run.options.dry_run:
            os.close(fd)
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
        try:
            level = self._existing(number, fd, directory, parent, live if closed else None)
        except BaseException:
            os.close(fd)
            raise
        self._stack.push(name, fd)
        if closed:
            touch(level, fd, self._directories)
        return level

    def _existing(
        self,
        number: int,
        fd: int,
        directory: WantedDir,
        parent: Level | None = None,
        live: os.stat_result | None = None,
    ) -> Level:
        """What is to become of a directory that is there, settled before anything in it changes."""
        run = self._run
        attributes = run.wanted_attributes(directory.entry)
        level = Level(number, real=True)
        level.live = live = live or os.fstat(fd)
        level.device = live.st_dev
        level.empty = False
        level.governed = directory.part in (Part.WHOLE, Part.SOME)
        if parent is not None:
            level.spared = parent.spared or live.st_dev != parent.device
            if self._mounts and not level.spared:
                level.spared = run.table.path(number) in self._mounts
        unsure = directory.doubtful or directory.entry.state == State.UNREAD
        level.spared = level.spared or unsure
        differs = only_time = False
        if level.governed:
            refused = Refusals()
            differs = mend(fd, Kind.DIR, live, attributes, refused, dry_run=True)
            policy = run.options.overwrite
            newer = attributes.mtime_ns > live.st_mtime_ns
            if policy is Overwrite.NEVER or (policy is Overwrite.IF_NEWER and not newer):
                level.governed = False
            if not differs:
                run.counts.unchanged += 1
            elif level.governed and not run.is_saved(run.table.path(number), live):
                level.governed = False
            elif level.governed:
                here = attributes._replace(mtime_ns=live.st_mtime_ns)
                only_time = not mend(fd, Kind.DIR, live, here, refused, dry_run=True)
                run.counts.overwritten += 1
                run.counts.retimed += only_time
            else:
                run.counts.left_alone += 1
        mends = level.governed and differs and not run.options.dry_run
        finish = Finish.RETIME if only_time else Finish.MEND
        self._directories.put(number, attributes, finish if mends else Finish.NOTHING)
        if mends and run.options.saved is not None:
            self._directories.expect(number, live)
        return level
