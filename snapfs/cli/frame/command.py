"""What a command module says of itself: the frame runs it, help and man pages are made from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from snapfs.cli.frame.commands import Listed
from snapfs.cli.frame.invocation import Invocation
from snapfs.errors import Exit

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Example:
    """A command line that can be typed, and what it does."""

    line: str
    what: str


@dataclass(frozen=True, slots=True)
class Command(Generic[A]):
    """One command.

    ``synopsis`` has its forms without ``snapfs``; ``description`` consists of paragraphs with words
    to be typed in backticks. ``run`` returns the exit code; ``schemas`` names the JSON it prints.
    """

    arguments: type[A]
    run: Callable[[A, Invocation], int]
    synopsis: tuple[str, ...]
    description: str
    examples: tuple[Example, ...] = ()
    schemas: tuple[str, ...] = ()
    failure: Exit | None = None
    """exit code of every failure, where the other codes are those of a command that is run"""


@dataclass(frozen=True, slots=True)
class Family:
    """A command that consists of others: ``roots list``, ``roots rename``; ``default`` if none is named."""

    members: tuple[Listed, ...]
    default: str
    description: str

    @property
    def names(self) -> list[str]:
        """The members' names without the family's."""
        return [listed.name.split()[1] for listed in self.members]

    def member(self, name: str) -> Listed | None:
        """The member of that name."""
        return dict(zip(self.names, self.members, strict=True)).get(name)
