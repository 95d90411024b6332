"""Reading what the program prints: entries, changes and snapshots, names as bytes."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from tests.harness.program import Result


def name_of(value: Mapping[str, Any], key: str = "path") -> bytes:
    """The bytes of a name in a JSON object: ``path``, or ``path_b64`` where it is not UTF-8."""
    coded = value.get(f"{key}_b64")
    return base64.b64decode(coded) if coded is not None else value[key].encode()


def entries(result: Result) -> dict[bytes, dict[str, Any]]:
    """What ``ls --json`` listed, by path."""
    found: dict[bytes, dict[str, Any]] = {}
    for line in result.json_lines():
        path = name_of(line)
        assert path not in found, f"listed twice: {path!r}"
        found[path] = line
    return found


def changes(result: Result) -> set[tuple[str, bytes, frozenset[str]]]:
    """What ``diff --json`` told: letter, path (a rename's is the new one), what differs."""
    return {
        (line["letter"], name_of(line), frozenset(line.get("what") or ()))
        for line in result.json_lines()
    }


def snapshots(result: Result) -> list[dict[str, Any]]:
    """The snapshots of ``list --json``, oldest first."""
    return result.json_lines()


def names(result: Result) -> list[str]:
    """The names of ``list --json``, oldest first."""
    return [line["name"] for line in snapshots(result)]


def assert_terminal_safe(result: Result) -> None:
    """No byte of the output can drive a terminal: only printable characters and newlines."""
    for stream in (result.out, result.err):
        text = stream.decode("utf-8", "strict")
        bad = {
            character
            for character in text
            if character != "\n" and not character.isprintable() and character != "\t"
        }
        assert not bad, f"raw control characters {sorted(bad)!r}\n{result}"
