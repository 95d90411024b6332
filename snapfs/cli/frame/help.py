"""``snapfs COMMAND --help``, from what the command declares."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from snapfs.cli.frame.command import Command, Example, Family
from snapfs.cli.frame.options import Changing
from snapfs.cli.frame.params import Param, params_of
from snapfs.cli.frame.streams import terminal_columns

_WIDEST = 100


def command_help(loaded: Command[Any] | Family, commands: Mapping[str, Command[Any]]) -> str:
    """Usage, what it does, arguments, options, examples; ``commands`` are those of a family, or itself."""
    columns = min(_WIDEST, max(40, terminal_columns()))
    members = list(commands.values())
    forms = [f"snapfs {form}".rstrip() for member in members for form in member.synopsis]
    parts = [
        "\n".join(f"{'Usage:' if i == 0 else '      '} {form}" for i, form in enumerate(forms))
    ]
    parts += _paragraphs(loaded.description, columns)
    if isinstance(loaded, Family):
        lines = [(member.name, member.summary) for member in loaded.members]
        parts.append(_section("commands", lines, columns))
    own: dict[str, Param] = {}
    common: dict[str, Param] = {}
    known = {param.field for param in params_of(Changing)}
    for param in (param for member in members for param in params_of(member.arguments)):
        (common if param.field in known else own).setdefault(param.field, param)
    parts.append(_section("arguments", _lines(p for p in own.values() if not p.names), columns))
    parts.append(_section("options", _lines(p for p in own.values() if p.names), columns))
    parts.append(_section("common options", _lines(common.values()), columns))
    examples = [example for member in members for example in member.examples]
    parts.append(_examples(examples))
    return "\n\n".join(part for part in parts if part)


def spelled(param: Param) -> str:
    """``-m, --message TEXT`` for an option, its word for an argument."""
    if not param.names:
        return param.metavar
    return ", ".join(param.names) + (f" {param.metavar}" if param.metavar else "")


def _paragraphs(text: str, columns: int) -> Iterable[str]:
    for paragraph in text.split("\n\n"):
        yield textwrap.fill(" ".join(paragraph.split()), columns, break_on_hyphens=False)


def _lines(params: Iterable[Param]) -> list[tuple[str, str]]:
    return [(spelled(param), param.about) for param in params if not param.literal]


def _section(title: str, lines: list[tuple[str, str]], columns: int) -> str:
    if not lines:
        return ""
    indent = min(28, max(len(left) for left, _ in lines) + 4)
    out = [f"{title}:"]
    for left, right in lines:
        first = f"  {left}".ljust(indent)
        if len(left) + 4 > indent:
            # Too long to leave two blanks before the text.
            out.append(f"  {left}")
            first = " " * indent
        text = " ".join(right.split())
        out.append(
            textwrap.fill(
                text, columns, initial_indent=first, subsequent_indent=" " * indent,
                break_on_hyphens=False, drop_whitespace=True,
            )
        )  # fmt: skip
    return "\n".join(out)


def _examples(examples: list[Example]) -> str:
    lines = [f"  {example.line}\n      {example.what}" for example in examples]
    return "\n".join(["examples:", *lines]) if lines else ""
