"""Writes the pages of the manual that are made from the program's own declarations.

``python man/generate.py`` after a change of a command, an option or a result; a test compares. One page
for each command (snapfs-COMMAND.1) and snapfs-json.5; the other pages are written by hand.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import itertools
import re
import sys
import types
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from snapfs import __version__
from snapfs.cli.frame import commands
from snapfs.cli.frame.command import Command, Example, Family
from snapfs.cli.frame.options import Changing
from snapfs.cli.frame.params import Param, params_of
from snapfs.cli.frame.running import load, load_all
from snapfs.cli.render.schemas import SCHEMAS, Schema

FOLDER = Path(__file__).parent
_COMMON = {param.field for param in params_of(Changing)}


def pages() -> dict[str, str]:
    """File name and text of every generated page."""
    made = {
        f"snapfs-{listed.name}.1": command_page(listed, load(listed), load_all(listed))
        for listed in commands.COMMANDS
    }
    return {**made, "snapfs-json.5": json_page()}


def command_page(
    listed: commands.Listed, loaded: Command[Any] | Family, members: dict[str, Command[Any]]
) -> str:
    """The page of one command, with the commands of a family as sections."""
    lines = [
        _title(f"snapfs-{listed.name}", 1),
        ".SH NAME",
        f"snapfs-{listed.name} \\- {_text(listed.summary)}",
        ".SH SYNOPSIS",
    ]
    forms = [form for member in members.values() for form in member.synopsis]
    for number, form in enumerate(forms):
        lines += [".br"] if number else []
        lines.append(_synopsis(f"snapfs {form}"))
    lines += [".SH DESCRIPTION", *_paragraphs(loaded.description)]
    if isinstance(loaded, Family):
        for name, member in members.items():
            lines += [".TP", f".B {_text(f'snapfs {listed.name} {name}')}"]
            lines += [_marked(" ".join(member.description.split()))]
    params = _unique(member for member in members.values())
    lines += _section("ARGUMENTS", (p for p in params if not p.names and not p.literal))
    lines += _section("OPTIONS", (p for p in params if p.names and p.field not in _COMMON))
    shared = ", ".join(f"\\fB{_text(p.name)}\\fR" for p in params if p.field in _COMMON)
    lines += [
        ".SH COMMON OPTIONS",
        f"{shared}, \\fB\\-\\-help\\fR: see",
        ".BR snapfs (1).",
        ".SH EXIT STATUS",
        "See",
        ".BR snapfs (1).",
    ]
    lines += _examples(example for member in members.values() for example in member.examples)
    schemas = dict.fromkeys(schema for member in members.values() for schema in member.schemas)
    lines += [
        ".SH JSON",
        f"With \\fB\\-\\-json\\fR it prints {', '.join(schemas)}; see",
        ".BR snapfs-json (5).",
        ".SH SEE ALSO",
        ".BR snapfs (1),",
        ".BR snapfs-json (5)",
    ]
    return "\n".join(lines) + "\n"


def json_page() -> str:
    """The page of everything that --json prints."""
    lines = [
        _title("snapfs-json", 5),
        ".SH NAME",
        "snapfs-json \\- what snapfs prints with \\-\\-json",
        ".SH DESCRIPTION",
        *_paragraphs(_JSON_RULES),
        ".SH SCHEMAS",
    ]
    nested: dict[type, None] = {}
    for schema in SCHEMAS:
        users = ", ".join(_users(schema)) or "every command, on standard error"
        lines += [f".SS {_text(schema.name)}", f"{_text(users)}: {_text(schema.about)}."]
        for part in schema.parts:
            lines += _fields(part, nested)
    lines.append(".SH OBJECTS")
    done: set[type] = set()
    while rest := [kind for kind in nested if kind not in done]:
        for kind in rest:
            done.add(kind)
            lines += [f".SS {kind.__name__}", _text(_first_sentence(kind)), *_fields(kind, nested)]
    return "\n".join([*lines, ".SH SEE ALSO", ".BR snapfs (1)", ""])


_JSON_RULES = """\
With `--json` standard output holds JSON objects, one a line, and nothing else; errors, notes and problems are
JSON lines on standard error. Each object says in `schema` what it is. Keys are added within a number and never
change their meaning; a change of meaning gets another number.

Sizes are bytes. Times are RFC 3339 in UTC, with nine digits after the second unless they are all 0; years before 0 and after 9999 have a sign. Paths and
other names that are not UTF-8 are text with bad bytes written as `\\xNN`, and a second key with `_b64` at its
end has them exactly, in base64; where there is no such key the text is exact.

`--help` prints the same text with `--json` as without."""


def _users(schema: Schema) -> Iterator[str]:
    for listed in (commands.START, *commands.COMMANDS):
        for name, member in load_all(listed).items():
            if schema.name in member.schemas:
                yield f"snapfs {listed.name} {name}".strip().removesuffix(" start")


def _fields(kind: type, nested: dict[type, None]) -> list[str]:
    hints = typing.get_type_hints(kind)
    abouts = field_texts(kind)
    lines: list[str] = []
    for field in dataclasses.fields(kind):
        name, shape = json_key(field.name), json_type(field.name, hints[field.name], nested)
        about = abouts.get(field.name, "")
        lines += [".TP", f'.BR {_text(name)} " ({_text(shape)})"', _text(about) or "\\&"]
    return lines


def json_key(field: str) -> str:
    """The key under which a field is printed."""
    return "duration_s" if field == "duration_ns" else field.removesuffix("_ns")


def json_type(field: str, hint: Any, nested: dict[type, None]) -> str:
    """How a field is printed; dataclasses met on the way are put into ``nested``."""
    if field == "duration_ns":
        return "seconds"
    if typing.get_origin(hint) in {types.UnionType, typing.Union}:
        inner = [arg for arg in typing.get_args(hint) if arg is not types.NoneType]
        return f"{json_type(field, inner[0], nested)} or null"
    if field.endswith("_ns"):
        return "time"
    if typing.get_origin(hint) is tuple:
        return f"array of {json_type(field, typing.get_args(hint)[0], nested)}"
    if hint is bytes:
        return "hexadecimal" if field.endswith("digest") else "name"
    if dataclasses.is_dataclass(hint):
        assert isinstance(hint, type)
        nested.setdefault(hint)
        return f"object {hint.__name__}"
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return " | ".join(member.name.lower() for member in hint)
    return {int: "integer", float: "number", str: "text", bool: "boolean"}[hint]


def field_texts(kind: type) -> dict[str, str]:
    """What stands below each field of a dataclass as a string of its own."""
    tree = ast.parse(inspect.cleandoc(inspect.getsource(kind)))
    body = typing.cast(ast.ClassDef, tree.body[0]).body
    texts: dict[str, str] = {}
    for field, below in itertools.pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
            name, text = typing.cast(ast.Name, field.target).id, below.value
            texts[name] = " ".join(str(typing.cast(ast.Constant, text).value).split())
    return texts


def _first_sentence(kind: type) -> str:
    return inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0].replace("\n", " ")


def _unique(members: Iterable[Command[Any]]) -> list[Param]:
    found: dict[str, Param] = {}
    for member in members:
        for param in params_of(member.arguments):
            found.setdefault(param.field, param)
    return list(found.values())


def _section(title: str, params: Iterable[Param]) -> list[str]:
    lines: list[str] = []
    for param in params:
        lines += [".TP", _spelled(param), _text(" ".join(param.about.split()))]
    return [f".SH {title}", *lines] if lines else []


def _spelled(param: Param) -> str:
    if not param.names:
        return f"\\fI{_text(param.metavar)}\\fR"
    names = ", ".join(f"\\fB{_text(name)}\\fR" for name in param.names)
    return f"{names} \\fI{_text(param.metavar)}\\fR" if param.metavar else names


def _examples(examples: Iterable[Example]) -> list[str]:
    lines: list[str] = []
    for example in examples:
        lines += [".TP", f".B {_text(example.line)}", _text(example.what)]
    return [".SH EXAMPLES", *lines] if lines else []


def _synopsis(form: str) -> str:
    """Words to be typed bold, capitals italic."""
    words = []
    for word in form.split(" "):
        if word.strip("[].|").isupper() or any(c.isupper() for c in word):
            words.append(re.sub(r"[A-Z]+", r"\\fI\g<0>\\fR", _text(word)))
        else:
            words.append(f"\\fB{_text(word)}\\fR")
    return " ".join(words)


def _paragraphs(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            yield ".PP"
        yield _marked(" ".join(paragraph.split()))


def _marked(text: str) -> str:
    """Backticks as bold."""
    parts = text.split("`")
    return _start("".join(f"\\fB{_raw(p)}\\fR" if i % 2 else _raw(p) for i, p in enumerate(parts)))


def _text(text: str) -> str:
    """Plain text, safe for roff."""
    return _start(_raw(text.replace("`", "")))


def _raw(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace('"', "\\(dq")


def _start(text: str) -> str:
    return f"\\&{text}" if text[:1] in {".", "'"} else text


def _title(name: str, section: int) -> str:
    return f'.TH {name.upper()} {section} "" "snapfs {__version__}" "snapfs manual"\n.nh'


def main() -> int:
    for name, text in pages().items():
        (FOLDER / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
