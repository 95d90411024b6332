"""What is to stand on disk, and under which terms: the input of `materialize` and its result."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import NamedTuple

from snapfs.materialize.owners import OwnerRule
from snapfs.materialize.places import Place
from snapfs.model.entry import Entry


class Part(Enum):
    """How much of a directory is wanted."""

    WHOLE = "whole"
    """The directory itself with all that is in it: gets its attributes; what else it holds may go."""

    WAY = "way"
    """It only leads to what is wanted: gets its attributes if it had to be made, else is left as it is."""

    SOME = "some"
    """It gets its attributes, and of its names those that are wanted or go; what else it holds is left as it is."""

    HOLDER = "holder"
    """A place that is not in the snapshot: made like any new directory, never given attributes."""


class WantedDir(NamedTuple):
    """One directory with the names wanted in it.

    They come in depth-first order: a directory, then each wanted subdirectory followed by all below it.
    ``depth`` is 0 for the target itself (whose name means nothing). ``children`` are read once, before
    the next directory is asked for, or not at all; every name once, in order of bytes, subdirectories
    included. A subdirectory that is named but never comes itself is left as it is.
    """

    depth: int
    entry: Entry
    children: Iterable[Entry]
    part: Part = Part.WHOLE
    gone: Iterable[bytes] = ()
    """Names, none of a child, that are to go (`MaterializeOptions.delete`) from a directory that is not WHOLE.
    Read once, after the children."""
    doubtful: bool = False
    """What is known of it is damaged: there may be more children, so nothing in and below it is deleted."""


class Same(IntEnum):
    """What is known of a live entry beside the wanted one of the same kind."""

    NO = 0
    BYTES = 1
    """It has the wanted bytes; attributes are to be compared and mended."""
    ALL = 2
    """It is the wanted state in everything that is kept, attributes included."""


class Overwrite(Enum):
    """What happens to a live entry that is not a directory and whose name is wanted."""

    ALWAYS = "always"
    IF_CHANGED = "if-changed"
    """Unless `MaterializeOptions.same` says that it has the bytes; then only attributes are mended."""
    IF_NEWER = "if-newer"
    """Only if the wanted one was modified later."""
    NEVER = "never"


class Source(NamedTuple):
    """Where bytes come from.

    ``repository`` is the folder that holds ``packs/``; ``locate`` gives the extents of contents (what it
    leaves out is lost); ``linked`` are the inodes that have several names in what is wanted.
    """

    repository: bytes
    locate: Callable[[Sequence[int]], Mapping[int, Iterable[Place]]]
    linked: Container[int] = frozenset()


def nothing_same(_entry: Entry, _live: os.stat_result, _dir_fd: int) -> Same:
    """Believe no live file."""
    return Same.NO


def nothing_protected(_parts: tuple[bytes, ...], _name: bytes, _is_dir: bool) -> bool:
    """Everything that is not wanted may be deleted."""
    return False


def nothing_untouched(_dir_fd: int) -> bool:
    """Every directory may be entered."""
    return False


class Moved(NamedTuple):
    """What was moved and goes from where it is, which it does only once it is back where it was."""

    is_end: Callable[[bytes], bool]
    """Whether a path from the target, or something below it, is such an end."""
    stay: Callable[[Sequence[bytes]], Container[bytes]]
    """Those ends that stay, since these paths could not be made."""


@dataclass(frozen=True, slots=True)
class MaterializeOptions:
    """Terms of one run."""

    overwrite: Overwrite = Overwrite.ALWAYS
    delete: bool = False
    """Remove what a WHOLE directory holds beside what is wanted (never mounts or what is protected)."""
    spare_unread: bool = False
    """Leave alone, with all in it, what has the place of a directory that the snapshot could not read."""
    sparse: bool = False
    """Leave runs of zeros out, as holes."""
    dry_run: bool = False
    """Change nothing and count what would be."""
    owner: OwnerRule = field(default_factory=OwnerRule)
    workers: int = 2
    """Processes that write files, if there is enough to write; 0 for none."""
    same: Callable[[Entry, os.stat_result, int], Same] = nothing_same
    """Asked with IF_CHANGED for live regular files (third: descriptor of the directory)."""
    protected: Callable[[tuple[bytes, ...], bytes, bool], bool] = nothing_protected
    """Asked before a live entry is deleted: names down to its directory, its name, whether it is one."""
    untouched: Callable[[int], bool] = nothing_untouched
    """Says of an open directory whether nothing is done in it, be it wanted or not: the repository's."""
    saved: Callable[[bytes, os.stat_result], bool] | None = None
    """Asked before a live entry goes, is replaced or gets other attributes (path from the target, its stat):
    False leaves it alone, with all in it, and tells so."""
    recognisable: bool = False
    """What a killed run leaves is as wanted but for times of directories and what has a temporary name: no file
    gets its name before it is finished, and a directory has its owner and mode before anything is put into it."""
    moved: Moved | None = None
    """What is deleted last, or not at all."""
    deleting: Callable[[tuple[bytes, ...], bytes], None] | None = None
    """Told of each entry that goes (or would) because it is not wanted, a directory for all in it."""


@dataclass(frozen=True, slots=True)
class MaterializeResult:
    """Counts of entries, directories included; the five exclude each other."""

    created: int
    overwritten: int
    """Replaced by other bytes or another kind, or given other attributes."""
    deleted: int
    left_alone: int
    """Differ from what is wanted, or are not wanted, and stay: policy, protection, mount points, no deletion."""
    unchanged: int
    """Were already as wanted."""
    written_bytes: int
    problems: int
    """Entries that are not as wanted because of an error, reported to ``progress.problem``."""
    retimed: int
    """Of the overwritten: directories that were there and got their time, and nothing else."""
