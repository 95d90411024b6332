"""Why a path is left as it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from snapfs.model.quote import quote


class Why(Enum):
    """The kinds of conflict."""

    CHANGED = "changed"
    """It differs from the base."""
    GONE = "gone"
    """The base has it."""
    CAME = "came"
    """The base has nothing of that name."""
    UNREAD_BASE = "unread_base"
    UNREAD_OTHER = "unread_other"
    UNREAD_LIVE = "unread_live"
    NO_DIRECTORY = "no_directory"
    """There is no directory to make it in."""
    HOLDS = "holds"
    """It is a directory that would go, and something in it stays."""
    MOVED = "moved"
    """It is one end of a move, of which the other cannot be undone."""
    LINKED = "linked"
    """It would be linked to, or parted from, a name that is left as it is."""
    MOUNT = "mount"
    """Nothing is deleted there."""
    DAMAGED = "damaged"
    """The catalog is not sure what was there."""
    UNASKED = "unasked"
    """It only leads to what is not made: never told."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why a path is left as it is."""

    why: Why
    what: tuple[str, ...] = ()
    """CHANGED: what differs"""
    path: bytes = b""
    """HOLDS: what stays; MOVED: the other end; LINKED: the other name; NO_DIRECTORY: the directory"""

    def text(self, base: str, other: str) -> str:
        """For people; ``base`` and ``other`` are what the two states are called."""
        path = quote(self.path or b".")
        match self.why:
            case Why.CHANGED:
                return f"{','.join(self.what)} changed since {base}"
            case Why.GONE:
                return f"gone since {base}"
            case Why.CAME:
                return f"came since {base}"
            case Why.UNREAD_BASE:
                return f"could not be read when {base} was taken"
            case Why.UNREAD_OTHER:
                return f"could not be read when {other} was taken"
            case Why.UNREAD_LIVE:
                return "cannot be read"
            case Why.NO_DIRECTORY:
                return f"{path} is no directory now"
            case Why.HOLDS:
                return f"holds {path}, which stays"
            case Why.MOVED:
                return f"moved, and its other end {path} is not as in {base}"
            case Why.LINKED:
                return f"its links go together with {path}, which stays"
            case Why.MOUNT:
                return "on another filesystem, where nothing is deleted"
            case Why.DAMAGED:
                return "the catalog is damaged here: run snapfs verify"
            case Why.UNASKED:
                return "nothing in it is made"
