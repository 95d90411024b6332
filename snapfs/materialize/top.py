"""The directory that a run works in."""

from __future__ import annotations

import os
from dataclasses import dataclass

from snapfs.errors import SnapfsError
from snapfs.fs.handles import open_top
from snapfs.storage.path import absolute


@dataclass(frozen=True, slots=True)
class Top:
    """The target: its descriptor (None in a dry run if it is not there), and whether it was just made."""

    fd: int | None
    made: bool
    device: int
    usual_mode: int
    """What the caller's umask gives a new directory."""


def open_target(path: bytes, *, umask: int, dry_run: bool) -> Top:
    """Open the target, making it and its parents if they are not there.

    Raises SnapfsError if it is no directory or cannot be made.
    """
    usual_mode = 0o777 & ~umask
    text = os.fsdecode(path)
    try:
        try:
            fd = open_top(path)
            made = False
        except FileNotFoundError:
            if dry_run:
                return Top(None, True, 0, usual_mode)
            os.makedirs(os.path.dirname(absolute(path)), usual_mode, exist_ok=True)
            if os.path.islink(path):
                raise SnapfsError(
                    f"cannot restore to {text}: it is a symlink to what is not there", subject=text
                ) from None
            os.mkdir(path, 0o700)
            fd = open_top(path)
            made = True
        return Top(fd, made, os.fstat(fd).st_dev, usual_mode)
    except OSError as error:
        raise SnapfsError(f"cannot restore to {text}: {error.strerror}", subject=text) from error
