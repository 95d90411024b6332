"""Which path of a root the words of a command line mean."""

from __future__ import annotations

import os

from snapfs.cli.frame.roots import Roots, relative_to
from snapfs.errors import UsageError
from snapfs.model.quote import quote
from snapfs.model.reference import LATEST_POINT, Reference, read_reference
from snapfs.model.snapshot import Root
from snapfs.storage.path import absolute


def path_in(roots: Roots, reference: Reference, root: Root) -> bytes:
    """PATH of a reference relative to the root; empty for the root itself."""
    if reference.path is None:
        return b""
    path = reference.path.encode("utf-8", "surrogateescape")
    if not reference.path_from_here:
        return _inside(path, path, root)
    here = None if root.path is None or roots.here is None else relative_to(root.path, roots.here)
    if here is None:
        raise UsageError(
            f":{quote(path)} starts at the working directory, which is not in {root.label}",
            subject=quote(path),
            hint="leave out the ./ to start at the root",
        )
    return _inside(os.path.join(here, path), path, root)


def _inside(path: bytes, written: bytes, root: Root) -> bytes:
    normal = os.path.normpath(path.lstrip(b"/") or b".")
    if normal == b".." or normal.startswith(b"../"):
        raise UsageError(f"{quote(written)} leads out of {root.label}", subject=quote(written))
    return b"" if normal == b"." else normal


def ordinary_path(roots: Roots, word: str, root: Root) -> bytes:
    """An ordinary path, from the working directory, as a path relative to the root; of a stream, which is
    nowhere, it is from the root.
    """
    path = roots.invocation.environment.expand_home(word)
    if root.path is None and not path.startswith(b"/"):
        return _inside(path, path, root)
    if root.path is not None and roots.here is not None:
        # As written first: what is a symlink today may have been a directory in the snapshot.
        written = absolute(os.path.join(roots.here, path))
        head, tail = os.path.split(written)
        for candidate in (written, os.path.join(os.path.realpath(head), tail)):
            found = relative_to(root.path, candidate)
            if found is not None:
                return found
    raise UsageError(
        f"{quote(path)} is not in {root.label} ({quote(root.path) if root.path else 'a stream'})",
        subject=quote(path),
        hint=f"write it from the root: {root.label}@SNAPSHOT:PATH" if root.id else "",
    )


def path_of(roots: Roots, word: str, root: Root) -> bytes:
    """A PATH of a root that is known: an ordinary one, or ``:PATH`` from the root."""
    path = roots.invocation.environment.expand_home(word)
    if word.startswith(":") and not os.path.lexists(path):
        reference = read_reference(word, default=LATEST_POINT)
        assert reference is not None
        return path_in(roots, reference, root)
    return ordinary_path(roots, word, root)


def recorded_path(roots: Roots, word: str) -> tuple[Root, bytes]:
    """Root and path of a PATH that some snapshot has or had: an ordinary one, ``:PATH`` from the root, or
    what follows the colon of a whole reference.

    The root is --root's, else the innermost that holds the path, else the one that is meant without.
    """
    path = roots.invocation.environment.expand_home(word)
    if ":" in word and not os.path.lexists(path):
        try:
            reference = read_reference(word, default=LATEST_POINT)
        except ValueError:
            reference = None
        if reference is not None and reference.path is not None:
            root = roots.root(reference.root)
            return root, path_in(roots, reference, root)
    root = _holding(roots, path) or roots.root()
    return root, ordinary_path(roots, word, root)


def _holding(roots: Roots, path: bytes) -> Root | None:
    if roots.invocation.common.root is not None or roots.here is None:
        return None
    written = absolute(os.path.join(roots.here, path))
    head, tail = os.path.split(written)
    return roots.holding(written, roots.host) or roots.holding(
        os.path.join(os.path.realpath(head), tail), roots.host
    )
