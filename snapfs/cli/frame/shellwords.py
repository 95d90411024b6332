"""A command line as a shell splits it, cut off at the cursor, and words written back for a shell."""

from __future__ import annotations

from typing import NamedTuple

_UNSAFE = frozenset(" \t\"'\\$`!#&()*;<>?[]^{|}~=@:")
_BREAKS = "\"'@><=;|&(: "


class Line(NamedTuple):
    """Words without their quotes; the last is being typed. ``raw`` is that one as it was typed."""

    words: list[str]
    raw: str


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
        elif char == "\\" and at + 1 < len(text):
            at += 1
            word.append(text[at])
        else:
            word.append(char)
        inside = True
        at += 1
    return Line([*words, "".join(word)], text[start:])


def escape(word: str) -> str:
    """``word`` with a backslash before whatever a shell would act on; ``: @ =`` as they are."""
    keep = "@:=~"
    return "".join(f"\\{c}" if c in _UNSAFE and c not in keep else c for c in word)


def for_readline(candidate: str, raw: str, broken: str) -> str | None:
    """What replaces ``broken``, the part of the word ``raw`` that readline calls the word.

    (Readline breaks words at ``:``, ``@`` and ``=`` as well.) None if it does not fit what was typed.
    """
    if raw[:1] in {"'", '"'}:
        return candidate
    head = raw[: len(raw) - len(broken)] if broken and raw.endswith(broken) else raw
    if not broken or broken in _BREAKS:
        # Readline offers the break itself, or nothing, as the word: it then keeps it.
        head = raw
    written = escape(candidate)
    return written[len(head) :] if written.startswith(head) else None
