"""Answers over all history: the versions of a path, and where something is."""

from __future__ import annotations

from snapfs.search.log import LogOptions, LogResult, LogVersion, log

__all__ = ["LogOptions", "LogResult", "LogVersion", "log"]
