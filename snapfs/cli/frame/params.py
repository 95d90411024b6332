"""The words of a command line as fields of a dataclass.

A command declares its options and arguments as a frozen dataclass whose fields are made by
``flag``, ``option``, ``argument`` and ``literals``; the parser, ``--help``, the man pages and the
completion all read the declaration. (typer does the same from function signatures, but its runtime
coercion imports pydantic: 0.15 s for one word, where a whole read command has 0.2 s.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_KEY = "snapfs"


@dataclass(frozen=True, slots=True)
class Param:
    """One option or argument; ``field`` is the field of the dataclass it fills.

    Options have ``names``, arguments have none. ``metavar`` is empty for a flag. ``parse`` makes
    the value from the text and raises ValueError with a full sentence. ``completes`` says what the
    shell may offer for the value (``complete.FILES`` and ``complete.WORDS``). A
    ``setting`` may also come from the environment or a profile, under the option's long name.
    """

    field: str
    names: tuple[str, ...]
    metavar: str
    about: str = ""
    parse: Callable[[str], Any] = str
    many: bool = False
    required: bool = False
    literal: bool = False
    choices: tuple[str, ...] = ()
    completes: str = ""
    setting: bool = False

    @property
    def is_flag(self) -> bool:
        return bool(self.names) and not self.metavar

    @property
    def variable(self) -> str:
        """The environment variable of a setting: ``SNAPFS_LOCK_WAIT`` for ``--lock-wait``."""
        return "SNAPFS_" + self.key.upper().replace("-", "_")

    @property
    def key(self) -> str:
        """The long name of an option without its dashes, as profiles spell it."""
        return self.name.removeprefix("--")

    @property
    def name(self) -> str:
        """What messages call it: the long name of an option, the word of an argument."""
        return self.names[-1] if self.names else self.metavar.strip("[].")


def flag(*names: str, about: str, setting: bool = False) -> Any:
    """A boolean option, false unless it is given."""
    return _field(False, names=names, metavar="", about=about, setting=setting)


def option(
    *names: str,
    metavar: str,
    about: str,
    parse: Callable[[str], Any] = str,
    default: Any = None,
    many: bool = False,
    choices: tuple[str, ...] = (),
    completes: str = "",
    setting: bool = False,
) -> Any:
    """An option with a value; ``many`` collects a tuple."""
    return _field(
        () if many else default,
        names=names,
        metavar=metavar,
        about=about,
        parse=parse,
        many=many,
        choices=choices,
        completes=completes,
        setting=setting,
    )


def argument(
    metavar: str,
    *,
    about: str,
    parse: Callable[[str], Any] = str,
    many: bool = False,
    required: bool = False,
    choices: tuple[str, ...] = (),
    completes: str = "",
) -> Any:
    """A word that is no option; ``many`` takes all that are left, as a tuple."""
    return _field(
        () if many else None,
        names=(),
        metavar=metavar,
        about=about,
        parse=parse,
        many=many,
        required=required,
        choices=choices,
        completes=completes,
    )


def parse_pattern(text: str) -> str:
    """A pattern or a name that may match something; ValueError for an empty one."""
    if not text:
        raise ValueError("it is empty, and would match nothing")
    return text


def literals() -> Any:
    """The words after ``--``, kept apart from the arguments before it."""
    return _field((), names=(), metavar="", about="", many=True, literal=True)


def _field(default: Any, *, parse: Callable[[str], Any] = str, **declared: Any) -> Any:
    return dataclasses.field(default=default, metadata={_KEY: {"parse": parse, **declared}})


def params_of(arguments: type) -> tuple[Param, ...]:
    """The declared options and arguments, those of base classes last."""
    inherited: set[str] = set()
    for base in arguments.__mro__[1:]:
        inherited.update(getattr(base, "__dataclass_fields__", ()))
    own: list[Param] = []
    common: list[Param] = []
    for field in dataclasses.fields(arguments):
        declared = field.metadata.get(_KEY)
        if declared is not None:
            param = Param(field=field.name, **declared)
            (common if field.name in inherited else own).append(param)
    return (*own, *common)
