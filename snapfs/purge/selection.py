"""Which names the paths of a purge mean, in which snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from snapfs.catalog import compiled as sql
from snapfs.catalog import rows
from snapfs.catalog.cut import Key
from snapfs.catalog.database import Catalog
from snapfs.catalog.spans import Span
from snapfs.errors import NotFoundError, UsageError
from snapfs.model.path import join
from snapfs.model.quote import quote
from snapfs.model.snapshot import Root
from snapfs.purge.options import Alias, Elsewhere
from snapfs.repository.takeout import Target, target
from snapfs.tree.history import Chain, Places, at_path, chain_of, cut
from snapfs.tree.history import Span as Positions

MOST_ALIASES = 20
"""Of more other paths the rest is not told."""


class Selection(NamedTuple):
    """What is to be taken out."""

    targets: tuple[Target, ...]
    spans: tuple[Positions, ...]
    """where each of them is, by position in the chain"""


def outermost(paths: Iterable[bytes]) -> tuple[bytes, ...]:
    """The paths without those that lie below another, each once. Raises UsageError for the root."""
    found: list[bytes] = []
    for path in sorted(set(paths), key=lambda path: path.split(b"/")):
        if not path:
            raise UsageError(
                "the root itself cannot be purged", hint="`snapfs roots remove ROOT` forgets it"
            )
        if not found or not path.startswith(found[-1] + b"/"):
            found.append(path)
    return tuple(found)


def select(
    catalog: Catalog, root: Root, chain: Chain | None, paths: Sequence[bytes], *, deleted: bool
) -> Selection:
    """Every name that stood at one of the paths at any time.

    Raises NotFoundError for a path that no snapshot has, unless ``deleted``.
    """
    targets: list[Target] = []
    spans: list[Positions] = []
    for path in paths:
        places = [] if chain is None else at_path(catalog, chain, path)
        if not places and not deleted:
            raise NotFoundError(
                f"no snapshot of {root.label} has {quote(path)}",
                subject=quote(path),
                hint="if one had it that is deleted, --deleted drops what is left of it",
            )
        for inode, place in places:
            assert chain is not None
            key = Key(place.parent, place.name, _by_id(chain, place.span))
            targets.append(target(catalog, root.id, key, inode))
            spans.append(place.span)
    return Selection(tuple(targets), tuple(spans))


def _by_id(chain: Chain, span: Positions) -> Span:
    ids = [snapshot.id for snapshot in chain.snapshots[max(0, span.first - 1) : span.end]]
    return Span(ids[0] if span.first else 0, ids[-1])


def aliases(catalog: Catalog, chain: Chain) -> tuple[Alias, ...]:
    """Where what was taken out stays under other paths (inside the write that took it out)."""
    places = Places(catalog, {chain.root.root.id: chain})
    found = []
    for (inode,) in catalog.execute(sql.CUT_ALIASES, {"most": MOST_ALIASES}).fetchall():
        rows_of = catalog.execute(sql.CUT_SAME, {"inode": inode}).fetchall()
        same = chain.spans(rows_of, lambda _, is_same: bool(is_same))
        for place in places.of(chain, inode):
            spans = [both for span in same if (both := cut(place.span, span)) is not None]
            if spans:
                names = chain.names(spans)
                found.append((place.path, spans[0].first, names[0], names[-1]))
    told: list[Alias] = []
    for path, _, first, last in sorted(found, key=lambda one: (one[0].split(b"/"), one[1])):
        above = told[-1].path + b"/" if told else b"/"
        if not path.startswith(above):  # what lies in a directory that is told goes without saying
            told.append(Alias(path, first, last))
    return tuple(told)


def elsewhere(catalog: Catalog, root: Root, paths: Sequence[bytes]) -> tuple[Elsewhere, ...]:
    """Roots inside or around this one whose snapshots have the same files."""
    if root.path is None:
        return ()
    found = []
    for other in (row.root for row in rows.roots(catalog)):
        if other.id == root.id or other.path is None or other.host != root.host:
            continue
        for path in paths:
            whole = join(root.path, path)
            if (other.path + b"/").startswith(whole + b"/"):
                found.append(Elsewhere(other.label, b""))
            elif whole.startswith(other.path.rstrip(b"/") + b"/"):
                there = whole[len(other.path.rstrip(b"/")) + 1 :]
                chain = chain_of(catalog, other.id)
                if chain is not None and at_path(catalog, chain, there):
                    found.append(Elsewhere(other.label, there))
    return tuple(found)
