"""Names of snapshots, labels of roots, tags: what may be one, and what they are by default.

A name begins with a letter, so that it is never a number, a date or a span, and holds no ``..``,
``:``, ``@`` or ``~``, so that every reference has one reading.
"""

from __future__ import annotations

import re
from collections.abc import Container

from snapfs.model.moment import NS, civil_from_days

LONGEST = 200
"""Longest name, label or tag, in characters."""
LATEST = "latest"
"""The word for the head of a chain; never a name or a label."""
NAME_PATTERN = r"[A-Za-z](?:[A-Za-z0-9_+-]|\.(?!\.))*"
"""A name inside a larger grammar; ``valid_name`` checks length and reserved words besides."""
_NAME = re.compile(NAME_PATTERN, re.ASCII)


def valid_name(text: str) -> bool:
    """Whether ``text`` can be the name of a snapshot, a label or a tag."""
    return len(text) <= LONGEST and text != LATEST and _NAME.fullmatch(text) is not None


def check_name(text: str) -> str:
    """``text`` if it can be a name; ValueError with a full sentence otherwise."""
    if valid_name(text):
        return text
    if text == LATEST:
        raise ValueError(f"{LATEST!r} is the newest snapshot and cannot be a name")
    if len(text) > LONGEST:
        raise ValueError(f"a name has at most {LONGEST} characters, this one {len(text)}")
    raise ValueError(
        f"{text!r} cannot be a name: letters, digits, _ . + - are allowed, first a letter, no '..'"
    )


def parse_text(text: str) -> str:
    """Text for people, as it is; ValueError with a full sentence if it is not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"{text!r} is not UTF-8; a terminal set to another encoding does that"
        ) from None
    return text


def default_snapshot_name(created_ns: int) -> str:
    """``sYYYYMMDD-HHMMSS.mmm`` in UTC, as HDFS names its snapshots."""
    seconds, nanoseconds = divmod(created_ns, NS)
    days, second = divmod(seconds, 86400)
    year, month, day = civil_from_days(days)
    clock = f"{second // 3600:02}{second // 60 % 60:02}{second % 60:02}"
    return f"s{year:04}{month:02}{day:02}-{clock}.{nanoseconds // 1_000_000:03}"


def label_from_path(path: bytes) -> str:
    """The base name of a directory, made a valid label (``snapfs.1``, ROOTS)."""
    base = path.rstrip(b"/").rpartition(b"/")[2].decode("utf-8", "replace")
    label = re.sub(r"\.{2,}", ".", re.sub(r"[^A-Za-z0-9_.+-]+", "-", base)).strip("-.")
    if label == "":
        return "root"
    if label == LATEST or not label[0].isalpha():
        label = f"root-{label}"
    return label[:LONGEST].rstrip("-.")


def unique_name(wanted: str, taken: Container[str]) -> str:
    """``wanted``, or the first of ``wanted-2``, ``wanted-3``, … that is not taken."""
    name, count = wanted, 1
    while name in taken:
        count += 1
        suffix = f"-{count}"
        name = wanted[: LONGEST - len(suffix)] + suffix
    return name
