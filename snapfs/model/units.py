"""Sizes and shares as people write and read them. K, M, G, T are powers of 1024."""

from __future__ import annotations

import re

_UNITS = "KMGTPE"
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGTPE])(?:i?B)?|B)?", re.IGNORECASE | re.ASCII)
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%", re.ASCII)


def parse_size(text: str) -> int:
    """Bytes from ``10M``, ``1.5G`` or ``4096``; ValueError with a full sentence otherwise."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no size; write it as 4096, 10M or 1.5G (K M G T = 1024)")
    number, unit = match.groups()
    factor = 1 << 10 * (_UNITS.index(unit.upper()) + 1) if unit else 1
    if "." not in number:
        return int(number) * factor
    if not unit:
        raise ValueError(f"{text!r} is no size; a number of bytes is whole")
    whole, fraction = number.split(".")
    scale: int = 10 ** len(fraction)
    return int(whole) * factor + int(fraction) * factor // scale


def parse_share(text: str) -> float:
    """A share from ``5%``, more than 0 and at most 1; ValueError otherwise."""
    match = _SHARE.fullmatch(text.strip())
    share = float(match.group(1)) / 100 if match else 0.0
    if not 0 < share <= 1:
        raise ValueError(f"{text!r} is no share; write it as 5%, more than 0% and at most 100%")
    return share


def parse_count(text: str) -> int:
    """A whole number of things, 0 or more; ValueError otherwise."""
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise ValueError(f"{text!r} is no whole number, 0 or more")
    return int(text)


def format_size(size: int) -> str:
    """Three digits and a unit, as ``ls -h``: ``0 B``, ``512 B``, ``1.5K``, ``427M``."""
    if abs(size) < 1024:
        return f"{size} B"
    value = float(abs(size))
    for unit in _UNITS:
        value /= 1024
        # 1023.95 would be shown as 1024.0 of the smaller unit.
        if value < 999.5 or unit == _UNITS[-1]:
            break
    digits = f"{value:.1f}" if value < 9.95 else f"{value:.0f}"
    return f"{'-' if size < 0 else ''}{digits}{unit}"


def exact_size(size: int) -> str:
    """What ``parse_size`` reads as just that many bytes: ``500M``, ``1234567 B``."""
    for power in range(len(_UNITS), 0, -1):
        whole, rest = divmod(size, 1 << 10 * power)
        if whole and not rest:
            return f"{whole}{_UNITS[power - 1]}"
    return f"{size} B"


def format_count(count: int, one: str, many: str | None = None) -> str:
    """``1 file``, ``68,000 files``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def format_duration(duration_ns: int) -> str:
    """``0.03 s``, ``6.7 s``, ``2 min 05 s``, ``1 h 02 min``."""
    seconds = duration_ns / 1e9
    if seconds < 0.995:
        return f"{seconds:.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
