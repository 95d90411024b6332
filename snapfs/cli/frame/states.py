"""Which root, which snapshot, which path: references of the command line set against a repository."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property

from snapfs.cli.frame.invocation import Invocation
from snapfs.errors import NotFoundError, UsageError
from snapfs.fs.machine import host_id
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
    is_root_path,
    parse_reference,
    read_range,
)
from snapfs.model.snapshot import LiveSide, Root, Side, Snapshot, StoredSide
from snapfs.repository.opened import Repository


class States:
    """Resolves the words of one command line against one repository."""

    def __init__(self, invocation: Invocation, repository: Repository) -> None:
        self._invocation = invocation
        self.repository = repository
        self._chains: dict[int, Sequence[Snapshot]] = {}

    @cached_property
    def roots(self) -> Sequence[Root]:
        return self.repository.roots()

    @cached_property
    def host(self) -> str:
        return host_id()

    @cached_property
    def here(self) -> bytes | None:
        """The working directory, also if it is gone and only ``$PWD`` knows it."""
        try:
            return os.getcwdb()
        except FileNotFoundError:
            return self._invocation.environment.absolute("PWD")

    def chain(self, root: Root) -> Sequence[Snapshot]:
        """The snapshots of a root, oldest first."""
        if root.id not in self._chains:
            self._chains[root.id] = self.repository.snapshots(root.id)
        return self._chains[root.id]

    def standing_in(self) -> Root | None:
        """The innermost root of this host that holds the working directory."""
        if self.here is None:
            return None
        holding = [
            root
            for root in self.roots
            if root.path is not None
            and root.host == self.host
            and relative_to(root.path, self.here) is not None
        ]
        return max(holding, key=lambda root: len(root.path or b""), default=None)

    def root(self, word: str | None = None) -> Root:
        """The root of that label or path, else --root's, else where I stand, else the only one."""
        word = word if word is not None else self._invocation.common.root
        if word is not None:
            return self.named_root(word)
        found = self.standing_in()
        if found is not None:
            return found
        if len(self.roots) == 1:
            return self.roots[0]
        where = quote(self.repository.path)
        if not self.roots:
            raise NotFoundError(
                f"no roots and no snapshots in {where}",
                subject=where,
                hint="`snapfs create DIR` takes the first one",
            )
        labels = ", ".join(root.label for root in self.roots)
        raise UsageError(
            f"which root? {where} has several and I stand in none: {labels}",
            hint=f"say {self.roots[0].label}@{LATEST} or --root LABEL",
        )

    def named_root(self, word: str) -> Root:
        """The root of that label or path. Raises NotFoundError."""
        if is_root_path(word) or "/" in word:
            return self._root_at(word)
        for root in self.roots:
            if root.label == word:
                return root
        raise NotFoundError(
            f"no root {quote_text(word)} in {quote(self.repository.path)}",
            subject=word,
            hint=self._known_roots(),
        )

    def _root_at(self, word: str) -> Root:
        path = self.resolve(word)
        fitting = [root for root in self.roots if root.path == path]
        own = [root for root in fitting if root.host == self.host]
        if len(own or fitting) == 1:
            return (own or fitting)[0]
        if fitting:
            labels = ", ".join(root.label for root in fitting)
            raise UsageError(f"{quote(path)} is a root of several hosts: {labels}", subject=word)
        raise NotFoundError(
            f"{quote(path)} is no root in {quote(self.repository.path)}",
            subject=word,
            hint=self._known_roots(),
        )

    def _known_roots(self) -> str:
        if not self.roots:
            return "it has none; `snapfs create DIR` registers one"
        return f"it has {', '.join(root.label for root in self.roots)}"

    def resolve(self, word: str) -> bytes:
        """An ordinary path made absolute, without symlinks as far as it exists."""
        path = self._invocation.environment.expand_home(word)
        return os.path.realpath(os.path.join(self.here or b"/", path))

    def snapshot(self, reference: Reference) -> StoredSide:
        """The snapshot a reference means. Raises NotFoundError, or UsageError for ``.``."""
        point = reference.point
        if isinstance(point, Live):
            raise UsageError(
                f"{self._invocation.command}: a snapshot is wanted, and . is the live directory"
            )
        root = self._root_of(reference)
        found = find_snapshot(
            self.chain(root),
            point,
            now_ns=self._invocation.clock.now_ns(),
            offset_at=self._invocation.clock.utc_offset_s,
        )
        if found is None:
            raise self._missing(root, point)
        return StoredSide(root, found)

    def side(self, reference: Reference) -> Side:
        """The stored or live tree a reference means."""
        if isinstance(reference.point, Live):
            return LiveSide(self.root(reference.root))
        return self.snapshot(reference)

    def snapshot_of(self, text: str | None) -> StoredSide:
        """The snapshot that ``text`` names, the newest without one; a PATH is refused."""
        reference = reference_or_usage(text)
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
        first, last = (self.snapshot(end) for end in ends)
        if first.root != last.root:
            raise UsageError(f"{word}: the ends of a range are of one root", subject=word)
        low, high = first.snapshot.position, last.snapshot.position
        if low > high:
            raise UsageError(
                f"{word}: {first.snapshot.name} came after {last.snapshot.name}",
                subject=word,
                hint=f"write {last.snapshot.name}..{first.snapshot.name}",
            )
        chain = self.chain(first.root)
        return [StoredSide(first.root, snapshot) for snapshot in chain[low : high + 1]]

    def _root_of(self, reference: Reference) -> Root:
        """The root of a reference; a number alone says it itself, for it is unique."""
        point = reference.point
        number = point.number if isinstance(point, Named) else None
        if number is None or reference.root is not None or self._invocation.common.root is not None:
            return self.root(reference.root)
        found = self.repository.snapshot(number)
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
                hint=f"`snapfs create {root.label}` takes one",
            )
        if not isinstance(point, Named):
            return NotFoundError(
                f"{root.label} has no snapshot that old",
                subject=root.label,
                hint=f"its oldest is {min(chain, key=lambda s: s.created_ns).name}",
            )
        if point.back and (point.base == LATEST or self._find(chain, point.base)):
            return NotFoundError(
                f"{root.label} has no snapshot {point.back} before {point.base}",
                subject=point.base,
                hint=f"its oldest is {chain[0].name}",
            )
        return NotFoundError(
            f"{root.label} has no snapshot {point.base}",
            subject=point.base,
            hint=self._nearest(chain, point.base),
        )

    @staticmethod
    def _find(chain: Sequence[Snapshot], base: str) -> bool:
        return any(base in (snapshot.name, str(snapshot.id)) for snapshot in chain)

    def _nearest(self, chain: Sequence[Snapshot], name: str) -> str:
        if any(root.label == name for root in self.roots):
            return f"{name} is a root; its newest is {name}@{LATEST}"
        from difflib import get_close_matches

        near = get_close_matches(name, [snapshot.name for snapshot in chain], 1, 0.6)
        return f"did you mean {near[0]}?" if near else "`snapfs list` shows them"

    def path(self, reference: Reference, root: Root) -> bytes:
        """PATH of a reference relative to the root; empty for the root itself."""
        if reference.path is None:
            return b""
        path = reference.path.encode("utf-8", "surrogateescape")
        if not reference.path_from_here:
            return self._inside(path, path, root)
        here = None if root.path is None or self.here is None else relative_to(root.path, self.here)
        if here is None:
            raise UsageError(
                f":{quote(path)} starts at the working directory, which is not in {root.label}",
                subject=quote(path),
                hint="leave out the ./ to start at the root",
            )
        return self._inside(os.path.join(here, path), path, root)

    @staticmethod
    def _inside(path: bytes, written: bytes, root: Root) -> bytes:
        normal = os.path.normpath(path.lstrip(b"/") or b".")
        if normal == b".." or normal.startswith(b"../"):
            raise UsageError(f"{quote(written)} leads out of {root.label}", subject=quote(written))
        return b"" if normal == b"." else normal

    def bare_path(self, word: str, root: Root) -> bytes:
        """An ordinary path, from the working directory, as a path relative to the root."""
        path = self._invocation.environment.expand_home(word)
        if root.path is not None and self.here is not None:
            # As written first: what is a symlink today may have been a directory in the snapshot.
            lexical = os.path.normpath(os.path.join(self.here, path)).replace(b"//", b"/", 1)
            head, tail = os.path.split(lexical)
            for candidate in (lexical, os.path.join(os.path.realpath(head), tail)):
                found = relative_to(root.path, candidate)
                if found is not None:
                    return found
        raise UsageError(
            f"{quote(path)} is not in {root.label} ({quote(root.path or b'no directory')})",
            subject=quote(path),
            hint=f"write it from the root: {root.label}@SNAPSHOT:PATH",
        )


def relative_to(root: bytes, path: bytes) -> bytes | None:
    """``path`` relative to ``root``, both absolute and normal; None if it is not in it."""
    if path == root:
        return b""
    prefix = root if root.endswith(b"/") else root + b"/"
    return path[len(prefix) :] if path.startswith(prefix) else None


def reference_or_usage(text: str | None) -> Reference:
    """``[ROOT@]SNAPSHOT[:PATH]`` or ``:PATH``; the newest snapshot if there is no text."""
    if text is None:
        return Reference(LATEST_POINT)
    try:
        return parse_reference(text, default=LATEST_POINT)
    except ValueError as error:
        raise UsageError(str(error), subject=text) from error
