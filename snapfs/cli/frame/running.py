"""Running one command: find it, read its words, call it."""

from __future__ import annotations

import importlib
import os
from typing import Any

from snapfs import faults
from snapfs.cli.frame import commands
from snapfs.cli.frame.command import Family
from snapfs.cli.frame.help import command_help
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Changing
from snapfs.cli.frame.overview import overview
from snapfs.cli.frame.params import params_of
from snapfs.cli.frame.parser import HelpRequested, VersionRequested, parse, split_leading
from snapfs.cli.frame.settings import Environment
from snapfs.cli.frame.streams import OutputClosed, Streams, encode
from snapfs.cli.frame.version import Version
from snapfs.cli.render.json import json_line
from snapfs.errors import CommandError, Exit, UsageError
from snapfs.model.quote import quote_text


def run_command(words: list[str], streams: Streams) -> int:
    """Options, a command, its words; the exit code."""
    try:
        return _run_command(words, streams)
    except VersionRequested:
        version = Version()
        as_json = "--json" in words
        text = json_line("version/1", version) if as_json else f"snapfs {version.version}"
        streams.out.line(text)
        return Exit.DONE


def _run_command(words: list[str], streams: Streams) -> int:
    try:
        leading, rest = split_leading(params_of(Changing), words)
        if rest[:1] == ["help"]:
            topics = [word for word in rest[1:] if not word.startswith("-")]
            if not topics:
                raise HelpRequested
            leading, rest = [], [topics[0], "--help"]
    except HelpRequested:
        streams.out.line(overview())
        return Exit.DONE
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
        _refuse_leading(name, command.arguments, leading)
        return _invoke(name, command, [*leading, *own], words, streams)
    except HelpRequested:
        streams.out.line(command_help(loaded, load_all(listed)))
        return Exit.DONE


def load(listed: commands.Listed) -> Any:
    """The ``Command`` or ``Family`` of a module; the only late import of the package."""
    return importlib.import_module(listed.module).COMMAND


def load_all(listed: commands.Listed) -> dict[str, Any]:
    """Every ``Command`` of a name: one, or those of a family by name."""
    loaded = load(listed)
    if isinstance(loaded, Family):
        return dict(zip(loaded.names, map(load, loaded.members), strict=True))
    return {"": loaded}


def _member(name: str, loaded: Any, words: list[str]) -> tuple[str, Any, list[str]]:
    """The command itself, or the one of a family that the next word names."""
    if not isinstance(loaded, Family):
        return name, loaded, words
    leading, rest = split_leading(params_of(Changing), words)
    word = rest[0] if rest else loaded.default
    listed = loaded.member(word)
    if listed is None:
        raise UsageError(
            f"{name} {quote_text(word)} is no command",
            subject=word,
            hint=f"there is {', '.join(member.name for member in loaded.members)}",
        )
    return listed.name, load(listed), [*leading, *rest[1:]]


def _refuse_leading(name: str, arguments: type, leading: list[str]) -> None:
    """Raises UsageError if ``-n`` or ``-y`` stands before a command that does not have it."""
    has = {name for param in params_of(arguments) for name in param.names}
    called, words = name, f"snapfs {name}"
    if name == commands.START.name:
        called = words = "snapfs"
    for option in (word.partition("=")[0] for word in leading):
        if option not in has:
            raise UsageError(
                f"{called} takes no {option}",
                subject=option,
                hint=f"`{words} --help` lists the options",
            )


def _invoke(name: str, command: Any, own: list[str], words: list[str], streams: Streams) -> int:
    try:
        return _call(name, command, own, words, streams)
    except (HelpRequested, VersionRequested, OutputClosed, CommandError):
        raise
    except Exception as error:
        if command.failure is None:
            raise
        from snapfs.cli.frame.failure import as_snapfs_error

        known = as_snapfs_error(error)
        known.exit_code = command.failure
        if known is error:
            raise
        raise known from error


def _call(name: str, command: Any, own: list[str], words: list[str], streams: Streams) -> int:
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
