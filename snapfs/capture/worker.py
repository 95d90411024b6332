"""The process that reads, hashes, compresses and writes packs: ``python -P -m snapfs.capture.worker``.

It inherits three descriptors, the root, the repository folder and the table of claims, and asks its
parent over the pipe what it cannot know; it knows no catalog and holds no lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from snapfs import workers
from snapfs.blocks.store import BlockSink
from snapfs.capture.claims import ClaimingSink, Claims
from snapfs.capture.reader import FileReader
from snapfs.capture.surveyor import Part, Rest, Setup, Surveyor
from snapfs.model.toread import ToRead
from snapfs.storage.files import FileBackend


class Start(NamedTuple):
    """The first message: what to work on."""

    root_fd: int
    repository_fd: int
    claims_fd: int
    owner: tuple[int, int] | None
    repository_id: bytes
    stem: str
    asking: bool


Message = Start | Setup | Part | Rest | list[tuple[Any, ...]] | None
"""Start, a survey and its parts, a batch of files, or None to finish the open pack."""


def _known(digests: Sequence[bytes]) -> set[bytes]:
    answer = workers.ask(list(digests))
    return set(answer)


class _Service:
    def __init__(self) -> None:
        self._root_fd = -1
        self._reader: FileReader | None = None
        self._surveyor: Surveyor | None = None

    def handle(self, message: Message) -> object:
        if isinstance(message, Start):
            backend = FileBackend(message.repository_fd, owner=message.owner)
            sink = BlockSink(backend, message.repository_id, message.stem)
            claiming = ClaimingSink(sink, Claims(message.claims_fd))
            known = _known if message.asking else None
            self._root_fd = message.root_fd
            self._reader = FileReader(message.root_fd, claiming, known, workers.tell)
            return None
        assert self._reader is not None
        if message is None:
            return self._reader.flush()
        if isinstance(message, list):
            return self._reader.read(list(map(ToRead._make, message)))
        if isinstance(message, Setup):
            self._surveyor = Surveyor(message, self._root_fd, self._reader)
            return None
        assert self._surveyor is not None
        if isinstance(message, Part):
            return self._surveyor.survey(message)
        return self._surveyor.rest()


def main() -> None:
    """Serve until the pipe ends."""
    workers.serve(_Service().handle)


if __name__ == "__main__":
    # Through the module's own name, so that the classes in messages are the parent's.
    from snapfs.capture import worker  # noqa: PLW0406

    worker.main()
