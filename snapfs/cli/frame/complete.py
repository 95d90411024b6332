"""What a shell may offer for the word at the cursor: commands, options, snapshots, paths in them.

Called by the scripts of ``snapfs completion``, once per key press: nothing is imported that is not
needed, and whatever fails offers nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from snapfs.cli.frame import commands
from snapfs.cli.frame.command import Command, Family
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Changing, Common
from snapfs.cli.frame.params import Param, params_of
from snapfs.cli.frame.parser import split_leading
from snapfs.cli.frame.paths import path_in
from snapfs.cli.frame.running import load
from snapfs.cli.frame.settings import Environment
from snapfs.cli.frame.shellwords import for_readline, split_line
from snapfs.cli.frame.states import States
from snapfs.cli.frame.streams import Messages, Output, Streams
from snapfs.cli.frame.where import open_to_read
from snapfs.errors import Exit, SnapfsError
from snapfs.model.kinds import Kind
from snapfs.model.names import LATEST
from snapfs.model.reference import LATEST_POINT, read_reference
from snapfs.model.snapshot import StoredSide
from snapfs.tree.listing import list_tree

_MOST = 2000
"""Candidates offered at most."""


def complete(words: Sequence[str], out: Output) -> int:
    """``__complete bash LINE WORD`` or ``__complete zsh|fish WORD...``: one candidate a line."""
    shell, *rest = words
    if shell == "bash":
        line = split_line(rest[0])
        found = (for_readline(word, line.raw, rest[1]) for word in candidates(line.words[1:]))
        offered: Iterable[str] = (word for word in found if word is not None)
    else:
        offered = candidates(rest)
    for word in islice((word for word in offered if word.isprintable()), _MOST):
        out.line(word)
    return Exit.DONE


def candidates(words: Sequence[str]) -> Iterator[str]:
    """Full words that may stand for the last one."""
    try:
        yield from _candidates(list(words))
    except Exception:
        return


def _candidates(words: list[str]) -> Iterator[str]:
    typed = words[-1]
    _, rest = split_leading(Changing, words[:-1])
    if not rest:
        names = (listed.name for listed in commands.COMMANDS)
        options = _option_names(params_of(Changing))
        yield from _starting(typed, options if typed.startswith("-") else names)
        return
    listed = commands.find(rest[0])
    if listed is None:
        return
    loaded = load(listed)
    own = rest[1:]
    if isinstance(loaded, Family):
        if not own:
            yield from _starting(typed, loaded.names)
            return
        member = loaded.member(own[0])
        if member is None:
            return
        loaded, own = load(member), own[1:]
    yield from _of_command(loaded, own, typed, words)


def _of_command(
    command: Command[Any], own: list[str], typed: str, words: list[str]
) -> Iterator[str]:
    params = params_of(command.arguments)
    by_name = {name: param for param in params for name in param.names}
    before = own[-1] if own else ""
    option, equals, text = typed.partition("=")
    if typed.startswith("--") and equals and option in by_name:
        yield from (f"{option}={v}" for v in _values(by_name[option], text, words))
    elif before in by_name and not by_name[before].is_flag:
        yield from _values(by_name[before], typed, words)
    elif typed.startswith("-"):
        yield from _starting(typed, _option_names(params))
    else:
        arguments = [param for param in params if not param.names and not param.literal]
        if arguments:
            place = _operands(own, by_name)
            yield from _values(arguments[min(place, len(arguments) - 1)], typed, words)


def _operands(own: Sequence[str], by_name: dict[str, Param]) -> int:
    """How many arguments stand before the cursor."""
    count = 0
    skip = False
    for word in own:
        if skip:
            skip = False
        elif word in by_name:
            skip = not by_name[word].is_flag
        elif not word.startswith("-"):
            count += 1
    return count


def _values(param: Param, typed: str, words: list[str]) -> Iterator[str]:
    if param.choices:
        yield from _starting(typed, param.choices)
    elif param.completes in {"reference", "snapshot", "root"}:
        invocation = _invocation(words)
        with open_to_read(invocation) as repository:
            states = States(invocation, repository)
            yield from _in_repository(param.completes, typed, states)


def _in_repository(what: str, typed: str, states: States) -> Iterator[str]:
    if what == "root":
        yield from _starting(typed, (root.label for root in states.roots))
        return
    if what == "reference" and ":" in typed:
        yield from _paths(typed, states)
        return
    prefix, at, _ = typed.rpartition("@")
    names: list[str] = []
    if at:
        root = states.named_root(prefix)
        names = [f"{prefix}@{word}" for word in _names(states, root.id)]
    else:
        try:
            names = _names(states, states.root().id)
        except SnapfsError:
            pass
        names += [f"{root.label}@" for root in states.roots]
    yield from _starting(typed, names)


def _names(states: States, root_id: int) -> list[str]:
    """Newest first, since that is what is meant most often."""
    chain = states.repository.snapshots(root_id)
    return [LATEST, *(snapshot.name for snapshot in reversed(chain))] if chain else []


def _paths(typed: str, states: States) -> Iterator[str]:
    """Names in the directory that PATH has come to."""
    folder, slash, _ = typed.rpartition("/")
    place = folder if slash and ":" in folder else typed[: _colon(typed)]
    reference = read_reference(place if ":" in place else f"{place}:", default=LATEST_POINT)
    if reference is None:
        return
    side = states.side(reference)
    head = f"{folder}/" if slash and ":" in folder else f"{place}:"
    path = path_in(states, reference, side.root)
    if not isinstance(side, StoredSide):
        return
    for listed in list_tree(states.repository, side, path, recursive=False):
        name = listed.path.rpartition(b"/")[2].decode("utf-8", "surrogateescape")
        word = head + name + ("/" if listed.entry.kind == Kind.DIR else "")
        if word.startswith(typed):
            yield word


def _colon(typed: str) -> int:
    """Where SNAPSHOT ends: the first colon after which a path may stand."""
    for at, char in enumerate(typed):
        if char == ":" and read_reference(f"{typed[:at]}:", default=LATEST_POINT) is not None:
            return at
    raise ValueError(typed)


def _invocation(words: Sequence[str]) -> Invocation:
    """Enough of an invocation to open the repository that the words mean."""
    common = Common()
    for index, word in enumerate(words[:-2]):
        if word in {"-r", "--repo"}:
            common = replace(common, repo=words[index + 1])
        elif word.startswith("--repo="):
            common = replace(common, repo=word.removeprefix("--repo="))
        elif word == "--root":
            common = replace(common, root=words[index + 1])
    environment = Environment(os.environb)
    if common.repo is None:
        settings = environment.settings(None)
        repo = settings(next(p for p in params_of(Common) if p.field == "repo"))
        common = replace(common, repo=repo.texts[0] if repo else None)
    return Invocation("completion", (), common, {}, environment, Streams(Output(), Messages()))


def _option_names(params: Iterable[Param]) -> Iterator[str]:
    for param in params:
        if param.names:
            yield param.name
    yield "--help"


def _starting(typed: str, words: Iterable[str]) -> Iterator[str]:
    return (word for word in words if word.startswith(typed))
