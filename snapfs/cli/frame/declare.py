"""Write what every command takes into `declared.py`: ``python -m snapfs.cli.frame.declare``.

Loading a command takes longer than a Tab key may, so completion reads this table instead; a test
fails when it and the commands differ.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from snapfs.cli.frame import commands
from snapfs.cli.frame.options import Changing, Common
from snapfs.cli.frame.params import Param, params_of
from snapfs.cli.frame.running import load_all

_HEADER = '''"""What every command takes, made from the commands by `declare`; do not edit."""

from snapfs.cli.frame.params import Param

'''
_KEPT = ("field", "names", "metavar", "many", "literal", "choices", "completes")


def source() -> str:
    """The text of `declared.py`."""
    common, changing = params_of(Common), params_of(Changing)
    lines = [_HEADER, "COMMON = (\n", *map(_line, common), ")\n"]
    rest = [param for param in changing if param not in common]
    lines += ["CHANGING = (\n", *map(_line, rest), "    *COMMON,\n)\n", "DECLARED = {\n"]
    for name, params in declared():
        last = "CHANGING" if set(rest) <= set(params) else "COMMON"
        own = [param for param in params if param not in changing]
        lines += [f'    "{name}": (\n', *(f"    {_line(one)}" for one in own)]
        lines.append(f"        *{last},\n    ),\n")
    return "".join([*lines, "}\n"])


def declared() -> Iterator[tuple[str, Sequence[Param]]]:
    """Every command, ``roots move`` among them, with its options and arguments."""
    for listed in commands.COMMANDS:
        for member, command in load_all(listed).items():
            yield f"{listed.name} {member}".rstrip(), params_of(command.arguments)


def _line(param: Param) -> str:
    """The call that makes it again, without what completion does not need."""
    defaults = {field.name: field.default for field in dataclasses.fields(Param)}
    parts = [
        f"{name}={_literal(getattr(param, name))}"
        for name in _KEPT
        if getattr(param, name) != defaults[name]
    ]
    return f"    Param({', '.join(parts)}),\n"


def _literal(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def main() -> None:
    Path(__file__).with_name("declared.py").write_text(source())


if __name__ == "__main__":
    main()
