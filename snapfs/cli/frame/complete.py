"""What a shell may offer for the word at the cursor: commands, options, snapshots, paths in them.

Called by the scripts of ``snapfs completion``, once per key press: nothing is imported that is not
needed, and whatever fails offers nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from snapfs.cli.frame import commands
from snapfs.cli.frame.declared import CHANGING, DECLARED
from snapfs.cli.frame.params import Param
from snapfs.cli.frame.parser import split_leading
from snapfs.cli.frame.shellwords import for_readline, split_line, starting
from snapfs.cli.frame.streams import Output
from snapfs.errors import Exit

_MOST = 2000
"""Candidates offered at most."""
_STEPS = 8
"""Directories with a single entry that are stepped into at most."""
_OPEN_ENDS = ("@", ":", "/")
"""What a word ends with that goes on."""
FILES = {
    "path": "default",
    "directory": "dirnames",
    "root": "dirnames",
    "root-or-directory": "plusdirs",
    "state": "default",
    "stored-path": "default",
}
"""By what a word is: the file names that fit."""
WORDS = frozenset({
    "reference", "file", "snapshot", "range", "state", "root", "root-or-directory", "stored-path"
})  # fmt: skip
"""What the repository is asked for."""


class Offer(NamedTuple):
    """Full words that may stand for the one at the cursor, and which file names besides.

    ``files`` is what bash calls it: ``default`` any, ``dirnames`` directories, both only if there
    is no word; ``plusdirs`` directories as well; empty: none.
    """

    words: Iterable[str] = ()
    files: str = ""


def complete(words: Sequence[str], out: Output) -> int:
    """``__complete bash LINE PART`` or ``__complete zsh|fish WORD...``.

    The first line says which file names fit (for bash: all options of ``compopt``), then comes one
    candidate a line.
    """
    shell, *rest = words
    if shell == "bash":
        found, files = _for_bash(*rest)
    else:
        found, files = offer(rest)
    out.line(files)
    for word in islice((word for word in found if word.isprintable()), _MOST):
        out.line(word)
    return Exit.DONE


def _for_bash(line: str, part: str) -> Offer:
    """``part`` is what readline takes for the word, since it breaks words at ``@ : =`` too."""
    typed = split_line(line)
    head = split_line(typed.raw[: len(typed.raw) - len(part)])
    words, files = offer(typed.words[1:])
    found = list(islice(words, _MOST))
    steps = 0
    while head.quote and len(found) == 1 and found[0].endswith(_OPEN_ENDS) and steps < _STEPS:
        # Readline would close the quotes after a word that goes on.
        further = list(offer([*typed.words[1:-1], found[0]]).words)
        found, steps = further or found, steps + (1 if further else _STEPS)
    written = [for_readline(word, typed.raw, part) for word in found]
    goes_on = len(found) == 1 and found[0].endswith(_OPEN_ENDS)
    options = [files] if files else []
    return Offer(
        [word for word in written if word is not None],
        " ".join([*options, "nospace"] if goes_on else options),
    )


def offer(words: Sequence[str]) -> Offer:
    """What may stand for the last word; nothing where anything goes wrong."""
    try:
        found, files = _offer(list(words))
        return Offer(_as_long_as_it_goes(found), files)
    except Exception:
        return Offer()


def _as_long_as_it_goes(words: Iterable[str]) -> Iterator[str]:
    try:
        yield from words
    except Exception:
        return


def _offer(words: list[str]) -> Offer:
    typed = words[-1]
    by_name = _by_name(CHANGING)
    if len(words) > 1 and words[-2] in by_name and not by_name[words[-2]].is_flag:
        return _values(by_name[words[-2]], typed, words)
    _, rest = split_leading(CHANGING, words[:-1])
    if not rest:
        if typed.startswith("-"):
            return _option(typed, CHANGING, words)
        return Offer(starting(typed, (listed.name for listed in commands.COMMANDS)))
    return _of_command(rest[0], rest[1:], typed, words)


def _of_command(name: str, own: list[str], typed: str, words: list[str]) -> Offer:
    members = [key.split()[1] for key in DECLARED if key.startswith(f"{name} ")]
    if members:
        if not own:
            return Offer(starting(typed, members))
        name, own = f"{name} {own[0]}", own[1:]
    params = DECLARED.get(name, ())
    by_name = _by_name(params)
    before = own[-1] if own else ""
    if "--" in own and any(param.literal for param in params):
        return Offer(files="default")
    if "--" not in own and before in by_name and not by_name[before].is_flag:
        return _values(by_name[before], typed, words)
    if "--" not in own and typed.startswith("-"):
        return _option(typed, params, words)
    arguments = [param for param in params if not param.names and not param.literal]
    if not arguments:
        return Offer()
    operands = _operands(own, by_name)
    place = len(operands)
    if place >= len(arguments) and not arguments[-1].many:
        return Offer()
    return _values(arguments[min(place, len(arguments) - 1)], typed, words, operands)


def _option(typed: str, params: Sequence[Param], words: list[str]) -> Offer:
    """An option, or the value that is typed behind its ``=``."""
    name, equals, text = typed.partition("=")
    if not equals:
        return Offer(starting(typed, _option_names(params)))
    values, files = _values(_by_name(params)[name], text, words)
    return Offer((f"{name}={value}" for value in values), files)


def _by_name(params: Iterable[Param]) -> dict[str, Param]:
    return {name: param for param in params for name in param.names}


def _operands(own: Sequence[str], by_name: dict[str, Param]) -> list[str]:
    """The arguments that stand before the cursor."""
    found: list[str] = []
    skip = False
    for word in own:
        if skip:
            skip = False
        elif word in by_name:
            skip = not by_name[word].is_flag
        elif not word.startswith("-"):
            found.append(word)
    return found


def _values(param: Param, typed: str, words: list[str], operands: Sequence[str] = ()) -> Offer:
    if param.choices:
        return Offer(starting(typed, param.choices))
    files = FILES.get(param.completes, "")
    if param.completes not in WORDS:
        return Offer(files=files)
    # Commands and options need no repository, nor what opens one.
    from snapfs.cli.frame.storedwords import stored_words

    return Offer(stored_words(param.completes, typed, words, operands), files)


def _option_names(params: Iterable[Param]) -> Iterator[str]:
    for param in params:
        if param.names:
            yield param.name
    yield from ("--help", "--version")
