"""The digest that a file would have in a snapshot, by the code that reads it for one."""

from __future__ import annotations

import os
import stat

from snapfs.capture.held import NullSink
from snapfs.capture.reader import FileReader, Outcome
from snapfs.errors import NotFoundError, SnapfsError, UsageError
from snapfs.model.quote import quote
from snapfs.model.toread import to_read


def file_digest(path: bytes) -> bytes | None:
    """Of the bytes and holes of a file, through symlinks; None for an empty one.

    Raises NotFoundError, UsageError for what is no file, SnapfsError if it cannot be read.
    """
    real = os.path.realpath(path)
    try:
        st = os.stat(real)
        if not stat.S_ISREG(st.st_mode):
            raise UsageError(f"{quote(path)} is no file", subject=quote(path))
        above = os.open(os.path.dirname(real), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise NotFoundError(f"{quote(path)}: {error.strerror}", subject=quote(path)) from error
    try:
        reader = FileReader(above, NullSink(), None, lambda _: None)
        read = reader.read([to_read(b"", os.path.basename(real), st)])
    finally:
        os.close(above)
    if read.plain:
        return read.plain[0][0]
    (_, result), *_ = read.special
    if result.outcome != Outcome.READ:
        what = os.strerror(result.errno) if result.errno else result.what or "it changes"
        raise SnapfsError(f"{quote(path)} cannot be read: {what}", subject=quote(path))
    return result.digest
