"""Result dataclasses as JSON lines.

The rules, by a field's name and value:

* ``duration_ns`` becomes ``duration_s``, a number of seconds;
* any other ``*_ns`` becomes a time as RFC 3339 in UTC under the name without ``_ns``, because JSON
  readers keep integers to 2**53 only;
* bytes whose name ends in ``digest`` become hexadecimal;
* other bytes become text; if they are not UTF-8, bad bytes are shown as ``\\xNN`` and ``<name>_b64``
  has them exactly;
* an enum becomes its name in lower case, a tuple an array, a dataclass an object.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from snapfs.model.moment import NS, format_rfc3339


def json_line(schema: str, *parts: object) -> str:
    """One JSON object on one line: ``schema``, then the fields of each part."""
    members: dict[str, Any] = {"schema": schema}
    for part in parts:
        members.update(_members(part))
    return json.dumps(members, ensure_ascii=True, separators=(",", ":"))


def text_of(data: bytes) -> str:
    """Bytes as text for people who read JSON; not reversible if they are not UTF-8."""
    return data.decode("utf-8", "backslashreplace")


def _members(record: object) -> Iterator[tuple[str, Any]]:
    assert is_dataclass(record)
    for field in fields(record):
        yield from _member(field.name, getattr(record, field.name))


def _member(name: str, value: object) -> Iterator[tuple[str, Any]]:
    if name == "duration_ns":
        yield "duration_s", value / NS if isinstance(value, int) else None
    elif name.endswith("_ns"):
        moment = format_rfc3339(*divmod(value, NS)) if isinstance(value, int) else None
        yield name.removesuffix("_ns"), moment
    elif isinstance(value, bytes):
        yield from _bytes_member(name, value)
    else:
        yield name, _value(value)


def _bytes_member(name: str, value: bytes) -> Iterator[tuple[str, Any]]:
    if name.endswith("digest"):
        yield name, value.hex()
        return
    text = text_of(value)
    yield name, text
    if text.encode("utf-8") != value:
        yield f"{name}_b64", base64.b64encode(value).decode("ascii")


def _value(value: object) -> Any:
    if isinstance(value, str):
        # A surrogate escape would be written as a lone surrogate, which few readers accept.
        return value if value.isascii() else text_of(value.encode("utf-8", "surrogateescape"))
    if value is None or isinstance(value, bool | int | float):
        return value.name.lower() if isinstance(value, Enum) else value
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, bytes):
        return text_of(value)
    if isinstance(value, tuple):
        return [_value(item) for item in value]
    return dict(_members(value))
