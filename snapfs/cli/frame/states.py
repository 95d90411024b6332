"""Which snapshot the references of a command line mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.roots import Roots
from snapfs.cli.render.text import create_line
from snapfs.errors import NotFoundError, UsageError
from snapfs.model.names import LATEST
from snapfs.model.quote import quote, quote_text
from snapfs.model.reference import (
    LATEST_POINT,
    Ago,
    At,
    Live,
    Named,
    Reference,
    find_snapshot,
    parse_reference,
    read_range,
)
from snapfs.model.snapshot import LiveSide, Root, Side, Snapshot, StoredSide
from snapfs.repository.opened import Repository

_OF_A_ROOT = {
    "usage": ("usage --root {}", "shows"),
    "find": ("find --root {} PATTERN", "searches"),
}
"""Commands that answer for a whole root as well: how that is asked, and what they do then."""


class States(Roots):
    """Resolves references against one repository; chains are read once."""

    def __init__(self, invocation: Invocation, repository: Repository) -> None:
        super().__init__(invocation, repository)
        self._chains: dict[int, Sequence[Snapshot]] = {}

    def chain(self, root: Root) -> Sequence[Snapshot]:
        """The snapshots of a root, oldest first."""
        if root.id not in self._chains:
            self._chains[root.id] = self.repository.snapshots(root.id)
        return self._chains[root.id]

    def snapshot(self, reference: Reference) -> StoredSide:
        """The snapshot a reference means. Raises NotFoundError, or UsageError for ``.``."""
        point = reference.point
        if isinstance(point, Live):
            raise UsageError(
                f"{self.invocation.command}: a snapshot is wanted, and . is the live directory"
            )
        root = self._root_of(reference)
        found = find_snapshot(
            self.chain(root),
            point,
            now_ns=self.invocation.clock.now_ns(),
            offset_at=self.invocation.clock.utc_offset_s,
        )
        if found is None:
            raise self._missing(root, point)
        return StoredSide(root, found)

    def side(self, reference: Reference) -> Side:
        """The stored or live tree a reference means."""
        if isinstance(reference.point, Live):
            return live_side(self.root(reference.root))
        return self.snapshot(reference)

    def reference(self, text: str | None) -> Reference:
        """As ``reference_or_usage``; half a reference to a root that is none says so."""
        try:
            return reference_or_usage(text)
        except UsageError:
            if text is not None and text.endswith("@") and len(text) > 1:
                self.named_root(text[:-1])
            raise

    def snapshot_of(self, text: str | None) -> StoredSide:
        """The snapshot that ``text`` names, the newest without one; a PATH is refused."""
        reference = self.reference(text)
        if reference.path is not None:
            raise UsageError(
                f"{quote_text(text or '')}: a whole snapshot is wanted, without :PATH",
                subject=text or "",
            )
        return self.snapshot(reference)

    def snapshots_of(self, words: Sequence[str]) -> tuple[StoredSide, ...]:
        """The snapshots that names and ranges ``A..B`` mean, each once, by root and chain."""
        found: dict[int, StoredSide] = {}
        for word in words:
            for stored in self._range(word):
                found[stored.snapshot.id] = stored
        return tuple(
            sorted(found.values(), key=lambda stored: (stored.root.label, stored.snapshot.position))
        )

    def _range(self, word: str) -> Sequence[StoredSide]:
        try:
            ends = read_range(word)
        except ValueError as error:
            raise UsageError(str(error), subject=word) from error
        if ends is None:
            return (self.snapshot_of(word),)
        with for_three_dots(word):
            first, last = (self.snapshot(end) for end in ends)
        if first.root != last.root:
            raise UsageError(f"{word}: the ends of a range are of one root", subject=word)
        low, high = first.snapshot.position, last.snapshot.position
        if low > high:
            raise UsageError(
                f"{word}: {first.snapshot.name} came after {last.snapshot.name}",
                subject=word,
                hint=f"write {first.root.label}@{last.snapshot.name}..{first.snapshot.name}",
            )
        chain = self.chain(first.root)
        return [StoredSide(first.root, snapshot) for snapshot in chain[low : high + 1]]

    def _root_of(self, reference: Reference) -> Root:
        """The root of a reference. Outside every root a number alone says it, for it is unique."""
        point = reference.point
        number = point.number if isinstance(point, Named) else None
        if number is None or reference.root is not None or self.invocation.common.root is not None:
            try:
                return self.root(reference.root)
            except UsageError as error:
                if isinstance(point, Named) and any(r.label == point.base for r in self.roots):
                    error.hint = self._as_root(point.base)
                raise
        found = self.repository.snapshot(number)
        here = self.standing_in()
        if here is not None and (found is None or found.root_id != here.id):
            raise self._no_number(here, number, found)
        if found is None:
            raise NotFoundError(
                f"no snapshot {number} in {quote(self.repository.path)}", subject=str(number)
            )
        return next(root for root in self.roots if root.id == found.root_id)

    def _missing(self, root: Root, point: Named | At | Ago) -> NotFoundError:
        chain = self.chain(root)
        if not chain:
            return NotFoundError(
                f"{root.label} has no snapshots in {quote(self.repository.path)}",
                subject=root.label,
                hint=f"`{create_line(root)}` takes one",
            )
        if not isinstance(point, Named):
            return NotFoundError(
                f"{root.label} has no snapshot that old",
                subject=root.label,
                hint=f"its oldest is {min(chain, key=lambda s: s.created_ns).name}",
            )
        if point.number is not None and not self._find(chain, point.base):
            return self._no_number(root, point.number, self.repository.snapshot(point.number))
        if point.back and (point.base == LATEST or self._find(chain, point.base)):
            return NotFoundError(
                f"{root.label} has no snapshot {point.back} before {point.base}",
                subject=point.base,
                hint=f"its oldest is {chain[0].name}",
            )
        return NotFoundError(
            f"{root.label} has no snapshot {point.base}",
            subject=point.base,
            hint=self._nearest(root.label, chain, point.base),
        )

    def _no_number(self, root: Root, number: int, found: Snapshot | None) -> NotFoundError:
        """A number is of one root only: another's is named, but hardly what was meant."""
        ids = [snapshot.id for snapshot in self.chain(root)]
        hint = (
            "it has none" if not ids
            else f"it has {ids[0]} only" if len(ids) == 1
            else f"it has {ids[0]} to {ids[-1]}" if len(ids) > ids[-1] - ids[0]
            else f"its numbers lie between {ids[0]} and {ids[-1]}"
        )  # fmt: skip
        if found is not None:
            label = next(other.label for other in self.roots if other.id == found.root_id)
            hint += f", and {number} is {label}@{found.name}"
        return NotFoundError(
            f"{root.label} has no snapshot {number}", subject=str(number), hint=hint
        )

    def _as_root(self, label: str) -> str:
        """What to write instead of the label alone of a root."""
        hint = f"{label} is a root; its newest is {label}@{LATEST}"
        if (about := _OF_A_ROOT.get(self.invocation.command)) is None:
            return hint
        words, does = about
        return f"{hint}, and `snapfs {words.format(label)}` {does} all its snapshots"

    @staticmethod
    def _find(chain: Sequence[Snapshot], base: str) -> bool:
        return any(base in (snapshot.name, str(snapshot.id)) for snapshot in chain)

    def _nearest(self, label: str, chain: Sequence[Snapshot], name: str) -> str:
        if any(root.label == name for root in self.roots):
            return self._as_root(name)
        from difflib import get_close_matches

        near = get_close_matches(name, [snapshot.name for snapshot in chain], 1, 0.6)
        return f"did you mean {near[0]}?" if near else f"`snapfs list {label}` shows them"


@contextmanager
def for_three_dots(word: str) -> Iterator[None]:
    """Where an end of a range is not found, say so if it took a dot too many."""
    try:
        yield
    except NotFoundError as error:
        if "..." in word:
            error.hint = (
                f"a range is written with two dots: {quote_text(word.replace('...', '..'))}"
            )
        raise


def live_side(root: Root, rules_of: Snapshot | None = None) -> LiveSide:
    """The directory of a root as it is now. Raises UsageError for a stream."""
    if root.path is None:
        raise UsageError(
            f"{root.label} is a stream: it has snapshots, and no directory as it is now",
            subject=root.label,
            hint=f"name two of them, as in `snapfs diff {root.label}@latest~1 {root.label}@latest`",
        )
    return LiveSide(root, rules_of)


def reference_or_usage(text: str | None) -> Reference:
    """``[ROOT@]SNAPSHOT[:PATH]`` or ``:PATH``; the newest snapshot if there is no text."""
    if text is None:
        return Reference(LATEST_POINT)
    try:
        return parse_reference(text, default=LATEST_POINT)
    except ValueError as error:
        raise UsageError(str(error), subject=text) from error
