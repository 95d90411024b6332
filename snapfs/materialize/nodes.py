"""Making what is neither file nor directory: symlinks, pipes, sockets, devices."""

from __future__ import annotations

import contextlib
import errno
import os

from snapfs.fs import temporary
from snapfs.fs.handles import open_path, proc_path
from snapfs.fs.special import make_node
from snapfs.fs.xattrs import ACCESS_ACL, drop_xattr
from snapfs.materialize.attributes import KEEP, USUAL_TIMES, Refusals, give
from snapfs.materialize.filewriter import CLEAN, DIRECT, REPLACES, STRIP_ACL
from snapfs.materialize.naming import Seen, give_name
from snapfs.materialize.run import Run
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind


def make_other(
    run: Run, dir_fd: int, entry: Entry, how: int, before: Seen | None
) -> Refusals | None:
    """Make the entry in an open directory with all its attributes; ``how`` and ``before`` as for
    files.

    Raises OSError if it cannot be made.
    """
    if how & DIRECT:
        return _make(run, dir_fd, entry, how)
    for _ in range(2):
        working_name = temporary.new_name()
        try:
            refused = _make(run, dir_fd, entry._replace(name=working_name), how)
            replaces = bool(how & REPLACES)
            give_name(working_name, entry.name, dir_fd, replaces=replaces, before=before)
            return refused
        except FileNotFoundError:
            # Another run took it for abandoned (`temporary.remove_abandoned`).
            continue
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(working_name, dir_fd=dir_fd)
            raise
    raise FileNotFoundError(errno.ENOENT, "somebody removes what is written", entry.name)


def _make(run: Run, dir_fd: int, entry: Entry, how: int) -> Refusals | None:
    name, wanted = entry.name, run.wanted_attributes(entry)
    if entry.kind == Kind.SYMLINK:
        os.symlink(entry.target, name, dir_fd=dir_fd)
        ours = wanted.uid in (KEEP, run.uid) and wanted.gid in (KEEP, run.gid)
        if how & CLEAN and ours and not wanted.xattr and wanted.mtime_ns in USUAL_TIMES:
            # Nobody else can put anything in its place there, so the name will do.
            times = (wanted.mtime_ns, wanted.mtime_ns)
            os.utime(name, ns=times, dir_fd=dir_fd, follow_symlinks=False)
            return None
    else:
        make_node(name, dir_fd, entry.kind, 0o600, entry.rdev)
    refused = Refusals()
    fd = open_path(name, dir_fd)
    try:
        where = proc_path(fd)
        if how & STRIP_ACL and entry.kind != Kind.SYMLINK:
            drop_xattr(where, ACCESS_ACL)
        give(where, entry.kind, wanted, refused)
    finally:
        os.close(fd)
    return refused
