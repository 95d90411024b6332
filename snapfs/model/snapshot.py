"""Roots and snapshots as the operations and the command line speak of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Root:
    """A registered directory."""

    id: int
    """number of the root in this repository"""
    host: str
    """machine the directory is on"""
    path: bytes | None
    """resolved path of the directory; null for a stream without one"""
    label: str
    """unique name of the root"""
    created_ns: int
    """when it was registered"""


@dataclass(frozen=True, slots=True)
class NewRoot:
    """A directory, or a stream, that ``create`` is to register first.

    ``path`` is absolute and resolved, None for a stream. ``nested`` allows it inside or around another root.
    ``label`` None takes the base name, made unique; a stream has one.
    """

    path: bytes | None
    host: str
    nested: bool = False
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One snapshot; ``id`` is the number that users type, unique in the repository."""

    id: int
    """number of the snapshot, unique in the repository, never reused"""
    root_id: int
    """number of its root"""
    name: str
    """name, unique in its root"""
    created_ns: int
    """the time it stands for"""
    finished_ns: int
    """when it was complete"""
    utc_offset_s: int
    """offset of local time from UTC where it was taken, seconds"""
    message: str
    """what its maker wrote, may be empty"""
    tags: tuple[str, ...]
    """tags, sorted"""
    pinned: bool
    """pinned snapshots are never deleted"""
    complete: bool
    """false if something could not be read"""
    files: int
    """regular files"""
    dirs: int
    """directories, the root included"""
    others: int
    """symlinks, pipes, sockets and devices"""
    total_bytes: int
    """size of all files"""
    stored_bytes: int
    """what taking it added to the packs"""
    position: int
    """place in the chain of its root, the oldest is 0"""


@dataclass(frozen=True, slots=True)
class RootSummary:
    """A root with how many snapshots it has and the newest of them."""

    root: Root
    """the root"""
    snapshots: int
    """how many snapshots it has"""
    newest: Snapshot | None
    """the newest of them"""


@dataclass(frozen=True, slots=True)
class StoredSide:
    """A tree as a snapshot recorded it."""

    root: Root
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class LiveSide:
    """A root's directory as it is now on disk, seen with the rules of ``rules_of`` if given."""

    root: Root
    rules_of: Snapshot | None = None


Side = StoredSide | LiveSide
