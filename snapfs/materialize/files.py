"""From wanted regular files to jobs: where their bytes are is asked for many at a time."""

from __future__ import annotations

from collections.abc import Iterable

from snapfs.materialize.dirtable import DirCache
from snapfs.materialize.dispatch import Dispatcher
from snapfs.materialize.filewriter import REPLACES, FileJob, Report, Trouble
from snapfs.materialize.largefile import LARGE_BYTES, LargeFile
from snapfs.materialize.links import Links
from snapfs.materialize.naming import Seen
from snapfs.materialize.places import Place
from snapfs.materialize.run import Run
from snapfs.materialize.wanted import Source
from snapfs.model.entry import Entry
from snapfs.model.extents import ExtentKind

_LOCATE_FILES = 1024
_PUMP_FILES = 256
_SET_ID = 0o6000
_BLOCK = int(ExtentKind.BLOCK)


_Pending = tuple[int, int, Entry, Seen | None]
"""Directory, how to write (``filewriter``), what, and in place of what."""


class Files:
    """Takes wanted files, passes jobs on."""

    def __init__(
        self, run: Run, source: Source, dirs: DirCache, dispatcher: Dispatcher, links: Links
    ) -> None:
        self._run = run
        self._source = source
        self._dirs = dirs
        self._dispatcher = dispatcher
        self._links = links
        self._pending: list[_Pending] = []
        self._large: list[LargeFile] = []
        self._plain_owners = run.options.owner.is_plain

    def add(self, directory: int, how: int, entry: Entry, before: Seen | None = None) -> None:
        """Write this file some time before `finish` returns."""
        self._pending.append((directory, how, entry, before))
        if not len(self._pending) % _PUMP_FILES:
            if len(self._pending) >= _LOCATE_FILES:
                self.flush()
            self._dispatcher.pump()

    def flush(self) -> None:
        """Make jobs of what was added."""
        pending, self._pending = self._pending, []
        contents = {entry.content for _, _, entry, _ in pending if entry.size < LARGE_BYTES}
        contents.discard(0)
        found = self._source.locate(list(contents)) if contents else {}
        plain: dict[int, tuple[Place, ...]] = {0: ()}
        jobs: list[FileJob] = []
        for item in pending:
            entry = item[2]
            content = entry.content
            if entry.size >= LARGE_BYTES:
                self._write_large(item)
                continue
            places = plain.get(content)
            if places is None:
                if content not in found:
                    self._lost(item)
                    continue
                places = plain[content] = tuple([_plain(place) for place in found[content]])
            jobs.append(self._job(item, places))
        self._dispatcher.add(jobs)

    def finish(self) -> None:
        """Return when every file stands."""
        self.flush()
        self._dispatcher.finish()

    def abandon(self) -> None:
        """Remove what is not finished; the dispatcher is closed."""
        for large in self._large:
            if not large.is_done:
                large.abandon()

    def _job(self, item: _Pending, places: tuple[Place, ...]) -> FileJob:
        directory, how, entry, before = item
        name, inode, _, mode, uid, gid, flags, xattr, size, mtime_s, mtime_nsec = entry[:11]
        mtime_ns = mtime_s * 1_000_000_000 + mtime_nsec
        if not self._plain_owners:
            mode, uid, gid, flags, xattr, _ = self._run.wanted_attributes(entry)
        self._run.set_id_files += bool(mode & _SET_ID)
        if flags and inode in self._source.linked:
            self._links.flags_later(directory, name, flags)
            flags = 0
        return FileJob(
            directory, name, mode, uid, gid, flags, xattr, mtime_ns, size, how, places, before
        )

    def _write_large(self, item: _Pending) -> None:
        content = item[2].content
        found: Iterable[Place] | None = self._source.locate([content]).get(content)
        if found is None:
            self._lost(item)
            return
        try:
            large = LargeFile(self._run, self._dirs, self._job(item, ()))
        except OSError as error:
            self._run.stop_if_full(error)
            self._fail(item, error.errno or 0, error.strerror or str(error))
            return
        self._large = [other for other in self._large if not other.is_done]
        self._large.append(large)
        large.fill(self._dispatcher, map(_plain, found))

    def _lost(self, item: _Pending) -> None:
        self._fail(item, 0, "damaged: the repository has lost its bytes")

    def _fail(self, item: _Pending, number: int, what: str) -> None:
        directory, how, entry, _ = item
        trouble = Trouble(directory, entry.name, number, what, True, bool(how & REPLACES))
        self._run.report(Report(1, 0, [trouble]))


def _plain(place: Place) -> Place:
    """A bare tuple, which costs a fifth of a named one to send, and no fields that mean nothing."""
    if place[0] == _BLOCK:
        return place[:]
    return (int(place[0]), place[1], b"", "", 0, 0, 0)
