"""What ``--json`` prints besides the results of operations."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a command ended with an exit code other than 0."""

    kind: str
    """class of the error, as not-found, locked, usage"""
    message: str
    """what went wrong, naming the thing"""
    subject: str
    """the thing concerned: a path, a snapshot, an option; may be empty"""
    hint: str
    """the way out; may be empty"""
    exit: int
    """the exit code"""


@dataclass(frozen=True, slots=True)
class Note:
    """Something the user should know."""

    text: str
    """one line"""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One entry that could not be handled as asked; the run went on."""

    path: bytes
    """path relative to the root"""
    errno: int
    """number of the system error, 0 if none"""
    what: str
    """what happened"""


@dataclass(frozen=True, slots=True)
class Named:
    """How a snapshot is called on the command line."""

    reference: str
    """ROOT@SNAPSHOT, as other commands take it"""
    root: str
    """label of the root"""


@dataclass(frozen=True, slots=True)
class Place:
    """Which path of which snapshot."""

    reference: str
    """ROOT@SNAPSHOT, as other commands take it"""
    path: bytes
    """path relative to the root"""


@dataclass(frozen=True, slots=True)
class Attributes:
    """One entry with what a restore reproduces, as far as it is shown."""

    path: bytes
    """path relative to the root; empty for the root itself"""
    kind: str
    """file, dir, symlink, fifo, socket, chardev or blockdev"""
    mode: str
    """permission bits in octal, as 0644"""
    uid: int
    """number of the owner"""
    gid: int
    """number of the group"""
    user: str | None
    """name the owner had where the snapshot was taken"""
    group: str | None
    """name the group had there"""
    size: int
    """bytes of a file, else 0"""
    mtime_ns: int
    """time of last change of the content"""
    target: bytes | None
    """what a symlink points to"""
    rdev: int | None
    """device number of a device"""
    unread: bool
    """true if content or children could not be read when the snapshot was taken"""


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between two trees."""

    letter: str
    """M modified, + added, - removed, R renamed, ! could not be read"""
    path: bytes
    """path relative to the root; of a rename the new one"""
    old_path: bytes | None
    """of a rename the old path"""
    what: tuple[str, ...]
    """what differs: content, mode, owner, mtime, xattr, target, type and so on"""


@dataclass(frozen=True, slots=True)
class DiffText:
    """The difference of one file's text."""

    path: bytes
    """path relative to the root"""
    diff: str
    """unified diff; what is not UTF-8 in it is shown as \\\\xNN"""


@dataclass(frozen=True, slots=True)
class DiffSummary:
    """How much differs."""

    modified: int
    """entries changed in place"""
    added: int
    """entries only in the second tree"""
    removed: int
    """entries only in the first tree"""
    renamed: int
    """entries under another path"""
    unread: int
    """entries that one side could not read"""
    added_bytes: int
    """by how much files grew or were added"""
    removed_bytes: int
    """by how much files shrank or were removed"""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes of a file."""

    offset: int
    """where they stand in the file"""
    data_b64: str
    """the bytes in base64"""


@dataclass(frozen=True, slots=True)
class Undo:
    """How to take the restore back."""

    undo: str | None
    """a command line; null if nothing was kept"""


@dataclass(frozen=True, slots=True)
class RootState:
    """A registered directory and its snapshots."""

    snapshots: int
    """how many snapshots it has"""
    newest: str | None
    """ROOT@SNAPSHOT of the newest"""
    newest_ns: int | None
    """the time it stands for"""
    size: int | None
    """size of all its files"""


@dataclass(frozen=True, slots=True)
class Script:
    """A completion script."""

    shell: str
    """bash, zsh or fish"""
    script: str
    """what the shell is to read"""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where I stand, and what to type next."""

    repository: bytes | None
    """path of the repository; null if there is none yet"""
    newest: str | None
    """ROOT@SNAPSHOT of the newest snapshot of the root I stand in"""
    next: tuple[str, ...]
    """command lines that make sense now"""
