"""What ``snapfs --version`` says."""

from __future__ import annotations

from dataclasses import dataclass

from snapfs import __version__


@dataclass(frozen=True, slots=True)
class Version:
    """Which snapfs this is."""

    version: str = __version__
    """as 0.1.0"""
