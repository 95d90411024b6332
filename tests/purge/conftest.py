"""Fixtures of the tests of purge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verify.repositories import Store


@pytest.fixture
def store(workspace: Path) -> Store:
    """No repository yet."""
    return Store(workspace)
