"""References to snapshots: ``[ROOT@]SNAPSHOT[:PATH]`` and ranges ``A..B``.

ROOT is a label, or a path beginning ``/ ./ ../ ~/``, which ends at the first ``@`` that a SNAPSHOT
and then the end or ``:PATH`` follow. SNAPSHOT is a name, a number or ``latest``, each with ``~N``
(N steps back in the chain), a time, a span ago, or ``.`` (the live tree). PATH is the rest.

Only the grammar is here, and which snapshot of a chain is meant: no clock, no filesystem.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from snapfs.model.moment import MOMENT_PATTERN, Moment, OffsetAt, before, parse_moment
from snapfs.model.names import LATEST, NAME_PATTERN, valid_name
from snapfs.model.snapshot import Snapshot
from snapfs.model.span import Span, parse_span

_SPAN_PATTERN = r"(?:\d+(?:min|mo|[smhdwy]))+"
_POINT = re.compile(
    rf"(?:(?P<moment>{MOMENT_PATTERN})|(?P<span>{_SPAN_PATTERN})|(?P<live>\.)"
    rf"|(?P<base>\d+|{NAME_PATTERN})(?:~(?P<back>\d*))?)(?=:|\Z)",
    re.ASCII,
)
_PATH_STARTS = ("/", "./", "../", "~/")
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Named:
    """A name, a number (as text of digits) or ``latest``, ``back`` steps before it in the chain."""

    base: str
    back: int = 0

    @property
    def number(self) -> int | None:
        """The snapshot's number, if it was named by one."""
        return int(self.base) if self.base.isdecimal() else None


@dataclass(frozen=True, slots=True)
class At:
    """The newest snapshot whose time is at or before a moment."""

    moment: Moment


@dataclass(frozen=True, slots=True)
class Ago:
    """The newest snapshot whose time is at least a span ago."""

    span: Span


@dataclass(frozen=True, slots=True)
class Live:
    """The directory as it is now on disk, written ``.``."""


Point = Named | At | Ago | Live
LATEST_POINT = Named(LATEST)


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference as it was written.

    ``root`` is a label or a path, None if none was given. ``path`` is None if there was no colon;
    it is relative to the root, or to the working directory if it began with ``./``.
    """

    point: Point
    root: str | None = None
    path: str | None = None

    @property
    def path_from_here(self) -> bool:
        """Whether ``path`` starts at the working directory."""
        return self.path is not None and (self.path == "." or self.path.startswith("./"))


def is_root_path(text: str) -> bool:
    """Whether a ROOT is written as a path."""
    return text.startswith(_PATH_STARTS) or text in {".", "..", "~"}


def parse_reference(text: str, *, default: Point | None = None) -> Reference:
    """The reference that ``text`` is; ``default`` stands for a SNAPSHOT left out before ``:PATH``.

    Raises ValueError with a full sentence.
    """
    found = read_reference(text, default=default)
    if found is None:
        raise ValueError(_complaint(text))
    return found


def read_reference(text: str, *, default: Point | None = None) -> Reference | None:
    """As ``parse_reference``, but None for what is no reference.

    A date or a span that looks right but does not exist still raises ValueError.
    """
    if default is not None and text.startswith(":"):
        return Reference(default, path=text[1:])
    at = -1
    while (at := text.find("@", at + 1)) > 0:
        root = text[:at]
        if not (valid_name(root) or root.startswith(_PATH_STARTS)):
            continue
        found = _read_point_and_path(text[at + 1 :])
        if found is not None:
            point, path = found
            return Reference(point, root, path)
    found = _read_point_and_path(text)
    return None if found is None else Reference(found[0], path=found[1])


def read_range(text: str) -> tuple[Reference, Reference] | None:
    """The two ends of ``A..B``, neither with a PATH, or None if it is no range.

    The root of A serves B too. Raises ValueError with a full sentence for half a range.
    """
    at = -1
    while (at := text.find("..", at + 1)) >= 0:
        first, last = text[:at], text[at + 2 :]
        if not first or not last:
            continue
        start, end = read_reference(first), read_reference(last)
        if start is None or end is None or start.path is not None or end.path is not None:
            continue
        return start, end if end.root is not None else Reference(end.point, start.root)
    for half, whole in (
        (text.removesuffix(".."), f"{text}B"),
        (text.removeprefix(".."), f"A{text}"),
    ):
        only = None if half in {text, "."} else read_reference(half)
        if only is not None and only.path is None:
            raise ValueError(f"{text!r} is half a range; write {whole}, or {half} alone")
    return None


def _read_point_and_path(text: str) -> tuple[Point, str | None] | None:
    """SNAPSHOT[:PATH]; of several readings of the beginning the longest counts."""
    match = _POINT.match(text)
    if match is None:
        return None
    path = text[match.end() + 1 :] if match.end() < len(text) else None
    if match["moment"]:
        return At(parse_moment(match["moment"])), path
    if match["span"]:
        return Ago(parse_span(match["span"])), path
    if match["live"]:
        return Live(), path
    base, back = match["base"], match["back"]
    if base.isdecimal() and int(base) > _LARGEST:
        raise ValueError(f"{base} is no snapshot number")
    steps = 0 if back is None else int(back) if back else 1
    return Named(base, steps), path


def _complaint(text: str) -> str:
    if text.startswith("~") and text[1:].isdecimal():
        return f"{text!r} is no reference; did you mean {LATEST}{text}?"
    if text.endswith("@") and (valid_name(text[:-1]) or text.startswith(_PATH_STARTS)):
        return f"{text!r} is no reference; the newest snapshot of that root is {text}{LATEST}"
    return (
        f"{text!r} is no reference; write it as [ROOT@]SNAPSHOT[:PATH], where SNAPSHOT is a name, "
        "a number, latest, latest~2, a time (2026-06-01T14:30), a span ago (3d) or ."
    )


def find_snapshot(
    chain: Sequence[Snapshot], point: Named | At | Ago, *, now_ns: int, offset_at: OffsetAt
) -> Snapshot | None:
    """Which snapshot of a chain (oldest first) a point means, or None.

    Names, numbers and ``~N`` follow the chain, times and spans the time a snapshot stands for.
    """
    if isinstance(point, Named):
        return _find_named(chain, point)
    if isinstance(point, At):
        limit_ns = point.moment.last_ns(offset_at)
    else:
        limit_ns = before(now_ns, point.span, offset_at)
    found = None
    for snapshot in chain:
        at_or_before = snapshot.created_ns <= limit_ns
        if at_or_before and (found is None or snapshot.created_ns >= found.created_ns):
            found = snapshot
    return found


def _find_named(chain: Sequence[Snapshot], point: Named) -> Snapshot | None:
    if point.base == LATEST:
        place = len(chain) - 1
    else:
        number = point.number
        place = -1
        for index, snapshot in enumerate(chain):
            if snapshot.name == point.base if number is None else snapshot.id == number:
                place = index
                break
        if place < 0:
            return None
    place -= point.back
    return chain[place] if 0 <= place < len(chain) else None
