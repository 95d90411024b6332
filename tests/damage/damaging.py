"""Ways in which a file of the repository goes bad."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path, float], None]
"""What happens to a file, at a place given as a share (0..1) of its length."""


def truncate(path: Path, at: float) -> None:
    """Everything from there on is lost."""
    with path.open("r+b") as file:
        file.truncate(int(path.stat().st_size * at))


def flip(path: Path, at: float) -> None:
    """One bit changes."""
    with path.open("r+b") as file:
        position = min(int(path.stat().st_size * at), path.stat().st_size - 1)
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ 1 << random.Random(position).randrange(8)]))


def zero(path: Path, at: float) -> None:
    """Some bytes read as zeros."""
    size = path.stat().st_size
    position = min(int(size * at), max(size - ZEROED, 0))
    with path.open("r+b") as file:
        file.seek(position)
        file.write(bytes(min(ZEROED, size - position)))


def remove(path: Path, at: float) -> None:
    """The file is gone."""
    path.unlink()


ZEROED = 64

DAMAGES: dict[str, Damage] = {"truncate": truncate, "flip": flip, "zero": zero, "remove": remove}
