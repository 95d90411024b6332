"""Which root the words of a command line mean."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property

from snapfs.cli.frame.invocation import Invocation
from snapfs.errors import NotFoundError, UsageError
from snapfs.fs.machine import host_id
from snapfs.model.quote import printable, quote, quote_text
from snapfs.model.reference import is_root_path
from snapfs.model.snapshot import Root
from snapfs.repository.opened import Repository


class Roots:
    """The roots of a repository, as one command line sees them from where it stands."""

    def __init__(self, invocation: Invocation, repository: Repository) -> None:
        self.invocation = invocation
        self.repository = repository

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
            return self.invocation.environment.absolute("PWD")

    def standing_in(self, host: str | None = None) -> Root | None:
        """The innermost root of this host (or ``host``) that holds the working directory."""
        return None if self.here is None else self.holding(self.here, host or self.host)

    def holding(self, path: bytes, host: str) -> Root | None:
        """The innermost root of a host that a path lies in."""
        return _innermost([root for root in self.roots if root.host == host], path)

    def not_here(self) -> str:
        """Why the working directory is in no root though one has its path; empty if none has."""
        found = self.here and _innermost(self.roots, self.here)
        if not found or found.host == self.host:
            return ""
        return (
            f"{quote(found.path or b'')} is root {found.label} on another host "
            f"({printable(found.host)}), not on this one ({self.host}); "
            f"`snapfs roots move {found.label} {quote(found.path or b'')}` makes it one of this host"
        )

    def root(self, word: str | None = None) -> Root:
        """The root of that label or path, else --root's, else where I stand, else the only one."""
        word = word if word is not None else self.invocation.common.root
        if word is not None:
            return self.named_root(word)
        found = self.standing_in() or (self.roots[0] if len(self.roots) == 1 else None)
        if found is not None:
            self.invocation.detail(f"root: {found.label}")
            return found
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
            hint=self.not_here() or f"say --root {self.roots[0].label}, or stand in one",
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
            hint=self._known_roots(word),
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
            hint=self._known_roots(word),
        )

    def _known_roots(self, word: str) -> str:
        if not self.roots:
            return "it has none; `snapfs create DIR` registers one"
        label = word.partition("@")[0]
        if label != word and any(root.label == label for root in self.roots):
            return f"{label} is one, {quote_text(word)} a snapshot of it"
        return f"it has {', '.join(root.label for root in self.roots)}"

    def resolve(self, word: str) -> bytes:
        """An ordinary path made absolute, without symlinks as far as it exists."""
        path = self.invocation.environment.expand_home(word)
        return os.path.realpath(os.path.join(self.here or b"/", path))


def _innermost(roots: Sequence[Root], path: bytes) -> Root | None:
    holding = [
        root for root in roots if root.path is not None and relative_to(root.path, path) is not None
    ]
    return max(holding, key=lambda root: len(root.path or b""), default=None)


def relative_to(root: bytes, path: bytes) -> bytes | None:
    """``path`` relative to ``root``, both absolute and normal; None if it is not in it."""
    if path == root:
        return b""
    prefix = root if root.endswith(b"/") else root + b"/"
    return path[len(prefix) :] if path.startswith(prefix) else None
