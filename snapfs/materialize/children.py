"""What to do with each name in one directory: make, replace, keep, leave alone, delete."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from itertools import chain

from snapfs.fs.handles import is_name
from snapfs.materialize.directories import Directories
from snapfs.materialize.files import Files
from snapfs.materialize.filewriter import REPLACES
from snapfs.materialize.keeping import Keeper
from snapfs.materialize.later import Later
from snapfs.materialize.level import Level, list_names, names_by_inode, touch
from snapfs.materialize.links import Leader, Links
from snapfs.materialize.naming import TAKEN, Seen, seen
from snapfs.materialize.nodes import make_other
from snapfs.materialize.removal import Remover, unlink_forced
from snapfs.materialize.run import Run
from snapfs.materialize.wanted import Overwrite, Part, Source, WantedDir
from snapfs.model.entry import Entry
from snapfs.model.kinds import KIND_OF_FORMAT, Kind, State


class Children:
    """Handles the entries of one directory after the other."""

    def __init__(
        self, run: Run, source: Source, directories: Directories, files: Files, links: Links
    ) -> None:
        self._run = run
        self._linked = source.linked
        self._directories = directories
        self._files = files
        self._links = links
        self._remover = Remover(run)
        self.later = Later(run, self._remover)
        self._keeper = Keeper(run, source, links)
        self._dry = run.options.dry_run
        # With other terms whatever has the name is to go, be it what it may by then.
        self._binds = run.options.saved is not None or run.options.overwrite is Overwrite.IF_NEWER

    def go_through(self, level: Level, fd: int, directory: WantedDir) -> None:
        """All wanted children of an open directory (``fd`` means nothing if it is not real)."""
        if not level.empty and directory.part is Part.WHOLE:
            level.names = list_names(level, fd, self._directories, dry_run=self._dry)
            level.empty = not level.names
        if level.empty:
            if level.live is not None and not self._dry:
                touch(level, fd, self._directories)
            self._fill_empty(level, fd, directory)
            return
        deletes = self._run.options.delete and not level.spared
        gone = iter(directory.gone if deletes else ())
        first = next(gone, None)
        if first is not None and level.names is None:
            # Where names are folded, one that goes may be one that is wanted, otherwise spelled.
            level.names = list_names(level, fd, self._directories, dry_run=self._dry)
        for entry in self._nameable(level, directory.children):
            if entry.kind != Kind.DIR:
                if level.names is None:
                    level.names = list_names(level, fd, self._directories, dry_run=self._dry)
                self._settle(level, fd, entry, listed=level.names.take(entry.name))
            elif level.names is not None and not level.names.take(entry.name):
                self._settle_spelling(level, fd, entry)
        if directory.part is not Part.WHOLE:
            if first is not None:
                assert level.names is not None
                dropped = level.names.is_dropped
                self._delete(level, fd, (one for one in chain([first], gone) if not dropped(one)))
        else:
            assert level.names is not None
            untaken = level.names.untaken()
            if deletes:
                self._delete(level, fd, untaken)
            else:
                self._run.counts.left_alone += sum(1 for _ in untaken)
        level.names = None

    def _nameable(self, level: Level, children: Iterable[Entry]) -> Iterator[Entry]:
        """Those whose name cannot lead out of the directory; wherever it came from, it is only a word."""
        for entry in children:
            if is_name(entry.name):
                yield entry
            else:
                what = "no name that an entry can have: the catalog is damaged"
                self._run.problem(level.number, entry.name, 0, what)

    def _fill_empty(self, level: Level, fd: int, directory: WantedDir) -> None:
        """All children of a directory in which every name is free: the way of a restore to a new place."""
        number, how, linked, dry = level.number, level.how, self._linked, self._dry
        add = self._files.add
        count = 0
        for entry in self._nameable(level, directory.children):
            kind = entry.kind
            if kind == Kind.FILE and entry.inode not in linked and entry.state != State.UNREAD:
                count += 1
                if dry:
                    self._run.counts.written_bytes += entry.size
                else:
                    add(number, how, entry)
            elif kind != Kind.DIR:
                self._make_new(level, fd, entry)
        self._run.counts.created += count

    def stat(self, level: Level, fd: int, name: bytes) -> os.stat_result | None:
        """What has this name in an open directory, None for nothing."""
        if level.empty:
            return None
        try:
            return os.stat(name, dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def make_room(self, level: Level, fd: int, entry: Entry, live: os.stat_result) -> bool:
        """Settle what happens to a live entry where one of another kind is wanted.

        False if it stays, which is counted or told here. Afterwards either nothing is in the way, or
        something that a rename replaces.
        """
        if self._stays(entry, live):
            if entry.kind == Kind.DIR:
                what = "is left alone and no directory: nothing that belongs into it is restored"
                self._run.problem(level.number, entry.name, errno.ENOTDIR, what)
            return False
        is_dir = stat.S_ISDIR(live.st_mode)
        options, counts = self._run.options, self._run.counts
        if not self._is_saved(level, entry, live):
            return False
        if options.protected(self._run.table.parts(level.number), entry.name, is_dir):
            self._in_the_way(level, entry, "what has its place is not part of the snapshot")
            return False
        if not is_dir:
            if entry.kind == Kind.DIR and not self._dry:
                touch(level, fd, self._directories)
                unlink_forced(entry.name, fd)
            return True
        if not self._dry:
            touch(level, fd, self._directories)
        if options.delete and not level.spared:
            if self._remover.remove(level.number, fd, entry.name, True):
                counts.deleted -= 1  # the directory itself: it is counted as overwritten
                return True
            what = "the directory in its place holds what may not be deleted"
        elif self._remover.remove_empty(fd, entry.name):
            return True
        else:
            what = "the directory in its place is not empty (--delete would remove it)"
        self._in_the_way(level, entry, what)
        return False

    def _is_saved(self, level: Level, entry: Entry, live: os.stat_result) -> bool:
        path = self._run.table.path(level.number, entry.name)
        if self._run.is_saved(path, live):
            return True
        self._run.failed.add((level.number, entry.name))
        self._run.passed(entry)
        return False

    def _in_the_way(self, level: Level, entry: Entry, what: str) -> None:
        self._run.failed.add((level.number, entry.name))
        self._run.problem(level.number, entry.name, errno.ENOTEMPTY, what)

    def _stays(self, entry: Entry, live: os.stat_result) -> bool:
        """Whether the policy leaves the live entry alone whatever is wanted; counts it."""
        policy = self._run.options.overwrite
        if policy is Overwrite.NEVER or (
            policy is Overwrite.IF_NEWER
            and entry.mtime_s * 1_000_000_000 + entry.mtime_nsec <= live.st_mtime_ns
        ):
            self._run.counts.left_alone += 1
            self._run.passed(entry)
            return True
        return False

    def _settle(self, level: Level, fd: int, entry: Entry, *, listed: bool) -> None:
        """An entry that is no directory, in a directory that held something."""
        try:
            live = self.stat(level, fd, entry.name)
            if live is not None and not listed:
                live = self._take_spelling(level, fd, entry, live)
                if live is None:
                    return
        except OSError as error:
            self._run.trouble(level.number, entry.name, error)
            return
        if live is None:
            self._make_new(level, fd, entry)
            return
        if entry.state == State.UNREAD:
            self._run.tell_unread(level.number, entry.name)
            self._run.counts.left_alone += 1
            return
        try:
            kind = KIND_OF_FORMAT.get(stat.S_IFMT(live.st_mode))
            if kind != entry.kind:
                if self.make_room(level, fd, entry, live):
                    self._make(level, fd, entry, live)
            elif self._stays(entry, live) or self._keeper.keep(level.number, fd, entry, live):
                return
            elif not listed or self._is_saved(level, entry, live):
                self._make(level, fd, entry, live)
        except OSError as error:
            self._run.failed.add((level.number, entry.name))
            self._run.trouble(level.number, entry.name, error)

    def _settle_spelling(self, level: Level, fd: int, entry: Entry) -> None:
        """A directory that was not listed under its name: it may be there all the same."""
        try:
            live = self.stat(level, fd, entry.name)
            if live is not None:
                self._take_spelling(level, fd, entry, live)
        except OSError as error:
            self._run.trouble(level.number, entry.name, error)

    def _take_spelling(
        self, level: Level, fd: int, entry: Entry, live: os.stat_result
    ) -> os.stat_result | None:
        """The wanted name was not listed and yet is there: the filesystem folds case or forms.

        Which names it takes for one only the filesystem knows: that of the same inode is meant, and
        respelled as wanted. None, and told, if a wanted name has it already, or it has only come meanwhile.
        """
        assert level.names is not None
        if level.spellings is None:
            level.spellings = names_by_inode(fd)
        names = level.spellings.get(live.st_ino, [])
        for name in names:
            if level.names.is_untaken(name):
                if not self._dry:
                    touch(level, fd, self._directories)
                    os.rename(name, entry.name, src_dir_fd=fd, dst_dir_fd=fd)
                names.remove(name)
                level.names.drop(name)
                return live
        what = TAKEN
        self._run.problem(level.number, entry.name, errno.EEXIST, what)
        return None

    def _make_new(self, level: Level, fd: int, entry: Entry) -> None:
        """An entry whose name is free."""
        if entry.state == State.UNREAD:
            self._run.tell_unread(level.number, entry.name)
            return
        try:
            self._make(level, fd, entry, None)
        except FileExistsError:
            self._run.failed.add((level.number, entry.name))
            self._run.problem(level.number, entry.name, errno.EEXIST, TAKEN)
        except OSError as error:
            self._run.failed.add((level.number, entry.name))
            self._run.trouble(level.number, entry.name, error)

    def _make(self, level: Level, fd: int, entry: Entry, live: os.stat_result | None) -> None:
        """Make the entry, in place of ``live`` if that is there."""
        counts = self._run.counts
        number, inode = level.number, entry.inode
        before = None if live is None or not self._binds else seen(live)
        if not self._dry:
            touch(level, fd, self._directories)
        linked = inode in self._linked
        leader = self._links.leader(inode) if linked else None
        if leader is not None:
            if not self._dry:
                self._links.follow(
                    inode, number, entry.name, replaces=live is not None, before=before
                )
        else:
            if linked:
                self._links.lead(inode, Leader(number, entry.name, None))
            if self._dry:
                counts.written_bytes += entry.size if entry.kind == Kind.FILE else 0
            else:
                self._write(level, fd, entry, replaces=live is not None, before=before)
        if live is None:
            counts.created += 1
        else:
            counts.overwritten += 1

    def _write(
        self, level: Level, fd: int, entry: Entry, *, replaces: bool, before: Seen | None
    ) -> None:
        how = level.how | (REPLACES if replaces else 0)
        if entry.kind == Kind.FILE:
            self._files.add(level.number, how, entry, before)
            return
        refused = make_other(self._run, fd, entry, how, before)
        if refused:
            self._run.refusals(level.number, entry.name, refused)
        self._run.progress.advance(entries=1)

    def _delete(self, level: Level, fd: int, names: Iterable[bytes]) -> None:
        for name in names:
            try:
                found = os.stat(name, dir_fd=fd, follow_symlinks=False)
            except OSError:
                continue
            if not self._dry:
                touch(level, fd, self._directories)
            if self.later.takes(level.number, name):
                continue
            gone = self._remover.remove(level.number, fd, name, stat.S_ISDIR(found.st_mode))
            if gone and self._run.options.deleting is not None:
                self._run.options.deleting(self._run.table.parts(level.number), name)
