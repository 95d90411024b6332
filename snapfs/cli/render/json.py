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
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from math import isfinite
from typing import Any

from snapfs.model.moment import NS, format_rfc3339

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def json_line(schema: str, *parts: object) -> str:
    """One JSON object on one line: ``schema``, then the fields of each part."""
    members: dict[str, Any] = {"schema": schema}
    for part in parts:
        _add_members(members, part)
    return _encode(members)


def json_row(schema: str, keys: Sequence[str], values: Sequence[Any]) -> str:
    """One row of a query as JSON: text that is not UTF-8 (surrogate escapes) as `json_line` does bytes."""
    members: dict[str, Any] = {"schema": schema}
    for key, value in zip(keys, values, strict=True):
        if isinstance(value, str):
            value = value if value.isascii() else value.encode("utf-8", "surrogateescape")
        if isinstance(value, bytes):
            _add_bytes(members, key, value, _Form.PLAIN)
        elif isinstance(value, float) and not isfinite(value):
            members[key] = None  # JSON has no word for it
        else:
            members[key] = value
    return _encode(members)


def text_of(data: bytes) -> str:
    """Bytes as text for people who read JSON; not reversible if they are not UTF-8."""
    return data.decode("utf-8", "backslashreplace")


_AS_THEY_ARE = frozenset({bool, int, float})


class _Form(Enum):
    """How a field is written, as far as its name says it."""

    PLAIN = 1
    DURATION = 2
    MOMENT = 3
    DIGEST = 4


_known: dict[type[Any], tuple[tuple[str, str, _Form], ...]] = {}


def _fields(kind: type[Any]) -> tuple[tuple[str, str, _Form], ...]:
    """Attribute, key and form of each field of a dataclass, worked out once."""
    if kind not in _known:
        assert is_dataclass(kind)
        _known[kind] = tuple((field.name, *_key(field.name)) for field in fields(kind))
    return _known[kind]


def _key(name: str) -> tuple[str, _Form]:
    if name == "duration_ns":
        return "duration_s", _Form.DURATION
    if name.endswith("_ns"):
        return name.removesuffix("_ns"), _Form.MOMENT
    return name, _Form.DIGEST if name.endswith("digest") else _Form.PLAIN


def _add_members(members: dict[str, Any], record: Any) -> None:
    for name, key, form in _fields(type(record)):
        value = getattr(record, name)
        if value is None:
            members[key] = None
        elif form is _Form.MOMENT:
            members[key] = format_rfc3339(*divmod(value, NS))
        elif form is _Form.DURATION:
            members[key] = value / NS
        elif isinstance(value, bytes):
            _add_bytes(members, key, value, form)
        else:
            members[key] = value if value.__class__ in _AS_THEY_ARE else _value(value)


def _add_bytes(members: dict[str, Any], key: str, value: bytes, form: _Form) -> None:
    if form is _Form.DIGEST:
        members[key] = value.hex()
        return
    try:
        members[key] = value.decode("utf-8")
    except UnicodeDecodeError:
        members[key] = text_of(value)
        members[f"{key}_b64"] = base64.b64encode(value).decode("ascii")


def _value(value: object) -> Any:
    """What a value is in JSON, whatever its field is called."""
    if isinstance(value, str):
        # A surrogate escape would be written as a lone surrogate, which few readers accept.
        return value if value.isascii() else text_of(value.encode("utf-8", "surrogateescape"))
    if isinstance(value, Enum):
        return value.name.lower()
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, bytes):
        return text_of(value)
    if isinstance(value, tuple):
        return [_value(item) for item in value]
    members: dict[str, Any] = {}
    _add_members(members, value)
    return members
