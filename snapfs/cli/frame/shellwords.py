"""A command line as a shell splits it, cut off at the cursor, and words written back for a shell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

_UNSAFE = frozenset(" \t\"'\\$`!#&()*;<>?[]^{|}")
_UNSAFE_IN_DOUBLE = frozenset('"\\$`')


class Line(NamedTuple):
    """Words without their quotes; the last is being typed.

    ``raw`` is that one as it was typed, ``quote`` the quotation mark that is still open in it.
    """

    words: list[str]
    raw: str
    quote: str


def split_line(text: str) -> Line:
    """Words up to the cursor. Quotes may still be open; expansions are not done."""
    words: list[str] = []
    word: list[str] = []
    start = at = 0
    inside = False
    quoted = ""
    while at < len(text):
        char = text[at]
        if quoted:
            if char == quoted:
                quoted = ""
            elif char == "\\" and quoted == '"' and text[at + 1 : at + 2] in ('"', "\\", "$", "`"):
                at += 1
                word.append(text[at])
            else:
                word.append(char)
        elif char in " \t":
            if inside:
                words.append("".join(word))
            word, inside, start = [], False, at + 1
            at += 1
            continue
        elif char in "'\"":
            quoted = char
        elif char == "\\":
            at += 1
            word.append(text[at : at + 1])  # nothing, if what it quotes is still to come
        else:
            word.append(char)
        inside = True
        at += 1
    return Line([*words, "".join(word)], text[start:], quoted)


def escape(word: str) -> str:
    """``word`` with a backslash before whatever a shell would act on."""
    return _escape(word, _UNSAFE)


def for_readline(candidate: str, raw: str, part: str) -> str | None:
    """What replaces ``part``, the end of the word ``raw`` that readline calls the word.

    (Readline breaks words at ``@``, ``:`` and ``=`` as well, and after an open quotation mark.)
    None if it does not go on from what is typed before ``part``.
    """
    if not raw.endswith(part):
        return None
    head = split_line(raw[: len(raw) - len(part)])
    before = head.words[-1]
    if not candidate.startswith(before):
        return None
    rest = candidate[len(before) :]
    if head.quote == "'":
        return rest.replace("'", "'\\''")
    if head.quote:
        # "!" would be looked up in the history, and no backslash is taken away before it.
        return None if "!" in rest else _escape(rest, _UNSAFE_IN_DOUBLE)
    return escape(rest)


def starting(typed: str, words: Iterable[str]) -> Iterator[str]:
    """Those words that begin as what is typed."""
    return (word for word in words if word.startswith(typed))


def _escape(text: str, unsafe: frozenset[str]) -> str:
    return "".join(f"\\{char}" if char in unsafe else char for char in text)
