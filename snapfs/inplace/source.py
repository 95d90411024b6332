"""Where the bytes of what is put back come from, and where they go."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from snapfs.catalog.places import Place, places, places_of
from snapfs.errors import DamageError, NotFoundError, UsageError
from snapfs.fs.handles import open_top
from snapfs.materialize.wanted import Source
from snapfs.model.quote import quote
from snapfs.model.snapshot import Root
from snapfs.repository.opened import Repository


def stored_source(repository: Repository, linked: Container[int]) -> Source:
    """The repository's blocks; ``linked`` are the inodes that have several names in what is put back."""
    return Source(repository.path, lambda ids: _locate(repository, ids), linked)


def _locate(repository: Repository, contents: Sequence[int]) -> Mapping[int, Iterable[Place]]:
    """Large files come alone: their extents are told one by one."""
    if len(contents) == 1:
        return {contents[0]: _each_place(repository, contents[0])}
    return places_of(repository.catalog, contents)


def _each_place(repository: Repository, content: int) -> Iterator[Place]:
    """The extents of a content, as far as the catalog has them: then bytes are missing, which is told."""
    with suppress(DamageError):
        yield from places(repository.catalog, content)


def live_directory(root: Root, *, otherwise: str = "") -> bytes:
    """The path of a root's directory, where something is to be changed.

    ``otherwise`` is what else can be done. Raises UsageError for a stream, or if another directory may
    stand there by now.
    """
    if root.path is None:
        raise UsageError(f"{root.label} is a stream without a directory", hint=otherwise)
    if os.path.realpath(root.path) != root.path:
        name = os.fsdecode(root.path)
        also = f", or {otherwise}" if otherwise else ""
        raise UsageError(
            f"{name} leads through a symlink by now",
            subject=name,
            hint=f"snapfs roots move {root.label} DIR says where it is{also}",
        )
    return root.path


@contextmanager
def open_live(root: Root) -> Iterator[int]:
    """The directory of a root, open within the block. Raises NotFoundError if it cannot be."""
    assert root.path is not None
    try:
        fd = open_top(root.path)
    except OSError as error:
        name = quote(root.path)
        raise NotFoundError(
            f"directory {name} cannot be opened: {error.strerror}",
            subject=name,
            hint=f"if it moved: snapfs roots move {root.label} NEW-PATH",
        ) from error
    try:
        yield fd
    finally:
        os.close(fd)


def refuse_repository(repository: Repository, target: bytes) -> None:
    """Raises UsageError if a directory that is to be written to lies in the repository."""
    real = os.path.realpath(target)
    own = repository.resolved
    # A bind mount of it has another path.
    inside = real == own or real.startswith(own + b"/") or repository.own_folders().has(real)
    if inside:
        name = os.fsdecode(target)
        raise UsageError(f"{name} lies in the repository", subject=name, hint="name another target")
