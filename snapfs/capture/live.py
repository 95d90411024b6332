"""The live directory as it would be captured now: staged and read as an overlay over the head, never stored."""

from __future__ import annotations

import os
from collections.abc import Callable

from snapfs.capture.capture import capture
from snapfs.capture.seen import ScanOptions
from snapfs.capture.store import BlockStore
from snapfs.catalog.rows import RootRow
from snapfs.errors import NotFoundError
from snapfs.fs.matching import RuleMatcher
from snapfs.fs.rules import Rules
from snapfs.model.quote import quote
from snapfs.progress import Progress
from snapfs.repository.opened import Repository


def stage_live(
    repository: Repository,
    row: RootRow,
    rules: Rules,
    *,
    spare: Callable[[bytes], bool],
    checksum: bool = False,
    progress: Progress,
) -> None:
    """Capture the directory of a root into the stage, storing nothing.

    ``spare`` says of a path left out for a marker or its size that it counts all the same. Raises
    NotFoundError if the directory cannot be opened.
    """
    path = row.root.path
    assert path is not None
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        name = quote(path)
        raise NotFoundError(
            f"directory {name} cannot be opened: {error.strerror}",
            subject=name,
            hint=f"if it moved: snapfs roots move {row.root.label} NEW-PATH",
        ) from error
    capture(
        repository.catalog,
        row,
        fd,
        RuleMatcher(rules),
        ScanOptions(
            one_file_system=rules.one_file_system,
            checksum=checksum,
            skip=repository.folders(),
            spare=spare,
        ),
        BlockStore(None),
        now_ns=repository.clock.now_ns(),
        progress=progress,
    )
