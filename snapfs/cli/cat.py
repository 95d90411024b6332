"""``snapfs cat``: the bytes of a file as it was."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from snapfs.cli.frame.command import Command, Example
from snapfs.cli.frame.hints import for_missing_paths, for_paths, refuse_slash
from snapfs.cli.frame.invocation import Invocation
from snapfs.cli.frame.options import Common
from snapfs.cli.frame.params import argument
from snapfs.cli.frame.paths import path_in
from snapfs.cli.frame.states import States
from snapfs.cli.frame.where import open_to_read
from snapfs.cli.render.text import reference
from snapfs.errors import Exit, UsageError
from snapfs.model.names import LATEST
from snapfs.model.quote import quote_text
from snapfs.restore import read_file


@dataclass(frozen=True, slots=True)
class Arguments(Common):
    place: str = argument(
        "SNAP:PATH", required=True, completes="file", about="snapshot and file in it"
    )


@dataclass(frozen=True, slots=True)
class Place:
    """Which path of which snapshot."""

    reference: str
    """ROOT@SNAPSHOT, as other commands take it"""
    path: bytes
    """path relative to the root"""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes of a file."""

    offset: int
    """where they stand in the file"""
    data_b64: str
    """the bytes in base64"""


def run(arguments: Arguments, invocation: Invocation) -> int:
    with open_to_read(invocation) as repository:
        states = States(invocation, repository)
        with for_paths(states, arguments.place, files_only=True):
            wanted = states.reference(arguments.place)
            if wanted.path is None and any(root.label == arguments.place for root in states.roots):
                raise _no_file(arguments.place, f"{arguments.place}@{LATEST}")
            stored = states.snapshot(wanted)
        if wanted.path is None:
            raise _no_file(arguments.place, arguments.place)
        path = path_in(states, wanted, stored.root)
        refuse_slash(repository, stored, path, wanted.path)
        place = Place(reference(stored.root, stored.snapshot), path)
        offset = 0
        with for_missing_paths(stored):
            for data in read_file(repository, stored, path):
                if invocation.json:
                    chunk = Chunk(offset, base64.b64encode(data).decode("ascii"))
                    invocation.emit("cat/1", place, chunk)
                else:
                    invocation.out.data(data)
                offset += len(data)
    return Exit.DONE


def _no_file(word: str, snapshot: str) -> UsageError:
    return UsageError(
        f"cat wants a file, and {quote_text(word)} names none",
        subject=word,
        hint=f"write {quote_text(snapshot)}:PATH",
    )


COMMAND = Command(
    arguments=Arguments,
    run=run,
    synopsis=("cat SNAP:PATH",),
    description="""\
Writes the bytes of a file as it was to standard output; holes come as zeros. Each block is checked
against its digest before it is written.""",
    examples=(
        Example("snapfs cat latest:notes.txt", "a file of the newest snapshot"),
        Example("snapfs cat 3d:./notes.txt | diff - notes.txt", "compared with now"),
    ),
    schemas=("cat/1",),
)
