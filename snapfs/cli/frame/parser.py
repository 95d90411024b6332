"""From words to values, as getopt_long reads them: options anywhere, ``--`` ends them.

An option takes the word after it as its value whatever it looks like. Abbreviations are refused, so
that a new option never changes what an old script means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from snapfs.cli.frame.params import Param, params_of
from snapfs.errors import UsageError
from snapfs.model.quote import quote_text

A = TypeVar("A")
HELP_NAMES = ("-h", "--help")
VERSION_NAME = "--version"
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


class HelpRequested(Exception):  # noqa: N818 (no error)
    """``-h`` or ``--help`` stood on the command line."""


class VersionRequested(Exception):  # noqa: N818 (no error)
    """``--version`` stood on the command line."""


class Setting(NamedTuple):
    """Values of an option that did not come from the command line, and where they came from."""

    origin: str
    texts: Sequence[str]


Settings = Callable[[Param], Setting | None]
"""What the environment or a profile says about an option."""


class Parsed(NamedTuple, Generic[A]):
    """``origins`` has the names of fields that came from settings and where each came from."""

    arguments: A
    origins: dict[str, str]


def parse(
    arguments: type[A], words: Sequence[str], settings_of: Callable[[str | None], Settings]
) -> Parsed[A]:
    """Fill the dataclass ``arguments`` from ``words``, then from the settings of a profile.

    Raises UsageError, or HelpRequested or VersionRequested before values are checked.
    """
    params = params_of(arguments)
    reader = _Reader(params)
    reader.read(words)
    values = reader.values
    _assign([param for param in params if not param.names], reader, values)
    settings = settings_of(values.get("profile"))
    origins: dict[str, str] = {}
    for param in params:
        setting = settings(param) if param.setting and param.field not in values else None
        if setting is not None:
            values[param.field] = _setting_value(param, setting)
            origins[param.field] = setting.origin
    frozen = {
        key: tuple(value) if isinstance(value, list) else value for key, value in values.items()
    }
    return Parsed(arguments(**frozen), origins)


def split_leading(params: Sequence[Param], words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The options before a command's name, spelled long, and the words from the name on."""
    known = _by_name(params)
    leading: list[str] = []
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in {"-", "--"}:
        start = at
        for param, _, text, taken in _read_option(known, words, start):
            leading.append(param.name if text is None else f"{param.name}={text}")
            at += taken
    return leading, list(words[at:])


class _Reader:
    """Options into ``values``, the other words into ``operands`` and ``literals``."""

    def __init__(self, params: Sequence[Param]) -> None:
        self._known = _by_name(params)
        self._keeps_literals = any(param.literal for param in params)
        self.values: dict[str, Any] = {}
        self.operands: list[str] = []
        self.literals: list[str] = []

    def read(self, words: Sequence[str]) -> None:
        at = 0
        while at < len(words):
            word = words[at]
            if word == "--":
                rest = words[at + 1 :]
                (self.literals if self._keeps_literals else self.operands).extend(rest)
                return
            if not word.startswith("-") or word == "-":
                self.operands.append(word)
                at += 1
                continue
            start = at
            for param, given, text, taken in _read_option(self._known, words, start):
                self._set(param, given, text)
                at += taken

    def _set(self, param: Param, given: str, text: str | None) -> None:
        if text is None:
            self.values[param.field] = True
            return
        value = _value(param, text, given)
        if param.many:
            self.values.setdefault(param.field, []).append(value)
        else:
            self.values[param.field] = value


def _by_name(params: Sequence[Param]) -> dict[str, Param]:
    return {name: param for param in params for name in param.names}


def _read_option(
    known: dict[str, Param], words: Sequence[str], at: int
) -> list[tuple[Param, str, str | None, int]]:
    """The options in the word at ``at``: what, as given, its text, how many words it took."""
    word = words[at]
    if word.startswith("--"):
        name, equals, text = word.partition("=")
        param = _find(known, name)
        if param.is_flag:
            if equals:
                raise UsageError(f"{name} takes no value", subject=name)
            return [(param, name, None, 1)]
        if equals:
            return [(param, name, text, 1)]
        return [(param, name, _next_word(param, name, words, at), 2)]
    found: list[tuple[Param, str, str | None, int]] = []
    for place in range(1, len(word)):
        name = f"-{word[place]}"
        param = _find(known, name)
        if param.is_flag:
            found.append((param, name, None, 0))
            continue
        rest = word[place + 1 :]
        text = rest if rest else _next_word(param, name, words, at)
        return [*found, (param, name, text, 1 if rest else 2)]
    param, name, _, _ = found.pop()
    return [*found, (param, name, None, 1)]


def _find(known: dict[str, Param], name: str) -> Param:
    param = known.get(name)
    if param is not None:
        return param
    if name in HELP_NAMES:
        raise HelpRequested
    if name == VERSION_NAME:
        raise VersionRequested
    from difflib import get_close_matches

    # The dashes are alike in all of them and say nothing.
    bare = {one.lstrip("-"): one for one in known}
    near = get_close_matches(name.lstrip("-"), bare, 1, 0.6)
    raise UsageError(
        f"no such option: {quote_text(name)}",
        subject=name,
        hint=f"did you mean {bare[near[0]]}?" if near else "--help lists them",
    )


def _next_word(param: Param, name: str, words: Sequence[str], at: int) -> str:
    if at + 1 >= len(words):
        raise UsageError(f"{name} needs a value: {param.metavar}", subject=name)
    return words[at + 1]


def _value(param: Param, text: str, given: str) -> Any:
    if param.choices and text not in param.choices:
        offered = ", ".join(param.choices)
        raise UsageError(f"{given}: {quote_text(text)} is none of {offered}", subject=given)
    try:
        return param.parse(text)
    except ValueError as error:
        raise UsageError(f"{given}: {error}", subject=given) from error


def _setting_value(param: Param, setting: Setting) -> Any:
    # A variable is named after its option, a profile is not.
    where = setting.origin
    if where != param.variable:
        where += f": {param.key}"
    if param.many:
        return [_value(param, text, where) for text in setting.texts]
    if len(setting.texts) != 1:
        raise UsageError(f"{where}: one value is wanted", subject=setting.origin)
    text = setting.texts[0]
    if not param.is_flag:
        return _value(param, text, where)
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise UsageError(f"{where}: {quote_text(text)} is neither true nor false")


def _assign(arguments: Sequence[Param], reader: _Reader, values: dict[str, Any]) -> None:
    words = list(reader.operands)
    for param in arguments:
        if param.literal:
            values[param.field] = reader.literals
        elif param.many:
            values[param.field] = [_value(param, word, param.name) for word in words]
            words = []
        elif words:
            values[param.field] = _value(param, words.pop(0), param.name)
        if param.required and not values.get(param.field):
            name = (
                param.name if param.name.count("[") == param.name.count("]") else param.name + "]"
            )
            raise UsageError(f"{name} is missing", subject=name)
    if words:
        literal = any(param.literal for param in arguments)
        raise UsageError(
            f"unexpected word {quote_text(words[0])}",
            subject=words[0],
            hint="put -- before the words of a command" if literal else "",
        )
