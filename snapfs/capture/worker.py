"""The process that reads, hashes, compresses and writes packs: ``python -P -m snapfs.capture.worker``.

It inherits two descriptors, the root and the repository folder, and asks its parent over the pipe
which blocks are stored already; it knows no catalog and holds no lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from snapfs import workers
from snapfs.blocks.store import BlockSink
from snapfs.capture.reader import FileReader
from snapfs.model.toread import ToRead
from snapfs.storage.files import FileBackend


class Start(NamedTuple):
    """The first message: what to work on."""

    root_fd: int
    repository_fd: int
    owner: tuple[int, int] | None
    repository_id: bytes
    stem: str
    asking: bool


def _known(digests: Sequence[bytes]) -> set[bytes]:
    answer = workers.ask(list(digests))
    return set(answer)


class _Service:
    def __init__(self) -> None:
        self._reader: FileReader | None = None

    def handle(self, message: Start | list[tuple[Any, ...]] | None) -> object:
        """Start, a batch of files, or None to finish the open pack."""
        if isinstance(message, Start):
            backend = FileBackend(message.repository_fd, owner=message.owner)
            sink = BlockSink(backend, message.repository_id, message.stem)
            known = _known if message.asking else None
            self._reader = FileReader(message.root_fd, sink, known, workers.tell)
            return None
        assert self._reader is not None
        if message is None:
            return self._reader.flush()
        return self._reader.read(list(map(ToRead._make, message)))


def main() -> None:
    """Serve until the pipe ends."""
    workers.serve(_Service().handle)


if __name__ == "__main__":
    # Through the module's own name, so that the classes in messages are the parent's.
    from snapfs.capture import worker  # noqa: PLW0406

    worker.main()
