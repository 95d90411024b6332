"""What a command module says of itself: the frame runs it, help and man pages are made from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from snapfs.cli.frame.invocation import Invocation

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


@dataclass(frozen=True, slots=True)
class Family:
    """A command that consists of others: ``roots list``, ``roots rename``; ``default`` if none is named."""

    commands: Mapping[str, Command[Any]]
    default: str
    description: str
