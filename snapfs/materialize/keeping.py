"""Live entries that already have the wanted bytes: only their attributes are mended."""

from __future__ import annotations

import errno
import os

from snapfs.fs.handles import open_path, proc_path
from snapfs.materialize.attributes import Refusals, mend
from snapfs.materialize.links import Leader, Links
from snapfs.materialize.run import Run
from snapfs.materialize.wanted import Overwrite, Same, Source
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind


class Keeper:
    """Decides which live entries stay."""

    def __init__(self, run: Run, source: Source, links: Links) -> None:
        self._run = run
        self._linked = source.linked
        self._links = links
        self._dry = run.options.dry_run

    def keep(self, directory: int, fd: int, entry: Entry, live: os.stat_result) -> bool:
        """Keep a live entry of the right kind if it has the right bytes, mending its attributes.

        False if it is to be made anew. Raises OSError.
        """
        linked = entry.inode in self._linked
        leader = self._links.leader(entry.inode) if linked else None
        if leader is not None:
            # What the inode is to have was settled with its leader.
            if leader.kept != (live.st_dev, live.st_ino):
                return False
            self._run.counts.unchanged += 1
            self._run.progress.advance(entries=1)
            return True
        same = self._sameness(fd, entry, live)
        if same == Same.NO:
            return False
        shared = live.st_nlink > 1
        if shared and not self._links.claim(live, entry.inode):
            return False
        changed = False
        if same != Same.ALL and self._mend(directory, fd, entry, live, dry_run=True):
            if shared:
                # Other names, perhaps outside, would change with it.
                self._links.disclaim(live)
                return False
            if not self._run.is_saved(self._run.table.path(directory, entry.name), live):
                self._run.passed(entry)
                return True
            changed = True
            if not self._dry:
                self._mend(directory, fd, entry, live, dry_run=False)
        if linked:
            kept = (live.st_dev, live.st_ino)
            self._links.lead(entry.inode, Leader(directory, entry.name, kept))
        return self._count_kept(entry, changed)

    def _count_kept(self, entry: Entry, changed: bool) -> bool:
        if changed:
            self._run.counts.overwritten += 1
        else:
            self._run.counts.unchanged += 1
        self._run.passed(entry)
        return True

    def _sameness(self, fd: int, entry: Entry, live: os.stat_result) -> Same:
        if entry.kind == Kind.FILE:
            if self._run.options.overwrite is not Overwrite.IF_CHANGED:
                return Same.NO
            return self._run.options.same(entry, live, fd)
        if entry.kind == Kind.SYMLINK:
            equal = os.readlink(entry.name, dir_fd=fd) == entry.target
        elif entry.kind in (Kind.CHAR, Kind.BLOCK):
            equal = live.st_rdev == entry.rdev
        else:
            equal = True
        return Same.BYTES if equal else Same.NO

    def _mend(
        self, directory: int, fd: int, entry: Entry, live: os.stat_result, *, dry_run: bool
    ) -> bool:
        """Give a live entry the wanted attributes; whether it lacked any."""
        refused = Refusals()
        held = open_path(entry.name, fd)
        try:
            found = os.fstat(held)
            if (found.st_dev, found.st_ino) != (live.st_dev, live.st_ino):
                raise OSError(errno.ESTALE, "changed while it was looked at")
            wanted = self._run.wanted_attributes(entry)
            changed = mend(proc_path(held), entry.kind, found, wanted, refused, dry_run=dry_run)
        finally:
            os.close(held)
        if not dry_run:
            self._run.refusals(directory, entry.name, refused)
        return changed
