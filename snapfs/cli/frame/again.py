"""Command lines to type next, which mean the same repository as the one that was typed, and those that were."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from snapfs.cli.frame.commands import COMMANDS
from snapfs.model.quote import quote_text

_COMMAND = re.compile(rf"\bsnapfs (?=(?:{'|'.join(one.name for one in COMMANDS)})\b)")

_WHICH = ("--repo", "--profile")


def with_repository(text: str, words: Sequence[str]) -> str:
    """``text`` with the options for the repository that stand in ``words`` after each ``snapfs``."""
    given = "".join(f"{option} {quote_text(value)} " for option, value in _given(words))
    return _COMMAND.sub(lambda found: found[0] + given, text)


def _given(words: Sequence[str]) -> list[tuple[str, str]]:
    end = words.index("--") if "--" in words else len(words)
    found: dict[str, str] = {}
    for at, word in enumerate(words[:end]):
        name, equals, value = word.partition("=")
        if word in {"-r", "--repo", "--profile"} and at + 1 < end:
            found[word.replace("--repo", "-r")] = words[at + 1]
        elif equals and name in {"--repo", "--profile"}:
            found[name.replace("--repo", "-r")] = value
        elif word.startswith("-r") and len(word) > 2:
            found["-r"] = word[2:]
    return list(found.items())


def without_repository(command: str) -> str:
    """A command line without the options in front that say which repository: its own list has no need of them."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    at = 0
    while at < len(words) and (words[at].startswith("-r") or words[at].startswith(_WHICH)):
        at += 2 if words[at] in ("-r", *_WHICH) else 1
    return shlex.join(words[at:]) if at else command
