"""Where a marker is found in a repository: in its files as they are, and in all that they hold compressed."""

from __future__ import annotations

from pathlib import Path

from snapfs.blocks.packreader import PackReader
from snapfs.repository.changes import journal
from snapfs.repository.journalfile import file_number
from snapfs.repository.opened import Repository


def traces(repository: Path, marker: bytes) -> set[str]:
    """Files that have it, by their path in the repository."""
    found = set()
    for path in repository.rglob("*"):
        name = str(path.relative_to(repository))
        if marker in name.encode() or (path.is_file() and marker in path.read_bytes()):
            found.add(name)
    with Repository(bytes(repository), write=False) as opened:
        for name in opened.backend.names("packs"):
            with PackReader(opened.backend, name) as pack:
                for segment in pack.index([]):
                    place = segment.place
                    if marker in bytes(pack.read_raw(place.offset, place.stored)):
                        found.add(f"packs/{name}")
        log = journal(opened)
        for name in filter(file_number, log.files()):
            for record in log.records(name):
                if any(marker in piece for piece in record.pieces):
                    found.add(f"journal/{name}")
    return found
