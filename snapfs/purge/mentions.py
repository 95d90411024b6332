"""Where a name that was purged is told still, and who may change that.

What people call snapshots by, and where symbolic links lead, is theirs to change. A rule with wildcards
goes on to decide what a restore leaves alone. Of none of it anything is changed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from snapfs.catalog import compiled as sql
from snapfs.catalog import rows
from snapfs.catalog.database import Catalog
from snapfs.errors import DamageError
from snapfs.fs.rules import Rules, to_text
from snapfs.model.quote import printable, quote
from snapfs.model.snapshot import Snapshot
from snapfs.model.units import format_count
from snapfs.repository.scrub import Scrubber, has_name
from snapfs.tree.history import Places, chains

MOST_LINKS = 20
"""Of more symbolic links the rest is not told."""
_AGAIN = "then `snapfs purge --deleted PATH`"


def mentions(
    catalog: Catalog, root_id: int, paths: Sequence[bytes], scrub: Scrubber
) -> Iterator[str]:
    """A line for each, with the way to be rid of it (inside the write that took the paths out).

    ``paths`` are those that are purged, from the root.
    """
    for row in rows.roots(catalog):
        for snapshot in rows.snapshots(catalog, row.root.id):
            yield from _labels(f"{row.root.label}@{snapshot.name}", snapshot, scrub)
        here = paths if row.root.id == root_id else ()
        yield from _rules(catalog, row.root.id, row.root.label, here, scrub)
    yield from _links(catalog, scrub)


def _labels(which: str, snapshot: Snapshot, scrub: Scrubber) -> Iterator[str]:
    for tag in snapshot.tags:
        if scrub.names(tag) != tag:
            untag = f"`snapfs untag {which} {printable(tag)}`"
            yield f"the tag {printable(tag)} of {which} has the name: {untag}, {_AGAIN}"
    if scrub.names(snapshot.name) != snapshot.name:
        yield f"the name of snapshot {which} has it: `snapfs rename {which} NEW`, {_AGAIN}"


def _rules(
    catalog: Catalog, root_id: int, label: str, paths: Sequence[bytes], scrub: Scrubber
) -> Iterator[str]:
    """Patterns with wildcards, and names of markers, each once with the snapshots that have it."""
    found: dict[str, list[str]] = {}
    for kept in rows.snapshot_rows(catalog, root_id):
        try:
            rules = Rules.from_text(kept.rules)
        except DamageError:
            continue  # verify names it
        told = [
            to_text(line.text) for line in rules.patterns if has_name(line.text, paths, scrub.names)
        ]
        told += [text for text in map(to_text, rules.if_present) if scrub.names(text) != text]
        for text in told:
            found.setdefault(text, []).append(kept.name)
    for text, names in found.items():
        count = format_count(len(names), "snapshot")
        which = f"{count} of {label} ({names[0]}{f' to {names[-1]}' if len(names) > 1 else ''})"
        yield (
            f"the rule {printable(text)} of {which} has the name, and says what a restore "
            "leaves alone: delete them, then `snapfs purge --deleted PATH`"
        )


def _links(catalog: Catalog, scrub: Scrubber) -> Iterator[str]:
    found = dict.fromkeys(
        inode
        for inode, target in catalog.execute(sql.CUT_TARGETS)
        if scrub.asked(to_text(target)) != to_text(target)
    )
    if not found:
        return
    known = chains(catalog)
    places = Places(catalog, known)
    for inode in list(found)[:MOST_LINKS]:
        chain = places.chain(inode)
        for place in () if chain is None else places.of(chain, inode)[:1]:
            assert chain is not None
            label = chain.root.root.label
            yield f"the symbolic link {quote(place.path)} of {label} leads to it: purge it as well"
    if len(found) > MOST_LINKS:
        yield f"and {format_count(len(found) - MOST_LINKS, 'symbolic link')} more"
