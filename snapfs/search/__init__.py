"""Answers over all history: the versions of a path, and where something is."""

from __future__ import annotations

from snapfs.search.find import Found, find
from snapfs.search.log import LogOptions, LogResult, LogVersion, log
from snapfs.search.sieve import FindOptions

__all__ = ["FindOptions", "Found", "LogOptions", "LogResult", "LogVersion", "find", "log"]
