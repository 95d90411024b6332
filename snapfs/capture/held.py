"""Small files between reading and storing.

They wait until it is known which of them are stored already, and beside which others they are to be:
like files compress better together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from snapfs.blocks.pack import PackInfo

_COST = 300
"""What holding a file takes beyond its bytes."""

KnownBlocks = Callable[[Sequence[bytes]], set[bytes]]
"""Which of these digests the repository has already."""


class Sink(Protocol):
    """Where blocks go: `BlockSink`, or nowhere."""

    def add(self, digest: bytes, data: bytes | memoryview, *, large: bool = False) -> bool: ...

    def take_finished(self) -> list[PackInfo]: ...

    def flush(self) -> list[PackInfo]: ...

    def abandon(self) -> None: ...


class NullSink:
    """For a comparison: digests are wanted, nothing is stored."""

    def add(self, digest: bytes, data: bytes | memoryview, *, large: bool = False) -> bool:
        return False

    def take_finished(self) -> list[PackInfo]:
        return []

    def flush(self) -> list[PackInfo]:
        return []

    def abandon(self) -> None:
        return


class Held:
    """Files of one block that are read and not stored."""

    def __init__(self, sink: Sink, known: KnownBlocks | None) -> None:
        """``known`` None: the repository has no blocks yet, nobody need be asked."""
        self._sink = sink
        self._known = known
        self._files: list[tuple[bytes, bytes, bytes]] = []
        self.size = 0
        """about how many bytes it takes"""

    def add(self, name: bytes, digest: bytes, data: bytes) -> None:
        """Hold the bytes of a file called ``name``."""
        self._files.append((name, digest, data))
        self.size += len(data) + _COST

    def store(self, *, like_together: bool = False) -> None:
        """Store those that are not stored already.

        ``like_together``: those of like names beside each other, else as they came.
        """
        files, self._files, self.size = self._files, [], 0
        if not files:
            return
        if like_together:
            files.sort(key=_likeness)
        stored = self._known([digest for _, digest, _ in files]) if self._known else ()
        for _, digest, data in files:
            if digest not in stored:
                self._sink.add(digest, data)


def likeness(name: bytes) -> tuple[bytes, bytes]:
    """Extension and name: files that are like in these are like in their bytes."""
    stem, dot, extension = name.rpartition(b".")
    return (extension if dot and stem else b"", name)


def _likeness(file: tuple[bytes, bytes, bytes]) -> tuple[bytes, bytes]:
    return likeness(file[0])
