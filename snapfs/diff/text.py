"""Text differences of changed files, as `diff -u` prints them."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator

from snapfs.blocks.reader import BlockReader
from snapfs.catalog.places import places
from snapfs.fs.dirstack import DirStack
from snapfs.fs.handles import open_file
from snapfs.model.entry import Entry
from snapfs.model.extents import ExtentKind
from snapfs.model.kinds import Kind, State
from snapfs.model.quote import quote
from snapfs.model.snapshot import LiveSide, Side
from snapfs.repository.opened import Repository
from snapfs.tree.changes import Change

MAX_BYTES = 16 * 1024 * 1024
"""Larger files are compared by `diff` itself only: their lines would not be read by anybody."""


def unified(repository: Repository, change: Change, a: Side, b: Side) -> Iterator[bytes]:
    """Lines of a unified diff with headers, ``Binary files … differ`` for what is no text, another such line
    where one side could not be read or is lost, nothing for what is no file or has the same bytes.
    """
    was, now = _file(change.old), _file(change.new)
    if was is None and now is None:
        return
    if was is not None and now is not None and "content" not in change.what:
        return
    old_path = change.path if change.old_path is None else change.old_path
    missing = [
        _shown(prefix + path)
        for prefix, path, entry in ((b"a/", old_path, was), (b"b/", change.path, now))
        if entry is not None and entry.state == State.UNREAD
    ]
    if missing:
        yield b"Files differ: " + b" and ".join(missing) + b" could not be read, or is lost\n"
        return
    old = _bytes(repository, a, old_path, was)
    new = _bytes(repository, b, change.path, now)
    from_name = _shown(b"a/" + old_path) if was is not None else b"/dev/null"
    to_name = _shown(b"b/" + change.path) if now is not None else b"/dev/null"
    if old is None or new is None or b"\0" in old or b"\0" in new:
        yield b"Binary files " + from_name + b" and " + to_name + b" differ\n"
        return
    lines = difflib.diff_bytes(
        difflib.unified_diff,
        _lines(old),
        _lines(new),
        from_name,
        to_name,
        lineterm=b"\n",
    )
    for line in lines:
        yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"


def _lines(text: bytes) -> list[bytes]:
    """With their ends; a carriage return ends none."""
    *whole, last = text.split(b"\n")
    return [line + b"\n" for line in whole] + ([last] if last else [])


def _file(entry: Entry | None) -> Entry | None:
    """The entry if it is a file; what became something else, or was it, has no text on that side."""
    return entry if entry is not None and entry.kind == Kind.FILE else None


def _shown(path: bytes) -> bytes:
    """A path for a header line: nothing in it may drive a terminal or end the line, and patch reads it."""
    if quote(path) == os.fsdecode(path):
        return path
    shown = [
        b"\\" + bytes((byte,)) if byte in b'"\\'
        else bytes((byte,)) if 0x20 <= byte < 0x7F
        else b"\\%03o" % byte
        for byte in path
    ]  # fmt: skip
    return b'"' + b"".join(shown) + b'"'


def _bytes(repository: Repository, side: Side, path: bytes, entry: Entry | None) -> bytes | None:
    """The bytes of a file, None if it is too large for a text diff."""
    if entry is None:
        return b""
    if entry.size > MAX_BYTES:
        return None
    if isinstance(side, LiveSide):
        return _live_bytes(side, path)
    parts: list[bytes] = []
    with BlockReader(repository.backend) as reader:
        for place in places(repository.catalog, entry.content):
            if place.kind == ExtentKind.BLOCK:
                parts.append(
                    bytes(
                        reader.read(
                            place.pack, place.segment_offset, place.stored, place.offset,
                            place.length, digest=place.digest,
                        )
                    )
                )  # fmt: skip
            else:
                parts.append(bytes(place.length))
    return b"".join(parts)


def _live_bytes(side: LiveSide, path: bytes) -> bytes | None:
    assert side.root.path is not None
    with DirStack(os.open(side.root.path, os.O_RDONLY | os.O_DIRECTORY)) as stack:
        *above, name = path.split(b"/")
        try:
            for part in above:
                stack.push(part)
            fd = open_file(name, stack.fd)
        except OSError:
            return None
    with os.fdopen(fd, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    return data if len(data) <= MAX_BYTES else None
