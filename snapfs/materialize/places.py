"""Where the bytes of a file are."""

from __future__ import annotations

Place = tuple[int, int, bytes, str, int, int, int]
"""An extent, in file order: kind (``ExtentKind``), length, and for a block its digest, its pack, the offset
and stored length of its segment there, and its offset in the decoded segment.

A bare tuple: a named one costs five times as much to send to another process.
"""
