"""Versions of paths, each with the snapshots from the first to the last that have it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.streams import encode
from snapfs.cli.render.changes import DiffText, line_of, print_text
from snapfs.cli.render.entries import Attributes, Owners, attributes, permissions, with_target
from snapfs.cli.render.json import text_of
from snapfs.cli.render.table import Column, plain_lines, print_table
from snapfs.cli.render.text import local_time, reference
from snapfs.diff import Change, unified
from snapfs.model.entry import Entry
from snapfs.model.kinds import Kind
from snapfs.model.moment import NS
from snapfs.model.quote import printable, quote
from snapfs.model.snapshot import Root, Snapshot, StoredSide
from snapfs.model.units import format_size
from snapfs.repository.opened import Repository
from snapfs.search import Found, LogResult, LogVersion

_DIGITS = 12
"""Hexadecimal digits of a digest that are shown, as git shows twelve in large histories."""

_BATCH = 1000
"""Lines that are aligned together."""
_COLUMNS = (
    Column("snapshots"),
    Column("time", gives_way=3),
    Column("size", right=True, gives_way=4),
    Column("mode", gives_way=2),
    Column("digest", gives_way=1),
    Column("change"),
)


@dataclass(frozen=True, slots=True)
class Range:
    """The snapshots that have a version."""

    root: str
    """label of the root"""
    first: str
    """ROOT@SNAPSHOT of the first that has it"""
    last: str
    """ROOT@SNAPSHOT of the last; all between in the chain have it as well"""


@dataclass(frozen=True, slots=True)
class Step:
    """How a version came about."""

    letter: str
    """M modified, + new, - gone, R moved, ! could not be read"""
    path: bytes
    """path from the root"""
    old_path: bytes | None
    """of what moved, the path before"""
    what: tuple[str, ...]
    """what differs from the version before"""
    time_ns: int
    """the time that the first snapshot stands for"""
    digest: bytes | None
    """of the bytes of a file, or of all in a directory; null for anything else"""
    entry: Attributes | None
    """what is there; null where it is gone"""


@dataclass(frozen=True, slots=True)
class Hit:
    """What is found besides the entry."""

    digest: bytes | None
    """of the bytes of a file; null for an empty one and for anything else"""
    newest: bool
    """whether the newest snapshot has it so"""


def version_range(root: Root, first: Snapshot, last: Snapshot) -> Range:
    """The ends of a range as other commands take them."""
    return Range(root.label, reference(root, first), reference(root, last))


def range_text(root: Root, first: Snapshot, last: Snapshot, *, with_root: bool) -> str:
    """``s1..s5``, or ``s1`` alone; ``with_root`` as ``photos@s1..s5``."""
    text = first.name if first.id == last.id else f"{first.name}..{last.name}"
    return printable(f"{root.label}@{text}" if with_root else text)


def print_log(
    invocation: Invocation,
    repository: Repository,
    result: LogResult,
    *,
    newest: int | None,
    content: bool,
) -> None:
    """The versions of a path; of the ``newest`` of them only so many."""
    shown = result.versions
    if newest is not None:
        shown = shown[max(0, len(shown) - newest) :]
    if invocation.json:
        owners = repository.owners(result.root.id)
        for version in shown:
            place = version_range(result.root, version.first, version.last)
            entry = version.entry
            step = Step(
                version.letter, version.path, version.old_path, version.what,
                version.first.created_ns, version.digest or None,
                None if entry is None else attributes(version.path, entry, owners),
            )  # fmt: skip
            invocation.emit("log/1", place, step)
            if content:
                _text(invocation, repository, result.root, version)
        return
    paths = {version.path for version in shown} | {version.old_path for version in shown}
    several = len(paths - {None} | {result.path}) > 1
    rows = [_row(invocation, result.root, version, with_path=several) for version in shown]
    if not content:
        print_table(invocation.out, _COLUMNS, rows)
        return
    for version, row in zip(shown, rows, strict=True):
        invocation.out.line("  ".join(cell for cell in row if cell))
        _text(invocation, repository, result.root, version)


class FoundPrinter:
    """Prints what was found as it comes; ``count`` says how much came."""

    def __init__(
        self, invocation: Invocation, repository: Repository, *, several: bool, zero: bool
    ) -> None:
        """``several``: whether more than one root was searched, and each is to be named."""
        self._invocation = invocation
        self._repository = repository
        self._several = several
        self._zero = zero
        self._owners: dict[int, Owners] = {}
        self._rows: list[tuple[str, ...]] = []
        self._ranges: dict[tuple[int, int], str] = {}
        # What is in one directory was often written within one second.
        self._time = lru_cache(1024)(lambda second: local_time(second * NS, invocation.clock))
        self.count = 0

    def found(self, found: Found) -> None:
        """One version of a path."""
        self.count += 1
        if self._invocation.json:
            self._as_json(found)
        elif self._zero:
            ends = version_range(found.root, found.first, found.last)
            fields = (encode(ends.first), encode(ends.last), found.path)
            self._invocation.out.data(b"".join(field + b"\0" for field in fields))
        else:
            which = found.first.id, found.last.id
            told = self._ranges.get(which)
            if told is None:
                told = range_text(found.root, found.first, found.last, with_root=self._several)
                self._ranges[which] = told
            self._rows.append(
                (
                    told,
                    size_text(found.entry),
                    self._time(found.entry.mtime_s),
                    quote(found.path or b"."),
                )
            )
            if len(self._rows) == _BATCH:
                self.finish()

    def finish(self) -> None:
        """Print what waits to be aligned."""
        for line in plain_lines((), self._rows, right=(1,)) if self._rows else ():
            self._invocation.out.line(line)
        self._rows.clear()

    def _as_json(self, found: Found) -> None:
        root = found.root
        if root.id not in self._owners:
            self._owners[root.id] = self._repository.owners(root.id)
        self._invocation.emit(
            "find/1",
            version_range(root, found.first, found.last),
            attributes(found.path, found.entry, self._owners[root.id]),
            Hit(found.digest or None, found.newest),
        )


def _row(
    invocation: Invocation, root: Root, version: LogVersion, *, with_path: bool
) -> tuple[str, ...]:
    entry = version.entry
    if with_path:
        told = line_of(_change(version)).replace("\t", " ")
    else:
        told = " ".join(filter(None, (version.letter, ",".join(version.what))))
    return (
        range_text(root, version.first, version.last, with_root=False),
        local_time(version.first.created_ns, invocation.clock),
        size_text(entry),
        mode_text(entry),
        version.digest.hex()[:_DIGITS],
        told,
    )


def _change(version: LogVersion) -> Change:
    return Change(
        version.letter, version.path, version.old_path, version.what, version.before, version.entry
    )


def size_text(entry: Entry | None) -> str:
    """The size of a file; nothing for anything else."""
    return format_size(entry.size) if entry is not None and entry.kind == Kind.FILE else ""


def mode_text(entry: Entry | None) -> str:
    """``-rw-r--r--``; of a symlink its target as well."""
    return "" if entry is None else with_target(permissions(entry), entry)


def _text(invocation: Invocation, repository: Repository, root: Root, version: LogVersion) -> None:
    # Which snapshots does not matter to stored sides: the entries say what their contents are.
    side = StoredSide(root, version.first)
    lines = b"".join(unified(repository, _change(version), side, side))
    if invocation.json:
        if lines:
            invocation.emit("diff-text/1", DiffText(version.path, text_of(lines)))
    else:
        print_text(invocation.out, lines)
