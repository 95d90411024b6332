"""What the journal told behind damage: changes that no catalog has any more.

Nothing of it can be applied, for each change says what it did to the outcome of the one before. But a record
begins with what it was about, and its frames have checksums of their own: so the snapshots and roots that are
lost can often be named. Where even that is unreadable, records are counted by their numbers.

Whoever goes on without these changes writes what is lost into the dump with which the journal begins anew
(``lost`` in its header) and into the catalog, until it is told: killed before that, the next run finds it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from snapfs.catalog import rows
from snapfs.catalog.database import Catalog
from snapfs.errors import NONSENSE, SnapfsError
from snapfs.repository.journal import Journal, JournalTail
from snapfs.repository.replay import root_from_json, snapshot_from_json
from snapfs.stream.record import decode_record

UNTOLD = "lost"
"""What the catalog has of a loss that nobody was told of yet."""


@dataclass(frozen=True, slots=True)
class LostSnapshot:
    """A snapshot that only lost changes told of."""

    root: str
    """label of its root"""
    name: str
    """its name"""
    created_ns: int
    """the time it stands for"""


@dataclass(frozen=True, slots=True)
class LostChanges:
    """Changes that the journal told of behind damage, and that are in effect no more."""

    what: str
    """what is wrong with the journal"""
    certain: bool
    """false if it looks the same as after a run that was killed, which changed nothing"""
    records: int
    """how many changes there were, at least"""
    unreadable: int
    """changes of which nobody can read what they were"""
    after_ns: int | None
    """time of the last change that is not lost, null if that is not known"""
    snapshots: tuple[LostSnapshot, ...]
    """snapshots that are lost, oldest first, as far as they can be named"""
    roots: tuple[str, ...]
    """labels of roots that are lost, as far as they can be named"""
    packs: tuple[str, ...]
    """packs that only these changes knew; they are moved to quarantine"""

    def to_json(self) -> dict[str, Any]:
        """As the header of a dump has it."""
        return asdict(self)


def lost_from_json(value: Mapping[str, Any]) -> LostChanges:
    """The reverse of `LostChanges.to_json`. Raises one of NONSENSE."""
    snapshots = tuple(LostSnapshot(**one) for one in value["snapshots"])
    lists = {"roots": tuple(value["roots"]), "packs": tuple(value["packs"])}
    return LostChanges(**{**value, **lists, "snapshots": snapshots})


def read_header(piece: bytes | None) -> dict[str, Any] | None:
    """The header of a record by its first piece, None if it cannot be read."""
    try:
        return None if piece is None else decode_record([piece])[0]
    except SnapfsError:
        return None


@dataclass(slots=True)
class _Remains:
    """Roots and snapshots that are in no catalog, by what is read of later changes."""

    labels: dict[int, str]
    """of all roots there are"""
    roots: dict[int, str] = field(default_factory=dict)
    snapshots: dict[int, tuple[int, str, int]] = field(default_factory=dict)

    def take(self, header: Mapping[str, Any]) -> None:
        """One change. Raises one of NONSENSE."""
        match header["op"]:
            case "create":
                row = snapshot_from_json(header["snapshot"])
                self.snapshots[row.id] = row.root_id, row.name, row.created_ns
            case "add-root" | "edit-root" as op:
                root = root_from_json(header["root"])
                self.labels[root.id] = root.label
                if op == "add-root" or root.id in self.roots:
                    self.roots[root.id] = root.label
            case "edit-snapshot" if (before := self.snapshots.get(header["snapshot"])) is not None:
                self.snapshots[header["snapshot"]] = before[0], str(header["name"]), before[2]
            case "delete":
                for _, deleted in header["snapshots"]:
                    for snapshot in deleted:
                        self.snapshots.pop(snapshot, None)
                self.roots.pop(header["drop_root"], None)
            case _:
                return


def find_lost_changes(
    log: Journal, catalog: Catalog, after: JournalTail, what: str, *, certain: bool, least: int
) -> LostChanges | None:
    """What the journal told after ``after``, the last change that ``catalog`` has.

    None if that is nothing, unless ``least`` says that there was something. ``packs`` is empty.
    """
    found = _Remains({})
    with suppress(SnapfsError):  # a catalog that is kept is not sound in everything
        found.labels = {row.root.id: row.root.label for row in rows.roots(catalog)}
    last, read = after.seq, set()
    for seq, piece in log.remains(after):
        last = max(last, seq)
        header = read_header(piece)
        if header is not None:
            try:
                found.take(header)
                read.add(seq)
            except NONSENSE:
                continue
    records = max(least, last - after.seq)
    if not records:
        return None
    snapshots = sorted(
        (created_ns, id_, found.labels.get(root_id, f"root {root_id}"), name)
        for id_, (root_id, name, created_ns) in found.snapshots.items()
    )
    return LostChanges(
        what, certain, records, records - len(read), time_of(log, after),
        tuple(LostSnapshot(label, name, created_ns) for created_ns, _, label, name in snapshots),
        tuple(sorted(found.roots.values())), (),
    )  # fmt: skip


def time_of(log: Journal, tail: JournalTail) -> int | None:
    """When the change was made whose record ends there, None if that cannot be read."""
    try:
        header, _ = decode_record(log.read(tail, headless=True).pieces)
        return int(header["time_ns"])
    except (SnapfsError, *NONSENSE):
        return None


def unfinished_loss(log: Journal, tail: JournalTail) -> LostChanges | None:
    """What was lost when the journal began anew with the dump that ends at ``tail``, its last record."""
    try:
        header, _ = decode_record(log.read(tail, headless=True).pieces)
        return lost_from_json(header["lost"]) if header.get("lost") is not None else None
    except (SnapfsError, *NONSENSE):
        return None


def keep_untold(catalog: Catalog, lost: LostChanges | None) -> None:
    """Remember a loss until it is told, or that it was (inside a write)."""
    if lost is None:
        catalog.drop_meta(UNTOLD)
    else:
        catalog.set_meta(UNTOLD, json.dumps(lost.to_json()))


def untold_loss(catalog: Catalog) -> LostChanges | None:
    """The loss that is remembered. What makes no sense is none."""
    text = catalog.meta(UNTOLD)
    try:
        return None if text is None else lost_from_json(json.loads(text))
    except NONSENSE:
        return None
