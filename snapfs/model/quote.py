"""Names as text that a shell reads back, as ``ls --quoting-style=shell-escape`` writes them.

Bytes go in, and what comes out is printable: a control character, a bidirectional override or a byte
that is not UTF-8 is written as ``$'\\ooo'``. The rules are those of gnulib's ``quotearg.c``, with two
differences: what counts as printable is decided by Unicode alone, never by the locale, and a name
that bash would expand (``{a,b}``) is quoted as well.
"""

from __future__ import annotations

_ALNUM = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PLAIN = _ALNUM + b"%+,-./:@]_"
"""Bytes that never need a quote, wherever they stand."""
_IN_DOUBLE_QUOTES = frozenset((_ALNUM + b"%+,-./:@]_ '").decode())
"""What may stand beside a single quote for the name to be put into double quotes."""
_SPECIAL = frozenset(" !\"$&()*;<=>[^`|\\'?")
_C_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\v": "\\v",
    "\f": "\\f",
    "\r": "\\r",
}


def quote(name: bytes) -> str:
    """``name`` itself if a shell would read it unchanged, else quoted."""
    if name and not name.translate(None, _PLAIN):
        return name.decode("ascii")
    text = name.decode("utf-8", "surrogateescape")
    if not _needs_quotes(text):
        return text
    if "'" in text and _fits_double_quotes(text):
        return f'"{text}"'
    return _single_quoted(text)


def quote_text(name: str) -> str:
    """``quote`` for text that may hold surrogate escapes."""
    return quote(name.encode("utf-8", "surrogateescape"))


def printable(text: str) -> str:
    """Free text (a message, an error) on one line, with nothing a terminal would act on."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _visible(char) for char in text)


def _needs_quotes(text: str) -> bool:
    return (
        text in {"", "{", "}"}
        or text[0] in "#~"
        or not _SPECIAL.isdisjoint(text)
        or not text.isprintable()
        or _expands(text)
    )


def _expands(text: str) -> bool:
    """Whether bash may see alternatives in braces: ``{a,b}`` or ``{1..3}``."""
    inside = text[text.find("{") + 1 : text.rfind("}")] if "{" in text else ""
    return "," in inside or ".." in inside


def _fits_double_quotes(text: str) -> bool:
    body = text[1:] if text[0] in "#~" else text
    return text.isprintable() and all(char in _IN_DOUBLE_QUOTES or char > "\x7f" for char in body)


def _single_quoted(text: str) -> str:
    out = ["'"]
    escaping = False
    for char in text:
        if char.isprintable():
            if escaping and char != "'":
                out.append("''")
                escaping = False
            if char == "'":
                # Inside $'...' the closing quote of the escape serves as the opening one of '\''.
                out.append("'\\''")
                escaping = False
            else:
                out.append(char)
        else:
            if not escaping:
                out.append("'$'")
                escaping = True
            out.append(_escape(char))
    out.append("'")
    return "".join(out)


def _escape(char: str) -> str:
    known = _C_ESCAPES.get(char)
    if known is not None:
        return known
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))


def _visible(char: str) -> str:
    known = _C_ESCAPES.get(char)
    if known is not None:
        return known
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))
