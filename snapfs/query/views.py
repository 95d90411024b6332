"""What the views are called, and their columns: the contract that ``snapfs-sql.7`` explains."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a view."""

    name: str
    """its name"""
    kind: str
    """text, integer, number or bytes"""
    about: str
    """what it holds"""


@dataclass(frozen=True, slots=True)
class View:
    """A view that sql can query."""

    name: str
    """its name"""
    about: str
    """what it has a row for"""
    columns: tuple[Column, ...]
    """its columns in order"""


def _view(name: str, about: str, text: str) -> View:
    columns = (Column(*line.split(None, 2)) for line in text.strip().splitlines())
    return View(name, about, tuple(columns))


VIEWS = (
    _view(
        "snapshots",
        "each snapshot",
        """
        root          text     label of the root
        name          text     name of the snapshot
        created       text     the time it stands for
        message       text     what its maker wrote
        tags          text     its tags, with blanks between
        pinned        integer  1 if it cannot be deleted
        complete      integer  0 if something could not be read
        files         integer  regular files
        dirs          integer  directories, the root included
        others        integer  symlinks, pipes, sockets and devices
        size          integer  bytes of all files
        stored        integer  bytes that taking it added to the packs
        added         integer  names that are new since the snapshot before
        modified      integer  entries that changed since
        removed       integer  names that are gone since
        id            integer  number of the snapshot; within a root in the order of the chain
        created_ns    integer  the time it stands for, nanoseconds
        finished_ns   integer  when it was complete, nanoseconds
        utc_offset_s  integer  offset of local time from UTC where it was taken, seconds
        tree_digest   text     digest of the whole tree, hexadecimal
        """,
    ),
    _view(
        "entries",
        "each version of each path, with the snapshots that have it",
        """
        root        text     label of the root
        path        text     path from the root; empty for the root itself
        kind        text     file, dir, symlink, fifo, socket, chardev or blockdev
        size        integer  bytes of a file, else 0
        mtime       text     time of last change of the content
        first       text     name of the first snapshot that has it so
        last        text     name of the last one
        latest      integer  1 if the newest snapshot of the root has it so
        mode        text     permission bits in octal, as 0644
        uid         integer  number of the owner
        gid         integer  number of the group
        target      text     what a symlink points to
        digest      text     digest of a file's content, hexadecimal; null for an empty one
        unread      integer  1 if content or children could not be read
        dir         text     path of the directory it is in, empty for the root
        name        text     last part of the path
        first_id    integer  number of the first snapshot
        last_id     integer  number of the last one
        inode       integer  what it is, whatever it is called: hard links share it, renames keep it
        parent      integer  inode of the directory it is in
        content     integer  number of its content, the same for equal bytes
        mtime_s     integer  whole seconds of mtime since 1970
        mtime_nsec  integer  nanoseconds besides
        flags       integer  inode flags, as chattr sets them
        xattrs      bytes    extended attributes and ACLs, packed; null for none
        rdev        integer  device number of a device
        """,
    ),
    _view(
        "changes",
        "each path in which a snapshot differs from the one before it",
        """
        root         text     label of the root
        snapshot     text     name of the snapshot
        letter       text     M changed, + new, - gone, ! could not be read
        path         text     path from the root; empty for the root itself
        what         text     what differs, with commas between; null for + and -
        kind         text     kind of the entry, of one that is gone what it was
        size         integer  bytes of a file, else 0; null for -
        old_size     integer  bytes before; null for +
        dir          text     path of the directory it is in
        name         text     last part of the path
        snapshot_id  integer  number of the snapshot
        previous     text     name of the snapshot before
        previous_id  integer  number of the snapshot before
        inode        integer  inode at the path; null for -
        old_inode    integer  inode that was at the path before; null for +
        """,
    ),
    _view(
        "blocks",
        "each stored block",
        """
        digest    text     BLAKE3 digest, hexadecimal; null if its pack was lost
        size      integer  bytes of it
        stored    integer  its share of the stored bytes of its segment
        pack      text     name of the pack it is in
        contents  integer  contents that it is a part of
        files     integer  files that have, or had in some snapshot, such a content
        id        integer  number of the block
        """,
    ),
    _view(
        "usage",
        "each snapshot in bytes",
        """
        root           text     label of the root
        snapshot       text     name of the snapshot
        files          integer  regular files
        logical        integer  bytes of all files
        grown          integer  by how much that is more than in the snapshot before
        read           integer  bytes that were read to take it
        new            integer  sizes of new and changed files; what was read again counts
        stored         integer  bytes that taking it added to the packs
        stored_so_far  integer  the same of it and all before it that are still there
        snapshot_id    integer  number of the snapshot
        """,
    ),
    _view(
        "roots",
        "each registered directory",
        """
        root        text     label of the root
        path        text     the directory; null for a stream
        host        text     machine it is on
        snapshots   integer  how many snapshots it has
        latest      text     name of the newest
        created     text     when it was registered
        created_ns  integer  the same, nanoseconds
        id          integer  number of the root
        """,
    ),
    _view(
        "runs",
        "each command that changed something",
        """
        started      text     when it began
        seconds      number   how long it took; null if it was killed or is at work
        exit         integer  its exit code; null likewise
        uid          integer  number of the user
        root         text     label of the root it worked on
        command      text     the command line
        summary      text     what came of it
        started_ns   integer  when it began, nanoseconds
        finished_ns  integer  when it ended, nanoseconds
        id           integer  number of the run
        """,
    ),
)
