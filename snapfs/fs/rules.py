"""What a run leaves out: patterns, .snapfsignore files, cache directories, marked directories, large files.

Precedence: a pattern given for the run decides before any .snapfsignore file, a file in a deeper
directory before one further up, and within one source the last match wins. A directory with a marker
(CACHEDIR.TAG with its signature, or a name given) is kept as a directory that holds the marker alone. The
root itself is never left out.

``snapfs.fs.matching`` applies them. A snapshot stores its rules together with the .snapfsignore files that were in force (``Rules.standing``):
what is set against the live tree later must leave out what was left out then, whatever became of those
files since.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from snapfs.errors import NONSENSE, DamageError
from snapfs.fs.patterns import is_rule, readable, split_lines
from snapfs.model.units import exact_size

IGNORE_FILE = b".snapfsignore"


class RuleLine(NamedTuple):
    """One pattern as it was given, and where (``--exclude``, or the name of a file)."""

    text: bytes
    source: str


@dataclass(frozen=True, slots=True)
class Rules:
    """Everything that decides what a snapshot leaves out. Sizes in bytes.

    ``standing``, ``marked`` and ``large`` say how it was when a snapshot was taken. The first holds
    (directory, text) of the .snapfsignore files in force; None means that they are read from the live
    directories. The second holds (directory, markers) of those that were left out but for their markers, the
    third the paths of files left out for their size: these stay left out, whatever became of marker and size
    since.

    ``spared`` is the uid, in hexadecimal, of the snapshot whose paths were captured although a rule leaves
    them out, since it was about to be restored over them.
    """

    patterns: tuple[RuleLine, ...] = ()
    caches: bool = False
    if_present: tuple[bytes, ...] = ()
    one_file_system: bool = False
    larger_than: int | None = None
    standing: tuple[tuple[bytes, bytes], ...] | None = None
    marked: tuple[tuple[bytes, tuple[bytes, ...]], ...] = ()
    large: tuple[bytes, ...] = ()
    spared: str = ""

    @property
    def has_spared(self) -> bool:
        """Whether the safety snapshot with these rules may have what they leave out for a marker or its size."""
        decides_now = self.caches or bool(self.if_present) or self.larger_than is not None
        return bool(self.spared) and decides_now

    def to_text(self) -> str:
        """As JSON, for the snapshot's row."""
        value: dict[str, Any] = {
            "patterns": [[to_text(line.text), line.source] for line in self.patterns],
            "caches": self.caches,
            "if_present": [to_text(name) for name in self.if_present],
            "one_file_system": self.one_file_system,
            "larger_than": self.larger_than,
            "standing": None
            if self.standing is None
            else [[to_text(path), base64.b64encode(text).decode()] for path, text in self.standing],
        }
        if self.marked:
            value["marked"] = [
                [to_text(path), list(map(to_text, names))] for path, names in self.marked
            ]
        if self.large:
            value["large"] = list(map(to_text, self.large))
        if self.spared:
            value["spared"] = self.spared
        return json.dumps(value, separators=(",", ":"), sort_keys=True)

    @staticmethod
    def from_text(text: str) -> Rules:
        """The reverse of `to_text`; raises DamageError on anything else. ``""`` are no rules."""
        if not text:
            return Rules()
        try:
            value = json.loads(text)
            standing = value["standing"]
            return Rules(
                patterns=tuple(
                    RuleLine(to_bytes(line), source) for line, source in value["patterns"]
                ),
                caches=bool(value["caches"]),
                if_present=tuple(to_bytes(name) for name in value["if_present"]),
                one_file_system=bool(value["one_file_system"]),
                larger_than=value["larger_than"],
                standing=None
                if standing is None
                else tuple((to_bytes(path), base64.b64decode(text)) for path, text in standing),
                marked=tuple(
                    (to_bytes(path), tuple(map(to_bytes, names)))
                    for path, names in value.get("marked", ())
                ),
                large=tuple(map(to_bytes, value.get("large", ()))),
                spared=str(value.get("spared", "")),
            )
        except NONSENSE as error:
            raise DamageError(
                "the rules of a snapshot are damaged", hint="run snapfs verify"
            ) from error

    def digest(self) -> bytes:
        """16 bytes that differ for different rules of the run; how it was then does not enter."""
        text = replace(self, standing=None, marked=(), large=(), spared="").to_text()
        return hashlib.blake2b(text.encode(), digest_size=16).digest()

    def describe(self) -> tuple[str, ...]:
        """One line for each rule, for people; bytes that are no text are surrogates."""
        lines = [
            f"{line.source}: {to_text(readable(line.text))}"
            for line in self.patterns
            if is_rule(line.text)
        ]
        lines += ["--exclude-caches"] if self.caches else []
        lines += [f"--exclude-if-present {to_text(name)}" for name in self.if_present]
        lines += ["--one-file-system"] if self.one_file_system else []
        if self.larger_than is not None:
            lines.append(f"--exclude-larger-than {exact_size(self.larger_than)}")
        for path, _ in self.standing or ():
            lines.append(to_text(path + b"/" + IGNORE_FILE if path else IGNORE_FILE))
        return tuple(lines)


def read_pattern_file(path: bytes) -> tuple[RuleLine, ...]:
    """The lines of a file given with ``--exclude-from``; raises OSError."""
    with open(path, "rb") as file:
        source = to_text(path)
        return tuple(RuleLine(line, source) for line in split_lines(file.read()))


def to_text(name: bytes) -> str:
    """Bytes as text without loss; always as UTF-8, so that no locale changes what is stored."""
    return name.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    """The reverse of `to_text`."""
    return text.encode("utf-8", "surrogateescape")
