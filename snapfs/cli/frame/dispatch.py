"""From a command line to a command and its exit code; the only place that catches every error."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

from snapfs.cli.frame import commands
from snapfs.cli.frame.streams import (
    Messages,
    Output,
    OutputClosed,
    Streams,
    encode,
    fill_closed_descriptors,
    words_as_text,
)
from snapfs.errors import Exit, UsageError
from snapfs.model.quote import quote_text

_PIPE_CODE = 141
"""128 + SIGPIPE, as for any program whose reader goes away."""


def run(argv: Sequence[str] | None) -> int:
    """Run a command line; every error is told here."""
    fill_closed_descriptors()
    words = words_as_text(list(sys.argv[1:] if argv is None else argv))
    streams = Streams(Output(), Messages())
    try:
        code = _run(words, streams)
        streams.out.flush()
        return code
    except OutputClosed:
        return _PIPE_CODE
    except Exception as error:
        from snapfs.cli.frame.failure import tell

        return tell(error, words, streams)


def _run(words: list[str], streams: Streams) -> int:
    from snapfs.cli.frame.overview import overview, version

    if words[:1] == ["--version"]:
        streams.out.line(version())
        return Exit.DONE
    if words in (["-h"], ["--help"], ["help"]):
        streams.out.line(overview())
        return Exit.DONE
    if words[:1] == ["__complete"]:
        from snapfs.cli.frame.complete import complete

        return complete(words[1:], streams.out)
    return _run_command(words, streams)


def _run_command(words: list[str], streams: Streams) -> int:
    from snapfs.cli.frame.options import Changing
    from snapfs.cli.frame.parser import HelpRequested, split_leading

    leading, rest = split_leading(Changing, words)
    if rest[:1] == ["help"] and len(rest) > 1:
        leading, rest = [], [rest[1], "--help"]
    if rest and rest[0] == "--":
        raise UsageError("a command must come before --")
    listed = commands.find(rest[0]) if rest else commands.START
    if listed is None:
        raise UsageError(
            f"{quote_text(rest[0])} is no command", subject=rest[0], hint=commands.suggest(rest[0])
        )
    loaded = load(listed)
    try:
        name, command, own = _member(listed.name, loaded, rest[1:])
        return _invoke(name, command, [*leading, *own], words, streams)
    except HelpRequested:
        from snapfs.cli.frame.help import command_help

        streams.out.line(command_help(listed, loaded))
        return Exit.DONE


def load(listed: commands.Listed) -> Any:
    """The ``Command`` or ``Family`` of a module; the only late import of the package."""
    return importlib.import_module(listed.module).COMMAND


def _member(name: str, loaded: Any, words: list[str]) -> tuple[str, Any, list[str]]:
    """The command itself, or the one of a family that the next word names."""
    from snapfs.cli.frame.command import Command, Family
    from snapfs.cli.frame.options import Changing
    from snapfs.cli.frame.parser import split_leading

    if isinstance(loaded, Command):
        return name, loaded, words
    assert isinstance(loaded, Family)
    leading, rest = split_leading(Changing, words)
    member = rest[0] if rest else loaded.default
    command = loaded.commands.get(member)
    if command is None:
        raise UsageError(
            f"{name} {quote_text(member)} is no command",
            subject=member,
            hint=f"there is {', '.join(f'{name} {known}' for known in loaded.commands)}",
        )
    return f"{name} {member}", command, [*leading, *rest[1:]]


def _invoke(name: str, command: Any, own: list[str], words: list[str], streams: Streams) -> int:
    from snapfs import faults
    from snapfs.cli.frame.invocation import Invocation
    from snapfs.cli.frame.parser import parse
    from snapfs.cli.frame.settings import Environment

    environment = Environment(os.environb)
    crash_at = environment.text("SNAPFS_CRASH_AT")
    if crash_at is not None:
        faults.arm(crash_at)
    parsed = parse(command.arguments, own, environment.settings)
    invocation = Invocation(
        command=name,
        words=tuple(encode(word) for word in words),
        common=parsed.arguments,
        origins=parsed.origins,
        environment=environment,
        streams=streams,
    )
    return int(command.run(parsed.arguments, invocation))
