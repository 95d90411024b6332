"""Skipping for want of a tool or a privilege on a developer's machine, failing for it in CI."""

from __future__ import annotations

import os
import shutil

import pytest


def need(condition: bool, what: str) -> None:
    """Skip the test unless ``condition``; with SNAPFS_CI=1 nothing is skipped, it fails."""
    if condition:
        return
    if os.environ.get("SNAPFS_CI") == "1":
        pytest.fail(f"CI must provide: {what}", pytrace=False)
    pytest.skip(f"needs {what}")


def need_root() -> None:
    """The test mounts, makes devices or gives files away."""
    need(os.geteuid() == 0, "root")


def need_tools(*names: str) -> None:
    """External programs, by name."""
    missing = [name for name in names if shutil.which(name) is None]
    need(not missing, " ".join(missing))
