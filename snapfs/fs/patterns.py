"""The pattern language of .gitignore files, on bytes, exactly as git reads it.

Source of the rules: gitignore(5) and git's wildmatch.c. A pattern without a slash (but at its end) is
matched against the last name, any other against the path from the directory that the pattern belongs to.
``*`` and ``?`` never match a slash, ``**`` between slashes any number of directories; a slash at the end
asks for a directory, ``!`` takes an exclusion back, and the last pattern that matches decides. What lies
below an excluded directory cannot be taken back: nobody looks there.

pathspec is not used: in 1.1 it excludes ``d/`` for ``*`` followed by ``!*/`` and ``a`` for ``a/**``, has no
``[:alpha:]``, and so loses files that git keeps. ``tests/fs/test_patterns.py`` compares with git itself.

One thing git does not have: a pattern that decides without telling a name (`hide`), for what was purged.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple

PURGED = "PURGED"
"""What stands in a text where something was purged."""
_BOM = b"\xef\xbb\xbf"
_SLASH = 0x2F
_BACKSLASH = 0x5C
_NOTHING = rb"(?!)"
_HIDDEN = b"\0purged:"
"""How a body begins that is a digest. No name has a NUL in it, so that it would match nothing with git."""
_DIGEST_BYTES = 16
_WILD = re.compile(rb"\\.|([*?\[])|\\\Z", re.DOTALL)
_QUOTED = re.compile(rb"\\(.)", re.DOTALL)

_POSIX_CLASSES = {
    b"alnum": rb"0-9A-Za-z",
    b"alpha": rb"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"!-~",
    b"lower": rb"a-z",
    b"print": rb" -~",
    b"punct": rb"!-/:-@\[-`{-~",
    b"space": rb" \t\n\v\f\r",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9A-Fa-f",
}


class Pattern(NamedTuple):
    """One line that says something. ``regex`` is to match the whole name or path, or ``digest`` its digest."""

    text: bytes
    source: str
    regex: bytes
    negated: bool
    dirs_only: bool
    by_name: bool
    digest: bytes = b""

    def matches(self, text: bytes, regex: re.Pattern[bytes]) -> bool:
        """Whether this whole name or path is meant."""
        if self.digest:
            return self.digest == _digest(text)
        return regex.fullmatch(text) is not None


class _NeverError(Exception):
    """The pattern is malformed in a way that makes git match nothing."""


def split_lines(text: bytes) -> list[bytes]:
    """Lines of a pattern file, without a byte order mark and with either kind of line end."""
    return [line.removesuffix(b"\r") for line in text.removeprefix(_BOM).split(b"\n")]


def is_rule(line: bytes) -> bool:
    """Whether a line is neither blank nor a comment."""
    text = _strip_trailing_blanks(line)
    return bool(text) and not text.startswith(b"#")


def parse_pattern(line: bytes, source: str) -> Pattern | None:
    """One line; None for a blank and a comment. An open bracket matches nothing, as with git."""
    if not is_rule(line):
        return None
    text, negated, body, dirs_only = _take_apart(line)
    by_name = b"/" not in body
    if body.startswith(b"/"):
        body = body[1:]
    if not body:
        return None
    if body.startswith(_HIDDEN):
        digest = body.removeprefix(_HIDDEN)
        return Pattern(text, source, _NOTHING, negated, dirs_only, by_name, digest)
    try:
        regex = _translate(body, _literal_length(body))
    except _NeverError:
        regex = _NOTHING
    return Pattern(text, source, regex, negated, dirs_only, by_name)


def hide(line: bytes) -> bytes | None:
    """A line that decides as this one does, and has a digest where it has a name or a path.

    None for a line that says nothing, for one with wildcards, which no digest can stand for, and for one
    that is hidden already.
    """
    if not is_rule(line):
        return None
    _, negated, body, dirs_only = _take_apart(line)
    if is_hidden(line) or any(found[1] or len(found[0]) == 1 for found in _WILD.finditer(body)):
        return None
    slash = b"/" if b"/" in body else b""
    name = _QUOTED.sub(rb"\1", body.removeprefix(b"/"))
    if not name:
        return None
    return b"!" * negated + slash + _HIDDEN + _digest(name) + b"/" * dirs_only


def is_hidden(line: bytes) -> bool:
    """Whether `hide` made it."""
    return line.lstrip(b"!/").startswith(_HIDDEN)


def readable(line: bytes) -> bytes:
    """A line as people are shown it."""
    if not is_hidden(line):
        return line
    _, negated, body, dirs_only = _take_apart(line)
    slash = b"/" if b"/" in body else b""
    return b"!" * negated + slash + PURGED.encode() + b"/" * dirs_only


def _take_apart(line: bytes) -> tuple[bytes, bool, bytes, bool]:
    """Without blanks at its end; whether it takes back; what it matches; whether only directories."""
    text = _strip_trailing_blanks(line)
    body, negated = (text[1:], True) if text.startswith(b"!") else (text, False)
    return text, negated, body.removesuffix(b"/"), body.endswith(b"/")


def _digest(name: bytes) -> bytes:
    """Of a name or path, as hexadecimal digits."""
    return hashlib.blake2b(name, digest_size=_DIGEST_BYTES).hexdigest().encode()


def parse_glob(text: bytes, source: str) -> Pattern:
    """A pattern that stands alone, in the same language: ``!``, ``#`` and blanks mean themselves."""
    if text[:1] in (b"!", b"#"):
        text = b"\\" + text
    bare = text.rstrip(b" ")
    if bare != text and (len(bare) - len(bare.rstrip(b"\\"))) % 2 == 0:
        text = text[:-1] + b"\\ "
    found = parse_pattern(text, source)
    return found or Pattern(text, source, _NOTHING, negated=False, dirs_only=False, by_name=True)


def is_malformed(pattern: Pattern) -> bool:
    """Whether it matches nothing because it makes no sense: an open bracket, a backslash at its end."""
    return pattern.regex == _NOTHING


def literal_part(pattern: bytes) -> bytes:
    """The longest run of bytes that whatever the pattern matches has in it; empty if there is none."""
    runs, at, run = [b""], 0, bytearray()
    while at < len(pattern):
        byte = pattern[at]
        if byte in b"*?[":
            runs.append(bytes(run))
            run.clear()
            # What a bracket means needs no reading: nothing in it is always there.
            end = pattern.rfind(b"]", at) if byte == 0x5B else at
            at = max(end, at) + 1
            continue
        at += byte == _BACKSLASH
        run += pattern[at : at + 1]
        at += 1
    runs.append(bytes(run))
    return max(runs, key=len)


def parse_patterns(lines: Iterable[tuple[bytes, str]]) -> list[Pattern]:
    """All that say something, in order."""
    parsed = (parse_pattern(line, source) for line, source in lines)
    return [pattern for pattern in parsed if pattern is not None]


class PatternSet:
    """Patterns of one source in order of precedence (the last wins), ready for matching many names."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.patterns = tuple(patterns)
        self.needs_path = any(not pattern.by_name for pattern in patterns)
        # One joined expression answers "none of them" for nearly every name.
        self._any_name = _join(pattern.regex for pattern in patterns if pattern.by_name)
        self._any_path = _join(pattern.regex for pattern in patterns if not pattern.by_name)
        self._regexes = [re.compile(pattern.regex, re.DOTALL) for pattern in patterns]
        self._some_hidden = any(pattern.digest for pattern in patterns)
        self.matched: set[int] = set()

    def decide(self, name: bytes, prefix: bytes, is_dir: bool) -> Pattern | None:
        """The pattern that decides on ``name``, or None.

        ``prefix`` is the path of its directory from the directory the set belongs to, with a slash at
        the end, or empty.
        """
        if not (
            (self._any_name is not None and self._any_name.fullmatch(name))
            or (self._any_path is not None and self._any_path.fullmatch(prefix + name))
            or self._some_hidden
        ):
            return None
        decided: Pattern | None = None
        for index, (pattern, regex) in enumerate(zip(self.patterns, self._regexes, strict=True)):
            if pattern.dirs_only and not is_dir:
                continue
            if pattern.matches(name if pattern.by_name else prefix + name, regex):
                self.matched.add(index)
                decided = pattern
        return decided


def _join(regexes: Iterable[bytes]) -> re.Pattern[bytes] | None:
    joined = b"|".join(regexes)
    return re.compile(joined, re.DOTALL) if joined else None


def _strip_trailing_blanks(line: bytes) -> bytes:
    """Without spaces at the end, but for one that is quoted with a backslash."""
    end = len(line)
    while end and line[end - 1] == 0x20:
        end -= 1
    backslashes = end - len(line[:end].rstrip(b"\\"))
    if end < len(line) and backslashes % 2:
        end += 1
    return line[:end]


def _literal_length(pattern: bytes) -> int:
    """How much of it has no meaning of its own."""
    return next((at for at, byte in enumerate(pattern) if byte in b"*?[\\"), len(pattern))


class _Part(Enum):
    """What matches more than one byte."""

    STAR = 0
    """``*``"""
    SLASH = 1
    DIRECTORIES = 2
    """``**`` and the slash after it"""
    REST = 3
    """``**`` at the end"""


_Parts = list[bytes | _Part]
"""Regular expressions of single bytes, and what is between them."""


def _translate(pattern: bytes, literal: int) -> bytes:
    """A regular expression for a whole name or path, as wildmatch with WM_PATHNAME matches it.

    git compares the ``literal`` bytes in front by itself and gives wildmatch the rest, so that ``**``
    just after them counts as standing at the start.

    What stands between two stars is looked for once, where it comes first: there is no more to be gained
    further on, and trying all places for each of many stars would take for ever. The same holds for the
    directories between two ``**``.
    """
    *sections, last = _split(_parse(pattern, literal), _Part.DIRECTORIES)
    if not sections:
        return _section(last)
    out = _section(sections[0])
    for section in sections[1:]:
        out += b"(?>(?:[^/]*/)*?%s)" % _section(section)
    return out + b"(?:.*/)?" + _section(last)


def _section(parts: _Parts) -> bytes:
    """Names with slashes between them."""
    return b"/".join(map(_name, _split(parts, _Part.SLASH)))


def _name(parts: _Parts) -> bytes:
    first, *pieces = _split(parts, _Part.STAR)
    out = _bytes(first)
    for piece in pieces[:-1]:
        out += b"(?>[^/]*?%s)" % _bytes(piece)
    return out + b"[^/]*" + _bytes(pieces[-1]) if pieces else out


def _bytes(parts: _Parts) -> bytes:
    return b"".join(part if isinstance(part, bytes) else b".*" for part in parts)


def _split(parts: _Parts, at: _Part) -> list[_Parts]:
    found: list[_Parts] = [[]]
    for part in parts:
        if part is at:
            found.append([])
        else:
            found[-1].append(part)
    return found


def _parse(pattern: bytes, literal: int) -> _Parts:
    parts: _Parts = []
    at = 0
    while at < len(pattern):
        byte = pattern[at]
        if byte == 0x2A:  # *
            stars, at = _parse_stars(pattern, at, bounded=at == literal)
            parts += stars
        elif byte == 0x3F:  # ?
            parts.append(b"[^/]")
            at += 1
        elif byte == 0x5B:  # [
            piece, at = _translate_bracket(pattern, at)
            parts.append(piece)
        else:
            if byte == _BACKSLASH:
                at += 1
                if at == len(pattern):
                    raise _NeverError
            one = pattern[at : at + 1]
            parts.append(_Part.SLASH if one == b"/" else re.escape(one))
            at += 1
    return parts


def _parse_stars(pattern: bytes, start: int, *, bounded: bool) -> tuple[list[_Part], int]:
    at = start
    while at < len(pattern) and pattern[at] == 0x2A:
        at += 1
    bounded = bounded or start == 0 or pattern[start - 1] == _SLASH
    if at - start == 1 or not bounded:
        return [_Part.STAR], at
    if at == len(pattern):
        return [_Part.REST], at
    if pattern.startswith(b"/", at):
        return [_Part.DIRECTORIES], at + 1
    if pattern.startswith(b"\\/", at):
        # With git such a slash has to be there.
        return [_Part.STAR, _Part.SLASH, _Part.DIRECTORIES], at + 2
    return [_Part.STAR], at


def _translate_bracket(pattern: bytes, start: int) -> tuple[bytes, int]:
    """A bracket expression; it never matches a slash. An unfinished one makes the pattern match nothing."""
    at = start + 1
    negated = pattern[at : at + 1] in (b"!", b"^")
    at += negated
    members = bytearray()
    before = -1  # what a range could begin with
    first = True
    while first or pattern[at : at + 1] != b"]":
        first = False
        if at >= len(pattern):
            raise _NeverError
        byte = pattern[at]
        if byte == 0x2D and before >= 0 and pattern[at + 1 : at + 2] not in (b"", b"]"):
            byte, at = _quoted(pattern, at + 1)
            if before <= byte:
                members += b"%s-%s" % (_member(before), _member(byte))
            before = -1
            continue
        if byte == 0x5B and pattern[at + 1 : at + 2] == b":":
            end = pattern.find(b"]", at + 2)
            if end < 0:
                raise _NeverError
            if end > at + 2 and pattern[end - 1] == 0x3A:
                try:
                    members += _POSIX_CLASSES[pattern[at + 2 : end - 1]]
                except KeyError:
                    raise _NeverError from None
                before, at = -1, end + 1
                continue
        before, at = _quoted(pattern, at)
        members += _member(before)
    if negated:
        return b"[^/%s]" % members, at + 1
    return (b"(?!/)[%s]" % members if members else b"(?!)"), at + 1


def _quoted(pattern: bytes, at: int) -> tuple[int, int]:
    """The byte at ``at``, or the one after a backslash there, and the offset after it."""
    if pattern[at] == _BACKSLASH:
        at += 1
        if at == len(pattern):
            raise _NeverError
    return pattern[at], at + 1


def _member(byte: int) -> bytes:
    return b"\\x%02x" % byte
