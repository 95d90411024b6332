"""Checking a repository against itself."""

from __future__ import annotations

from snapfs.verify.operation import verify
from snapfs.verify.options import DamagedFile, Finding, VerifyOptions, VerifyResult

__all__ = ["DamagedFile", "Finding", "VerifyOptions", "VerifyResult", "verify"]
